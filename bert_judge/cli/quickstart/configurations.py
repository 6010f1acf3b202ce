"""The configurations of small runs. Each is one that `bert-judge check` and Snakemake take too."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bert_judge.labels.judge_loading import DEFAULT_RULE, RULES

# Names in these configurations: the file, the judge that gives its labels, its questions to learn from and to be measured on.
FILE, LABELS, TRAIN, TEST = "answers", "labels", "answers_train", "answers_test"
RULE = DEFAULT_RULE


def training(file: Path, columns: Mapping[str, str], judge: str, test: float, block: Mapping[str, Any], validation: float) -> Any:
    """An encoder that learns the labels of a part of a file's questions, and is measured on the others beside the best rule.

    Args:
        columns: of the file, as `imports.<name>.columns` names them; `label` among them.
        judge: name of the encoder.
        test: share of the questions to measure on.
        block: keys of the encoder's block, such as `backbone` and `training`.
        validation: share of the other questions that calibrates the encoder.
    """
    return {
        "imports": {FILE: {"path": str(file.resolve()), "columns": dict(columns)}},
        # The answers of all models of the file together.
        "models": {FILE: {"generator": "imported", "from": FILE, "model_name": "*"}},
        "tasks": {
            "train": [TRAIN],
            "test": [TEST],
            "imported": {
                TRAIN: {"from": FILE, "question_split": [0.0, 1 - test]},
                TEST: {"from": FILE, "question_split": [1 - test, 1.0]},
            },
        },
        "datasets": {FILE: {"teacher": LABELS, "tasks": [TRAIN], "validation_fraction": validation}},
        "judges": {
            LABELS: {"kind": "imported", "from": FILE},
            RULE: {"kind": "lexical", **RULES[RULE]},
            judge: {"kind": "bert", "dataset": FILE, **block},
        },
        "scorers": [LABELS, RULE, judge],
        "gold": LABELS,
    }


def generation(file: Path, columns: Mapping[str, str], family: str, name: str, model: Mapping[str, Any], style: str) -> Any:
    """A model that answers the questions of a file.

    Args:
        columns: of the file, as `imports.<name>.columns` names them.
        family: of the questions, as `tasks.imported.<name>.family`.
        name: of the model.
        model: its block.
        style: `prompt_style`.
    """
    return {
        "imports": {FILE: {"path": str(file.resolve()), "columns": dict(columns)}},
        "models": {name: dict(model)},
        "tasks": {"test": [FILE], "imported": {FILE: {"from": FILE, "family": family}}},
        "prompt_style": style,
        "judges": {RULE: {"kind": "lexical", **RULES[RULE]}},
        "scorers": [RULE],
    }
