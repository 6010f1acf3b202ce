"""Accuracy of judges on answers constructed from a reference, so that the truth is known.

    python benchmarks/made_up_answers.py results/judges/bert [another judge's folder …] [--task nq_open_test] [--rows 400]

Builds one answer of each kind per question of a test task (bert_judge/perturbations/augmentation.py) and prints the share of
correct verdicts of each judge, next to lexical rules. Do not use a training task: its questions were seen in training.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd

from bert_judge import tables
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.judges.lexical.judge import LexicalJudge
from bert_judge.judges.protocol import Judge, Row
from bert_judge.perturbations.augmentation import KINDS, augment

RULES = {
    "contains": {"metric": "contains"},
    "ROUGE-L recall ≥ 0.5": {"metric": "rouge_l_recall", "threshold": 0.5},
    "token F1 ≥ 0.5": {"metric": "token_f1", "threshold": 0.5},
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("judges", nargs="+", type=Path, help="folders of trained judges")
    parser.add_argument("--task", default="nq_open_test")
    parser.add_argument("--rows", type=int, default=400, help="questions")
    options = parser.parse_args()
    made = made_up(options.task, options.rows)
    print(f"\n{len(made)} answers made up from {made['question'].nunique()} questions of {options.task}: decided rightly, in %\n")
    rows = [
        Row(str(i), 0, kind, question, tuple(references), candidate)
        for i, (kind, question, references, candidate) in enumerate(
            zip(made["model"], made["question"], made["references"], made["candidate"], strict=True)
        )
    ]
    judges: dict[str, Judge] = {name: LexicalJudge(rule) for name, rule in RULES.items()}
    judges |= {str(folder): BERTJudge(folder) for folder in options.judges}
    right = (made["label"] >= 0.5).to_numpy()
    for name, judge in judges.items():
        made[name] = [
            100.0 * ((label.verdict == "correct") == truth) for label, truth in zip(judge.judge(rows), right, strict=True)
        ]
    table = made.groupby("model")[list(judges)].mean().round(1)
    table.insert(0, "n", made["model"].value_counts())
    table.insert(1, "label", made.groupby("model")["label"].first().map({1.0: "right", 0.0: "wrong"}))
    table.index = table.index.str.removeprefix("synthetic-")
    print(table.to_markdown())
    return 0


def made_up(task: str, count: int) -> pd.DataFrame:
    """One answer of each kind per question; where a real answer is needed, the reference stands in its place."""
    questions = tables.read(f"results/tasks/{task}.parquet", tables.TASK).head(count)
    columns = ["sample_id", "question", "references"]
    rows = questions[columns].assign(attempt=0, task=task, model="", candidate=questions["references"].str[0], label=1.0)
    return augment(rows, [{"kind": kind, "share": 1.0} for kind in KINDS if kind != "truncated"], seed=1)


if __name__ == "__main__":
    sys.exit(main())
