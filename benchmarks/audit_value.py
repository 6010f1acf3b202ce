"""What a few labels of people are worth on real answers: the error of a model's accuracy under the judge alone, under the labels
alone, and under both together (PPI++).

    nice python benchmarks/audit_value.py results/scores/*/nq_open_test.parquet --judge bert --gold label

The score tables come from `configs/human_labels.yaml`. Every answer has a person's verdict; of these each audit sees some. Prints a
Markdown table.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from coverage import estimates, show

from bert_judge.evaluation.score_tables import MODEL, load_verdicts


def answers(paths: list[Path], judge: str, gold: str) -> pd.DataFrame:
    """The answers that gold decided, with the columns of `coverage.answers`."""
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
    """Mean absolute errors in points, and the share of intervals that hold, over audits of one model."""
    frame = frame.assign(model=0)
    true = frame["right"].mean()
    made = [estimates(frame, labels, np.random.default_rng([seed, labels])) for seed in range(runs)]
    found: dict[str, object] = {"model": name, "answers": len(frame), "labels": labels, "people say": f"{100 * true:.1f}"}
    found["judge alone"] = f"{100 * abs(frame['called'].mean() - true):.1f}"
    for method, title in (("people", "labels alone"), ("ppi", "both")):
        errors = [abs(audit[method].value - true) for audit in made]
        holds = np.mean([audit[method].low <= true <= audit[method].high for audit in made])
        half = np.mean([audit[method].high - audit[method].low for audit in made]) / 2
        found[title] = f"{100 * np.mean(errors):.1f} (±{100 * half:.1f}, {holds:.0%} hold)"
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("scores", nargs="+", type=Path, help="score tables")
    parser.add_argument("--judge", default="bert", help="the judge that is corrected")
    parser.add_argument("--gold", default="label", help="the judge whose verdicts are people's")
    parser.add_argument("--labels", type=int, nargs="+", default=[100, 300], help="labels per audit")
    parser.add_argument("--runs", type=int, default=200, help="audits per model")
    asked = parser.parse_args()
    frame = answers(asked.scores, asked.judge, asked.gold)
    rows = (row(str(name), part, n, asked.runs) for n in asked.labels for name, part in frame.groupby("name", sort=True))
    show("Mean error of a model's accuracy in points, with the mean half-width of the interval and how often it holds", rows)


if __name__ == "__main__":
    main()
