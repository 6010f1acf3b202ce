"""Errors of judges by kind of answer: on answers constructed from a reference, and on short answers that people call correct.

    python benchmarks/error_rates.py constructed JUDGE [JUDGE …] [--task nq_open_test] [--rows 400]
    BERT_JUDGE_DATA=… python benchmarks/error_rates.py rejected [FOLDER]

constructed: builds one answer of each kind per question of a test task (bert_judge/perturbations/augmentation.py), so that the
truth is known, and prints the share of correct verdicts of each judge, next to lexical rules. Do not use a training task: its
questions were seen in training.

rejected: takes the judge in the package if no folder is given. The answers are up to 100 per test task of configs/general.yaml that
the file labels as correct and that are short facts, names or numbers. Prints the share of them that the judge calls incorrect per
file, with its 95% interval by question: first files that no version was trained on, then new questions of the training files.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd
from human_agreement import columns
from train_general import CONFIG
from unseen_files import KNOWN_KINDS, KNOWN_ROWS, test_answers

from bert_judge import tables
from bert_judge.assets.prepare import GENERAL
from bert_judge.config import files as config_files
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.judges.lexical.judge import LexicalJudge
from bert_judge.judges.protocol import Judge, Row
from bert_judge.perturbations.augmentation import KINDS, augment
from bert_judge.runtime.logs import job_log
from bert_judge.statistics.intervals import proportion
from bert_judge.text.answer_kinds import answer_kind

RULES = {
    "contains": {"metric": "contains"},
    "ROUGE-L recall ≥ 0.5": {"metric": "rouge_l_recall", "threshold": 0.5},
    "token F1 ≥ 0.5": {"metric": "token_f1", "threshold": 0.5},
}

# With fewer answers, a share says nothing.
MIN_ROWS = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    command = commands.add_parser("constructed")
    command.add_argument("judges", nargs="+", type=Path, help="folders of trained judges")
    command.add_argument("--task", default="nq_open_test")
    command.add_argument("--rows", type=int, default=400, help="questions")
    command.set_defaults(measure=measure_constructed)
    command = commands.add_parser("rejected")
    command.add_argument("folder", nargs="?", default=GENERAL, help="of a trained judge")
    command.set_defaults(measure=measure_rejected)
    options = parser.parse_args()
    options.measure(options)


def measure_constructed(options: argparse.Namespace) -> None:
    answers = constructed_answers(options.task, options.rows)
    print(f"\n{len(answers)} answers, {answers['question'].nunique()} questions of {options.task}: decided rightly, in %\n")
    rows = [
        Row(str(i), 0, kind, question, tuple(references), candidate)
        for i, (kind, question, references, candidate) in enumerate(
            zip(answers["model"], answers["question"], answers["references"], answers["candidate"], strict=True)
        )
    ]
    judges: dict[str, Judge] = {name: LexicalJudge(rule) for name, rule in RULES.items()}
    judges |= {str(folder): BERTJudge(folder) for folder in options.judges}
    right = (answers["label"] >= 0.5).to_numpy()
    for name, judge in judges.items():
        answers[name] = [
            100.0 * ((label.verdict == "correct") == truth) for label, truth in zip(judge.judge(rows), right, strict=True)
        ]
    table = answers.groupby("model")[list(judges)].mean().round(1)
    table.insert(0, "n", answers["model"].value_counts())
    table.insert(1, "label", answers.groupby("model")["label"].first().map({1.0: "right", 0.0: "wrong"}))
    table.index = table.index.str.removeprefix("synthetic-")
    print(table.to_markdown())


def constructed_answers(task: str, count: int) -> pd.DataFrame:
    """Construct one answer of each kind per question; where a real answer is needed, the reference stands in its place."""
    questions = tables.read(f"results/tasks/{task}.parquet", tables.TASK).head(count)
    columns = ["sample_id", "question", "references"]
    rows = questions[columns].assign(attempt=0, task=task, model="", candidate=questions["references"].str[0], label=1.0)
    return augment(rows, [{"kind": kind, "share": 1.0} for kind in KINDS if kind != "truncated"], seed=1)


def measure_rejected(options: argparse.Namespace) -> None:
    judge, frames = BERTJudge(options.folder), []
    for rows in test_answers(config_files.load([CONFIG])):
        correct = rows[rows["label"] == 1]
        correct = correct.sample(min(KNOWN_ROWS, len(correct)), random_state=0)
        correct = correct[[answer_kind(*row) in KNOWN_KINDS for row in zip(*columns(correct), strict=True)]]
        if len(correct):
            scores = judge.predict(*columns(correct))
            frames.append(correct.assign(rejected=[not score >= judge.threshold for score in scores]))
    answers = pd.concat(frames, ignore_index=True)
    for is_unseen, name in ((True, "files that it was not trained on"), (False, "new questions of the training files")):
        group = answers[answers["is_unseen"] == is_unseen]
        lines = [line(str(source), rows) for source, rows in group.groupby("source", sort=False) if len(rows) >= MIN_ROWS]
        print(f"{name}:\n\n{pd.DataFrame([*lines, line('all', group)]).to_markdown(index=False)}\n", flush=True)


def line(source: str, rows: pd.DataFrame) -> dict[str, object]:
    share = proportion(rows["rejected"].to_numpy(), rows["question"].to_numpy())
    interval = f"{100 * share.value:.1f} [{100 * share.low:.1f}, {100 * share.high:.1f}]"
    return {"source": source, "answers": len(rows), "rejected, %": interval}


if __name__ == "__main__":
    with job_log(None):
        sys.exit(main())
