"""Value of a few human labels on real answers: the error of a model's accuracy by the judge alone, by the labels alone, and by both
(PPI++).

    nice python benchmarks/audit_value.py results/scores/*/nq_open_test.parquet --judge bert --gold label

The score tables come from `configs/general.yaml`. Every answer has a human label; each simulated audit uses a sample of
them. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from coverage import estimates, show

from bert_judge.evaluation.score_tables import MODEL, load_verdicts


def answers(paths: list[Path], judge: str, gold: str) -> pd.DataFrame:
    """Return the answers that gold decided, with the columns of `coverage.answers`."""
    frame = load_verdicts(paths, [judge, gold])
    frame = frame[frame[f"{gold}_verdict"] != "invalid"]
    return pd.DataFrame(
        {
            "model": pd.factorize(frame[MODEL], sort=True)[0],
            "name": frame[MODEL].astype(str),
            "question": pd.factorize(frame["sample_id"])[0],
            "right": (frame[f"{gold}_verdict"] == "correct").astype(float),
            "called": (frame[f"{judge}_verdict"] == "correct"),
            "score": frame[judge].astype(float),
        }
    ).reset_index(drop=True)


def row(name: str, frame: pd.DataFrame, labels: int, runs: int) -> dict[str, object]:
    """Return mean absolute errors in points and coverage over simulated audits of one model."""
    frame = frame.assign(model=0)
    true = frame["right"].mean()
    audits = [estimates(frame, labels, np.random.default_rng([seed, labels])) for seed in range(runs)]
    columns: dict[str, object] = {"model": name, "answers": len(frame), "labels": labels, "human accuracy": f"{100 * true:.1f}"}
    columns["judge alone"] = f"{100 * abs(frame['called'].mean() - true):.1f}"
    for method, title in (("human_labels", "labels alone"), ("ppi", "both")):
        errors = [abs(audit[method].value - true) for audit in audits]
        coverage = np.mean([audit[method].low <= true <= audit[method].high for audit in audits])
        half = np.mean([audit[method].high - audit[method].low for audit in audits]) / 2
        columns[title] = f"{100 * np.mean(errors):.1f} (±{100 * half:.1f}, coverage {coverage:.0%})"
    return columns


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("scores", nargs="+", type=Path, help="score tables")
    parser.add_argument("--judge", default="bert", help="the judge to correct")
    parser.add_argument("--gold", default="label", help="the judge with the human labels")
    parser.add_argument("--labels", type=int, nargs="+", default=[100, 300], help="labels per audit")
    parser.add_argument("--runs", type=int, default=200, help="audits per model")
    arguments = parser.parse_args()
    frame = answers(arguments.scores, arguments.judge, arguments.gold)
    rows = (
        row(str(name), model_answers, n, arguments.runs)
        for n in arguments.labels
        for name, model_answers in frame.groupby("name", sort=True)
    )
    show("Mean error of a model's accuracy in points, with the mean half-width of the interval and its coverage", rows)


if __name__ == "__main__":
    main()
