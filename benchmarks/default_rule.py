"""Agreement of the rules of `bert-judge score` with the labels of real answers, and the best rule over all files.

    BERT_JUDGE_DATA=… python benchmarks/default_rule.py [--rows 400]

Draws `--rows` labelled answers from each file of docs/real_answers.md and prints agreement in percent per file and rule, and its
mean over the files. An invalid verdict never agrees. Math-Verify is left out: it is for mathematics only.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd

from bert_judge.judges.protocol import Row
from bert_judge.labels.judge_loading import RULES, load_judges
from bert_judge.labels.judging import judge_rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--rows", type=int, default=400)
    rows = parser.parse_args().rows
    rules = load_judges([name for name in RULES if name != "math_verify"])
    found = {}
    for path in sorted(Path(os.environ["BERT_JUDGE_DATA"]).glob("*.parquet")):
        frame = pd.read_parquet(path)
        if not {"question", "references", "candidate", "label"} <= set(frame):
            continue
        frame = frame[frame["label"].notna()]
        frame = frame.sample(min(rows, len(frame)), random_state=0)
        answers = [Row("", 0, "", row.question, tuple(row.references), row.candidate or "") for row in frame.itertuples()]
        right = np.where(frame["label"] >= 0.5, "correct", "incorrect")
        agreed = {}
        for rule in rules:
            verdicts = [label.verdict if label else "" for label in judge_rows(rule, answers)]
            agreed[rule.name] = 100 * float(np.mean(right == np.array(verdicts)))
        found[path.stem] = agreed
    table = pd.DataFrame(found).T
    table.loc["mean of the files"] = table.mean()
    print(table.round(1).to_string())
    best = table.loc["mean of the files"].idxmax()
    print(f"best: {best}")


if __name__ == "__main__":
    main()
