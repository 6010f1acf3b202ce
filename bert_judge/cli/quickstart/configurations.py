"""Configurations of small runs. `bert-judge check` and Snakemake accept them too."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bert_judge.labels.judge_loading import DEFAULT_RULE, RULES

# Names in these configurations: the file, the judge with its labels, its training and test questions.
FILE, LABELS, TRAIN, TEST = "answers", "labels", "answers_train", "answers_test"
RULE = DEFAULT_RULE


def training(file: Path, columns: Mapping[str, str], judge: str, test: float, block: Mapping[str, Any], validation: float) -> Any:
    """Configure the training of an encoder on a part of a file, and its comparison with a rule on the rest.

    Args:
        columns: part → column of the file, as in `imports.<name>.columns`, including `label`.
        judge: name of the encoder.
        test: share of the questions held out as test set.
        block: keys of the encoder's block, such as `backbone` and `training`.
        validation: share of the other questions used for calibration.
    """
    return {
        "imports": {FILE: {"path": str(file.resolve()), "columns": dict(columns)}},
        # All models of the file count as one.
        "models": {FILE: {"generator": "imported", "from": FILE, "model_name": "*"}},
        "tasks": {
            "train": [TRAIN],
            "test": [TEST],
            "imported": {
                TRAIN: {"from": FILE, "question_split": [0.0, 1 - test]},
                TEST: {"from": FILE, "question_split": [1 - test, 1.0]},
            },
        },
        "datasets": {
            FILE: {
                "teacher": LABELS,
                "tasks": [TRAIN],
                "validation_fraction": validation,
                "augment": "default",
            }
        },
        "judges": {
            LABELS: {"kind": "imported", "from": FILE},
            RULE: {"kind": "lexical", **RULES[RULE]},
            judge: {"kind": "bert", "dataset": FILE, **block},
        },
        "scorers": [LABELS, RULE, judge],
        "gold": LABELS,
    }


def generation(file: Path, columns: Mapping[str, str], family: str, name: str, model: Mapping[str, Any], style: str) -> Any:
    """Configure a model that answers the questions of a file.

    Args:
        columns: part → column of the file, as in `imports.<name>.columns`.
        family: family of the questions, as in `tasks.imported.<name>.family`.
        name: name of the model.
        model: block of the model.
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
