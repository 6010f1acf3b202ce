"""What a second judge of the uncertain answers adds, and whether the corrected accuracy covers the truth.

    BERT_JUDGE_DATA=… python benchmarks/second_judge.py [FILE ...] [--rows 100] [--server URL] [--runs 100]

For each labelled file: the share of answers on which `general` is uncertain, which the second judge is asked about, how often both
agree on them, the accuracy of the verdicts by the labels before and after, and seconds and tokens. The second judge answers by the
labels and errs on 10% of the answers at random; with --server it is a language model, such as http://localhost:8080/v1.

Then simulated files: `--runs` samples of 300 of these answers with replacement, of which the second judge sees the uncertain ones
and 50 of the others. Printed is how often the corrected interval of `score --check` covers the accuracy by the second judge's
verdicts on all answers, how often it covers the truth, and how often that of --check-error does, which is widened by the share of
errors; for a second judge that is always right, and for one that errs on 10%.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd

from bert_judge.evaluation.audit.ppi import correct_accuracy
from bert_judge.judges.cascade.escalation import is_certain
from bert_judge.judges.protocol import Row
from bert_judge.labels.judge_loading import load_judges
from bert_judge.labels.judging import judge_rows
from bert_judge.runtime.keyed_random import fraction

FILES = ("sra_scientsbank", "asqa_long_form_feedback", "factcheckgpt_stance")
ERROR_RATE, SAMPLE_ROWS, CHECK_ROWS = 0.1, 300, 50


def read_rows(name: str, count: int) -> tuple[list[Row], np.ndarray]:
    """Return a random part of a file, and its labels."""
    frame = pd.read_parquet(Path(os.environ["BERT_JUDGE_DATA"]) / f"{name}.parquet").dropna(subset=["label"])
    frame = frame.sample(min(count, len(frame)), random_state=0)
    rows = [
        Row(str(number), 0, "m", row["question"] or "", tuple(row["references"]), row["candidate"])
        for number, row in enumerate(frame.to_dict("records"))
    ]
    return rows, (frame["label"].to_numpy(float) >= 0.5).astype(float)


def stand_in(truth: np.ndarray, error_rate: float, key: str) -> np.ndarray:
    """Return verdicts that are the labels, but for a random share."""
    errs = np.array([fraction(key, number) < error_rate for number in range(len(truth))])
    return np.where(errs, 1 - truth, truth)


def measure(name: str, count: int, server: str | None) -> pd.DataFrame:
    """Print the line of a file; return its rows as `correct_accuracy` takes them, with `truth`."""
    rows, truth = read_rows(name, count)
    [general] = load_judges(["general"])
    labels = [label for label in judge_rows(general, rows) if label is not None]
    certain = np.array([is_certain(label, None) for label in labels])
    first = np.array([float(label.verdict == "correct") for label in labels])
    second, start, tokens = stand_in(truth, ERROR_RATE, name), time.monotonic(), 0
    if server is not None:
        [judge] = load_judges([server])
        asked = np.flatnonzero(~certain)
        replies = judge.judge.judge([rows[row] for row in asked])
        second[asked] = [np.nan if reply.score is None else float(reply.verdict == "correct") for reply in replies]
        tokens = sum((reply.prompt_tokens or 0) + (reply.completion_tokens or 0) for reply in replies)
    seconds = time.monotonic() - start
    decided = ~certain & ~np.isnan(second)
    final = np.where(decided, second, first)
    agreement = (first == second)[decided].mean() if decided.any() else np.nan
    cells = [100 * (~certain).mean(), 100 * agreement, 100 * (first == truth).mean(), 100 * (final == truth).mean()]
    print(f"| {name} | {len(rows)} | " + " | ".join(f"{cell:.1f}" for cell in cells) + f" | {tokens:,} | {seconds:.0f} |")
    scores = [np.nan if label.score is None else label.score for label in labels]
    return pd.DataFrame({"question": [row.question for row in rows], "certain": certain, "score": scores, "truth": truth})


def simulate(rows: pd.DataFrame, runs: int, error_rate: float) -> tuple[int, int, int]:
    """Return in how many samples the interval covers the accuracy by the second judge on all rows, and the truth: as it is, and
    widened by the error rate."""
    verdicts = stand_in(rows["truth"].to_numpy(), error_rate, "simulation")
    second, truth, widened = 0, 0, 0
    for run in range(runs):
        generator = np.random.default_rng(run)
        drawn = generator.integers(0, len(rows), SAMPLE_ROWS)
        sample = rows.iloc[drawn].assign(model="m", second=verdicts[drawn]).reset_index(drop=True)
        others = np.flatnonzero(sample["certain"])
        unseen = generator.permutation(others)[CHECK_ROWS:]
        sample.loc[unseen, "second"] = np.nan
        plain, wide = correct_accuracy(sample), correct_accuracy(sample, error_rate)
        second += plain.low <= verdicts.mean() <= plain.high
        truth += plain.low <= rows["truth"].mean() <= plain.high
        widened += wide.low <= rows["truth"].mean() <= wide.high
    return second, truth, widened


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", default=FILES)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--server")
    parser.add_argument("--runs", type=int, default=100)
    arguments = parser.parse_args()
    print("| file | answers | asked, % | agreement on them, % | general right, % | with the second, % | tokens | s |")
    print("|---|---|---|---|---|---|---|---|")
    parts = [measure(name, arguments.rows, arguments.server) for name in arguments.files]
    if arguments.server is None:
        rows = pd.concat(parts, ignore_index=True)
        print("\n| second judge errs on, % | its accuracy | the truth | the truth, widened |\n|---|---|---|---|")
        for error_rate in (0.0, ERROR_RATE):
            cells = simulate(rows, arguments.runs, error_rate)
            print(f"| {100 * error_rate:.0f} | " + " | ".join(f"{cell} of {arguments.runs}" for cell in cells) + " |")


if __name__ == "__main__":
    main()
