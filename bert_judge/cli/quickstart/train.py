"""A judge out of one file of labelled answers: the stages of a run that trains it, and of one that measures it."""

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

# Fewer questions in a part say nothing about a judge.
LEAST_QUESTIONS = 5


def train(raw: Mapping[str, Any], judge: str, folder: Path, work: Path) -> Path:
    """Train the judge of a configuration that `configurations.training` made.

    Args:
        raw: the configuration.
        judge: its encoder.
        folder: gets the judge, as `snakemake judges` would write it.
        work: keeps what is not done; a call that was killed goes on there. Emptied by the caller.

    Returns:
        The standings of the judge, the rule and the labels on the questions that were held out.

    Raises:
        InputError: the file, its labels or the settings make no sense.
    """
    run = _Run(plan.make(raw), judge, work)
    run.check_size()
    for task in (TRAIN, TEST):
        run.read(task)
    run.learn(folder)
    return run.measure(folder)


class _Run:
    """The stages, each with the spec that the plan has for it."""

    def __init__(self, made: Plan, judge: str, work: Path) -> None:
        self.made, self.judge, self.work = made, judge, work
        self.file = made.import_path(FILE)

    def at(self, kind: str, task: str) -> Path:
        return self.work / f"{kind}_{task}.parquet"

    def check_size(self) -> None:
        """Refuse a file whose labelled questions are too few for three parts."""
        spec = self.made.task_spec(TRAIN)
        rows = files.read(spec["import"], self.file, None, ["question", "references", "candidate", "label"])
        questions = rows.loc[rows["label"].notna(), "question"].unique()
        edge = spec["part"]["question_split"][1]
        held_out = sum(question_point(question) >= edge for question in questions)
        if min(held_out, len(questions) - held_out) < LEAST_QUESTIONS:
            raise InputError(
                f"{self.file}: {len(questions)} labelled questions, of which {held_out} are held out for measuring; "
                f"bring more, or change --test: each part needs {LEAST_QUESTIONS}"
            )
        right = (rows["label"] >= 0.5).sum(), (rows["label"] < 0.5).sum()
        if not all(right):
            raise InputError(f"{self.file}: all {sum(right)} labels say the same; a judge learns from right and wrong answers")
        log.info("%s: %d answers, %d labelled right, %d wrong, %d questions", self.file, len(rows), *right, len(questions))

    def read(self, task: str) -> None:
        """The tables of a part of the file: questions, answers, labels."""
        build_task(self.made.task_spec(task), self.at("task", task), self.file)
        answers = self.at("answers", task)
        import_candidates(self.made.candidates_spec(FILE, task), self.at("task", task), self.file, answers)
        spec = self.made.labels_spec(LABELS, FILE, task)
        label_table(spec, answers, self.at(LABELS, task), ImportedJudge(spec, self.file))

    def learn(self, folder: Path) -> None:
        learnt, held_out, weak = (self.work / f"{part}.parquet" for part in ("train", "validation", "validation_weak"))
        summary, backbone = self.work / "summary.json", self.work / "backbone.json"
        spec = self.made.dataset_spec(FILE)
        build_dataset(spec, [self.at("answers", TRAIN)], [self.at(LABELS, TRAIN)], learnt, held_out, weak, summary)
        overlap = self.made.overlap_spec(FILE, TEST)
        check_overlap(overlap, [learnt, held_out, weak], {TEST: self.at("task", TEST)}, self.work / "overlap.json")
        prepare(self.made.assets[f"judge-{self.judge}"], backbone)
        # Only now: it loads torch.
        from bert_judge.judges.bert.train import train_judge

        train_judge(self.made.judge_spec(self.judge), learnt, held_out, weak, summary, backbone, folder, self.work / "training")

    def measure(self, folder: Path) -> Path:
        from bert_judge.judges.bert.judge import BERTJudge

        spec = self.made.labels_spec(self.judge, FILE, TEST)
        self._label(self.judge, BERTJudge.from_run(folder / "judge.json", spec["settings"], self.judge, self.work / "encoder"))
        with LexicalJudge(self.made.labels_spec(RULE, FILE, TEST)["settings"]) as rule:
            self._label(RULE, rule)
        labels, scores = {name: self.at(name, TEST) for name in (LABELS, RULE, self.judge)}, self.at("scores", TEST)
        build_scores(self.made.scores_spec(FILE, TEST), self.at("answers", TEST), labels, scores)
        # What it cost is told of whole runs.
        told = {key: value for key, value in self.made.standings_spec().items() if key != "cost"}
        build_standings(told, [scores], self.work)
        return self.work / "standings.parquet"

    def _label(self, name: str, judge: Judge) -> None:
        label_table(self.made.labels_spec(name, FILE, TEST), self.at("answers", TEST), self.at(name, TEST), judge)


def work_folder(folder: Path) -> Path:
    """Where what is not done lies, beside the judge."""
    return folder.parent / f".{folder.name}.parts"


def clear(folder: Path) -> None:
    """Remove what the training of a judge leaves beside it."""
    resume.clear(work_folder(folder))
