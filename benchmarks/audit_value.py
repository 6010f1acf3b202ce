"""Value of human labels on real answers: errors of accuracies by judge, labels and both (PPI++), and labels to tell systems apart.

    BERT_JUDGE_DATA=data nice python benchmarks/audit_value.py nq_open_human truthfulqa_human [--judge general]

Every answer of the files (docs/real_answers.md) has a human label; each simulated audit uses a sample of them. Uses the questions
that the judge in the package was not trained on. Prints Markdown tables.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from coverage import COLUMNS, DESIGNS, JUDGE, draw, show
from scipy import stats

from bert_judge.evaluation.audit import corrected
from bert_judge.evaluation.score_tables import MODEL, TASK
from bert_judge.judges.protocol import Row
from bert_judge.labels.judge_loading import load_judges
from bert_judge.tables import question_point

# Part of the questions that configs/general.yaml tests on.
TEST_PART = (0.7, 1.0)
METHODS = tuple(COLUMNS)[:3]
# A difference is found in 80% of the audits at the 5% level if it is so many standard errors.
DETECTABLE = float(stats.norm.ppf(0.975) + stats.norm.ppf(0.8))


def answers(name: str, judge: str) -> pd.DataFrame:
    """Return the labelled answers to the test questions, judged, in the columns of `coverage.answers`."""
    frame = pd.read_parquet(Path(os.environ["BERT_JUDGE_DATA"]) / f"{name}.parquet").dropna(subset="label")
    fractions = frame["question"].map({question: question_point(question) for question in frame["question"].unique()})
    frame = frame[(fractions >= TEST_PART[0]) & (fractions < TEST_PART[1])].reset_index(drop=True)
    rows = zip(frame["question"], frame["references"], frame["candidate"], strict=True)
    [loaded] = load_judges([judge])
    labels = loaded.judge.judge([Row("", 0, "", question, tuple(references), text) for question, references, text in rows])
    return pd.DataFrame(
        {
            MODEL: frame["model"].astype(str),
            TASK: name,
            "sample_id": pd.factorize(frame["question"])[0],
            "attempt": frame.groupby(["model", "question"]).cumcount(),
            JUDGE: [np.nan if label.score is None else label.score for label in labels],
            f"{JUDGE}_verdict": [label.verdict for label in labels],
            "right": frame["label"].astype(float),
        }
    )


def audits(frame: pd.DataFrame, labels: int, runs: int) -> Iterator[dict[str, dict[str, Any]]]:
    """Yield, per column of the tables, the estimate of each system."""
    for run in range(runs):
        random, estimates = np.random.default_rng([run, labels]), dict[str, dict[str, Any]]()
        for design in DESIGNS:
            sample = draw(frame, design, labels, random)
            by_model = {name: corrected.estimate_methods(rows, JUDGE, JUDGE) for name, rows in sample.groupby(MODEL)}
            for column in METHODS:
                if COLUMNS[column][0] == design:
                    estimates[column] = {str(name): methods[COLUMNS[column][1]] for name, methods in by_model.items()}
        yield estimates


def error_rows(frame: pd.DataFrame, labels: int, runs: int) -> Iterator[dict[str, object]]:
    """Yield mean absolute errors in points, half-widths and coverage of each system's accuracy."""
    results = list(audits(frame, labels, runs))
    for name, rows in frame.groupby(MODEL):
        true, judged = rows["right"].mean(), (rows[f"{JUDGE}_verdict"] == "correct").mean()
        row: dict[str, object] = {"system": name, "answers": len(rows), "labels": labels, "accuracy": f"{100 * true:.1f}"}
        row["judge alone"] = f"{100 * abs(judged - true):.1f}"
        for column in METHODS:
            intervals = [result[column][str(name)].interval() for result in results]
            error = np.mean([abs(interval.value - true) for interval in intervals])
            half = np.mean([interval.high - interval.low for interval in intervals]) / 2
            covered = np.mean([interval.low <= true <= interval.high for interval in intervals])
            row[column] = f"{100 * error:.1f} (±{100 * half:.1f}, coverage {covered:.0%})"
        yield row


def pair_rows(frame: pd.DataFrame, labels: int, runs: int) -> Iterator[dict[str, object]]:
    """Yield the labels per system that each column needs to find the difference of two systems on these answers.

    The standard error S sqrt(1 / n - 1 / N) of a sample of n of the N answers of a system is measured at n = `labels`.
    """
    results = list(audits(frame, labels, runs))
    accuracies = frame.groupby(MODEL)["right"].mean()
    total = dict.fromkeys(METHODS, 0.0)
    for first, second in combinations(accuracies.sort_values(ascending=False).index, 2):
        true = accuracies[first] - accuracies[second]
        size = min((frame[MODEL] == first).sum(), (frame[MODEL] == second).sum())
        needed = {}
        for column in METHODS:
            errors = [result[column][first].value - result[column][second].value - true for result in results]
            variance = float(np.mean(np.square(errors))) / (1 / labels - 1 / size)
            needed[column] = 1 / ((true / DETECTABLE) ** 2 / variance + 1 / size)
            total[column] += variance
        row: dict[str, object] = {"systems": f"{first} – {second}", "difference": f"{100 * true:.1f}", "answers": int(size)}
        yield row | {column: f"{count:,.0f}" for column, count in needed.items()}
    ratio = {column: f"{100 * value / total[METHODS[0]]:.0f}%" for column, value in total.items()}
    yield {"systems": "labels at an equal width, of labels alone", "difference": "", "answers": "", **ratio}
    shared = allocation_ratios(frame, results, labels)
    yield {"systems": "labels if a doubtful system gets more, of equal numbers", "difference": "", "answers": "", **shared}


def allocation_ratios(frame: pd.DataFrame, results: list[dict[str, dict[str, Any]]], labels: int) -> dict[str, str]:
    """Return the labels for the same mean variance over all pairs if systems get labels in proportion to the deviation that the
    scores predict (Neyman allocation between systems), in percent of equal numbers."""
    groups = frame.groupby(MODEL)
    deviations = np.sqrt(groups[JUDGE].agg(lambda score: (score * (1 - score)).mean()))
    shares, accuracies, ratios = deviations / deviations.sum(), groups["right"].mean(), {}
    for column in METHODS:
        errors = (
            pd.DataFrame([{name: estimate.value for name, estimate in result[column].items()} for result in results]) - accuracies
        )
        variances = (errors**2).mean() / (1 / labels - 1 / groups.size())
        ratios[column] = f"{100 * (variances / shares).sum() / (len(shares) * variances.sum()):.0f}%"
    return ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("files", nargs="+", help="names of the files in BERT_JUDGE_DATA")
    parser.add_argument("--judge", default="general", help="the judge to correct")
    parser.add_argument("--labels", type=int, nargs="+", default=[100, 300], help="labels per system")
    parser.add_argument("--runs", type=int, default=200, help="audits per number of labels")
    arguments = parser.parse_args()
    for name in arguments.files:
        frame = answers(name, arguments.judge)
        for labels in arguments.labels:
            show(f"{name}: mean error of a system's accuracy in points", error_rows(frame, labels, arguments.runs))
        show(f"{name}: labels per system to tell two apart", pair_rows(frame, arguments.labels[-1], arguments.runs))


if __name__ == "__main__":
    main()
