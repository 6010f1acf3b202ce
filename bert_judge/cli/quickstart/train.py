"""Train a judge on one file of labelled answers, and measure it on held-out questions."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bert_judge import plan
from bert_judge.assets.prepare import prepare
from bert_judge.candidates.importers import files
from bert_judge.candidates.stage import import_candidates
from bert_judge.cli.quickstart.configurations import FILE, LABELS, RULE, TEST, TRAIN
from bert_judge.datasets.merge import build_dataset
from bert_judge.datasets.overlap import check_overlap
from bert_judge.evaluation.score_tables import build_scores
from bert_judge.evaluation.standings import build_standings
from bert_judge.judges.imported.judge import ImportedJudge
from bert_judge.judges.lexical.judge import LexicalJudge
from bert_judge.judges.protocol import Judge
from bert_judge.labels.stage import label_table
from bert_judge.plan import Plan
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError
from bert_judge.tables import question_point
from bert_judge.tasks.build import build_task

log = logging.getLogger(__name__)

# With fewer questions in a part, the result means nothing.
MIN_QUESTIONS = 5


def train(raw: Mapping[str, Any], judge: str, folder: Path, work: Path) -> Path:
    """Run the stages of a configuration from `configurations.training`.

    Args:
        raw: the configuration.
        judge: name of its encoder.
        folder: output folder of the judge, as written by `snakemake judges`.
        work: folder for unfinished work, so that an interrupted call resumes. Cleared by the caller.

    Returns:
        Path of the standings of the judge, the rule and the labels on the held-out questions.

    Raises:
        InputError: the file, its labels or the settings are invalid.
    """
    run = _Run(plan.build_plan(raw), judge, work)
    run.check_size()
    for task in (TRAIN, TEST):
        run.build_tables(task)
    run.train_judge(folder)
    return run.measure(folder)


class _Run:
    """The stages of the run, each with its spec from the plan."""

    def __init__(self, planned: Plan, judge: str, work: Path) -> None:
        self.plan, self.judge, self.work = planned, judge, work
        self.file = planned.import_path(FILE)

    def path(self, kind: str, task: str) -> Path:
        return self.work / f"{kind}_{task}.parquet"

    def check_size(self) -> None:
        """Reject a file with too few labelled questions, or with equal labels only."""
        spec = self.plan.task_spec(TRAIN)
        rows = files.read_rows(spec["import"], self.file, None, ["question", "references", "candidate", "label"])
        questions = rows.loc[rows["label"].notna(), "question"].unique()
        split_point = spec["part"]["question_split"][1]
        test_questions = sum(question_point(question) >= split_point for question in questions)
        if min(test_questions, len(questions) - test_questions) < MIN_QUESTIONS:
            raise InputError(
                f"{self.file}: {len(questions)} labelled questions, {test_questions} of them held out for testing; "
                f"add more, or change --test: each part needs {MIN_QUESTIONS}"
            )
        class_counts = (rows["label"] >= 0.5).sum(), (rows["label"] < 0.5).sum()
        if not all(class_counts):
            raise InputError(f"{self.file}: all {sum(class_counts)} labels are equal; a judge needs correct and incorrect answers")
        log.info(
            "%s: %d answers, %d labelled correct, %d incorrect, %d questions", self.file, len(rows), *class_counts, len(questions)
        )

    def build_tables(self, task: str) -> None:
        """Build the tables of a part of the file: questions, answers, labels."""
        build_task(self.plan.task_spec(task), self.path("task", task), self.file)
        answers = self.path("answers", task)
        import_candidates(self.plan.candidates_spec(FILE, task), self.path("task", task), self.file, answers)
        spec = self.plan.labels_spec(LABELS, FILE, task)
        label_table(spec, answers, self.path(LABELS, task), ImportedJudge(spec, self.file))

    def train_judge(self, folder: Path) -> None:
        train_rows, validation_rows, weak_rows = (
            self.work / f"{split}.parquet" for split in ("train", "validation", "validation_weak")
        )
        summary, backbone = self.work / "summary.json", self.work / "backbone.json"
        spec = self.plan.dataset_spec(FILE)
        build_dataset(
            spec, [self.path("answers", TRAIN)], [self.path(LABELS, TRAIN)], train_rows, validation_rows, weak_rows, summary
        )
        overlap = self.plan.overlap_spec(FILE, TEST)
        check_overlap(
            overlap, [train_rows, validation_rows, weak_rows], {TEST: self.path("task", TEST)}, self.work / "overlap.json"
        )
        prepare(self.plan.assets[f"judge-{self.judge}"], backbone)
        # Only now: it loads torch.
        from bert_judge.judges.bert.train import train_judge

        spec = self.plan.judge_spec(self.judge)
        train_judge(spec, train_rows, validation_rows, weak_rows, summary, backbone, folder, self.work / "training")

    def measure(self, folder: Path) -> Path:
        from bert_judge.judges.bert.judge import BERTJudge

        spec = self.plan.labels_spec(self.judge, FILE, TEST)
        self._label(self.judge, BERTJudge.from_run(folder / "judge.json", spec["settings"], self.judge, self.work / "encoder"))
        with LexicalJudge(self.plan.labels_spec(RULE, FILE, TEST)["settings"]) as rule:
            self._label(RULE, rule)
        labels, scores = {name: self.path(name, TEST) for name in (LABELS, RULE, self.judge)}, self.path("scores", TEST)
        build_scores(self.plan.scores_spec(FILE, TEST), self.path("answers", TEST), labels, scores)
        # Costs are computed for whole runs only.
        spec_without_cost = {key: value for key, value in self.plan.standings_spec().items() if key != "cost"}
        build_standings(spec_without_cost, [scores], self.work)
        return self.work / "standings.parquet"

    def _label(self, name: str, judge: Judge) -> None:
        label_table(self.plan.labels_spec(name, FILE, TEST), self.path("answers", TEST), self.path(name, TEST), judge)


def work_folder(folder: Path) -> Path:
    """Return the folder for unfinished work, next to the judge."""
    return folder.parent / f".{folder.name}.parts"


def clear(folder: Path) -> None:
    """Remove the work folder of a judge."""
    resume.clear(work_folder(folder))
