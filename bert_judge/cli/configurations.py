"""Small runs: their configurations, which `bert-judge check` and Snakemake accept too, and their stages."""

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bert_judge import tables
from bert_judge.candidates.stage import import_candidates
from bert_judge.cli.terminal import log
from bert_judge.encoder.judge_folder import hash_rows, read_seen_rows
from bert_judge.evaluation.score_tables import build_scores
from bert_judge.importers.files import read_task_rows
from bert_judge.judges.protocol import Judge
from bert_judge.labels.judge_loading import DEFAULT_RULE, RULES
from bert_judge.labels.stage import label_table
from bert_judge.plan import Plan
from bert_judge.plan.configuration import describe_plain_names
from bert_judge.tasks.build import build_task

# Names in these configurations: the file, the judge with its labels, its training and test questions.
FILE, LABELS, TRAIN, TEST = "answers", "labels", "answers_train", "answers_test"
LONGER = "longer"
# The judge that a training started from.
START = "started_from"
RULE_BLOCKS = {name: {"kind": "lexical", **rule} for name, rule in RULES.items()}


def training(
    file: Path,
    columns: Mapping[str, str],
    judge: str,
    test: float,
    block: Mapping[str, Any],
    validation: float,
    *,
    is_judge: bool = False,
    grades: tuple[float, float] | None = None,
) -> Any:
    """Configure the training of a judge on a part of a file, and its comparison with the rules on the rest.

    Args:
        columns: part → column of the file, as in `imports.<name>.columns`, including `label`; without `model`, all answers count as
            those of one model.
        test: share of the questions held out as test set.
        block: keys of the judge's block, such as `backbone` or `base`, and `training`.
        validation: share of the other questions used for calibration.
        is_judge: the backbone is a judge, which is compared too.
        grades: lowest and highest label, if these are grades.
    """
    row_columns = {role: column for role, column in columns.items() if role != "label" or grades is None}
    aspects = {} if grades is None else {"aspects": {"columns": {"grade": columns["label"]}, "range": list(grades)}}
    start = {START: {"kind": "bert", "checkpoint": block["backbone"]}} if is_judge else {}
    return {
        "imports": {FILE: {"path": str(file.resolve()), "columns": row_columns, **aspects}},
        "models": _imported_models(columns),
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
                # A language model would read every made-up row for as long as a real one; recalibration trains on none.
                **({} if "base" in block or block.get("recalibrate") else {"augment": "default"}),
            }
        },
        "judges": {
            LABELS: {"kind": "imported", "from": FILE},
            **RULE_BLOCKS,
            **start,
            # The comparison needs no explanations.
            judge: {**({"kind": "llm", "reasoning": False} if "base" in block else {"kind": "bert"}), "dataset": FILE, **block},
        },
        "scorers": [LABELS, *RULE_BLOCKS, *start, judge],
        "gold": LABELS,
    }


def _imported_models(columns: Mapping[str, str]) -> dict[str, Any]:
    """Configure the models of the file; without a column of them, all answers count as those of one."""
    if "model" in columns:
        return {"*": {"generator": "imported", "from": FILE}}
    return {FILE: {"generator": "imported", "from": FILE, "model_name": "*"}}


def audit(
    file: Path, columns: Mapping[str, str], judge: str, block: Mapping[str, Any], sheets: Sequence[Path], size: int | None
) -> Any:
    """Configure an audit of the answers in a file.

    Args:
        columns: part → column of the file, as in `imports.<name>.columns`.
        block: of the judge whose scores are corrected.
        sheets: filled sheets of earlier rounds.
        size: answers per model on the sheet; None: the default.
    """
    sample = {**({"labels": [str(path.resolve()) for path in sheets]} if sheets else {}), **({"size": size} if size else {})}
    return {
        "imports": {FILE: {"path": str(file.resolve()), "columns": dict(columns)}},
        "models": _imported_models(columns),
        "tasks": {"test": [FILE], "imported": {FILE: {"from": FILE}}},
        "judges": {judge: dict(block)},
        "scorers": [judge],
        "audit": {"judge": judge, **sample},
    }


def pair_training(file: Path, columns: Mapping[str, str], judge: str, test: float, block: Mapping[str, Any]) -> Any:
    """Configure the training of a judge on a part of a file of pairs, and its comparison with the longer answer on the rest.

    Args:
        columns: part → column of the file, as in `imports.<name>.pair_columns`.
        test, block: as in `training`.
    """
    return {
        "imports": {FILE: {"path": str(file.resolve()), "pair_columns": dict(columns)}},
        "models": {FILE: {"generator": "simulated", "p_correct": 0.5}},
        "tasks": {"test": ["facts_test"]},
        "judges": {
            DEFAULT_RULE: RULE_BLOCKS[DEFAULT_RULE],
            LONGER: {"kind": "pairwise", "rule": "longer"},
            judge: {"kind": "pairwise", "pairs": TRAIN, **block},
        },
        "pairs": {
            TRAIN: {"from": FILE, "question_split": [0.0, 1 - test]},
            TEST: {"from": FILE, "question_split": [1 - test, 1.0], "judges": [LONGER, judge]},
        },
        "scorers": [DEFAULT_RULE],
    }


def generation(file: Path, columns: Mapping[str, str], family: str, name: str, model: Mapping[str, Any], style: str) -> Any:
    """Configure a model that answers the questions of a file.

    Args:
        columns: part → column of the file, as in `imports.<name>.columns`.
        family: family of the questions, as in `tasks.imported.<name>.family`.
    """
    return questions(file, columns, family) | {"models": {name: dict(model)}, "prompt_style": style}


def questions(file: Path, columns: Mapping[str, str], family: str = "short_answer") -> dict[str, Any]:
    """Configure a task of the questions of a file; its model and judge are placeholders."""
    return {
        "imports": {FILE: {"path": str(file.resolve()), "columns": dict(columns)}},
        "models": {FILE: {"generator": "simulated", "p_correct": 0.5}},
        "tasks": {"test": [FILE], "imported": {FILE: {"from": FILE, "family": family}}},
        "judges": {DEFAULT_RULE: RULE_BLOCKS[DEFAULT_RULE]},
        "scorers": [DEFAULT_RULE],
    }


class FileRun:
    """The stages of a run over one file of answers, in this process and without Snakemake; each table has its spec from the plan.

    Args:
        planned: its file is the import `FILE`.
        work: folder of the tables.
    """

    def __init__(self, planned: Plan, work: Path) -> None:
        self.plan, self.work = planned, work
        self.file = planned.import_path(FILE)
        if line := describe_plain_names(planned.models):
            log(line)

    def path(self, kind: str, task: str, model: str = "") -> Path:
        return self.work / kind / model / f"{task}.parquet"

    def paths(self, kind: str, task: str) -> list[Path]:
        """Return the tables of all models, in the order of the plan's dataset."""
        return [self.path(kind, task, model) for model in sorted(self.plan.models)]

    def build_answers(self, task: str) -> None:
        """Write the questions of a task, and the answers of each model to them."""
        build_task(self.plan.task_spec(task), self.path("task", task), self.file)
        for model in self.plan.models:
            spec = self.plan.candidates_spec(model, task)
            import_candidates(spec, self.path("task", task), self.file, self.path("answers", task, model))

    def apply_judge(self, judge: Judge, name: str, task: str, store: Path | None = None) -> None:
        """Write the labels of a judge on the answers of every model to a task; `store` keeps them for later calls."""
        for model in self.plan.models:
            answers, labels = self.path("answers", task, model), self.path(name, task, model)
            folder = None if store is None else store / model
            label_table(self.plan.labels_spec(name, model, task), answers, labels, judge, work_folder=folder, keep=True)

    def build_scores(self, task: str) -> None:
        """Join the answers of every model to a task with the labels of all judges."""
        for model in self.plan.models:
            labels = {name: self.path(name, task, model) for name in self.plan.config.scorers}
            answers, scores = self.path("answers", task, model), self.path("scores", task, model)
            build_scores(self.plan.scores_spec(model, task), answers, labels, scores)

    def count_seen(self, task: str, judge: Path | None) -> int:
        """Return how many answers of a task the judge of a folder was trained on; 0 without a record."""
        if judge is None or (hashes := read_seen_rows(judge)) is None:
            return 0
        answers = (tables.read(path, tables.CANDIDATES) for path in self.paths("answers", task))
        return int(sum(np.isin(hash_rows(rows["question"], rows["candidate"]), hashes).sum() for rows in answers))

    def find_ids(self, task: str, column: str, keys: Collection[tuple[str, str, str, int]]) -> dict[tuple[str, str, str, int], str]:
        """Return (model, task, sample_id, attempt) → id of some answers in a column of the file.

        Nothing if an id contains the name of a model, since annotators see it.
        """
        ids = {}
        for model in {key[0] for key in keys}:
            spec = self.plan.candidates_spec(model, task)
            columns = {**spec["import"]["columns"], "source_id": column}
            spec = {**spec, "import": {**spec["import"], "columns": columns}}
            rows = read_task_rows(spec, self.file, ["candidate", "source_id"], model=spec["settings"]["model_name"])
            for sample_id, attempt, source_id in zip(rows["sample_id"], rows["attempt"], rows["source_id"], strict=True):
                if (key := (model, task, sample_id, int(attempt))) in keys:
                    ids[key] = source_id
        # A name among other words: an underscore parts words too.
        name = re.compile(rf"(?<![^\W_])({'|'.join(map(re.escape, self.plan.models))})(?![^\W_])", re.IGNORECASE)
        return {} if any(map(name.search, ids.values())) else ids
