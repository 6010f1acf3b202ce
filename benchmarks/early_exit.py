"""Share of rows that early exit skips, and its effect on the verdicts.

    BERT_JUDGE_DATA=… python benchmarks/early_exit.py [--judge bert] [--rows 2000]

Needs the tables and the judge of configs/general.yaml (run benchmarks/human_agreement.py first). Prints per file, on answers
to its test questions: the share of rows that the encoder reads, the verdicts that differ from those without early exit
(`early_exit: false`), the agreement of both with the labels, the paired difference with its 95% interval over questions, and
AUROC and ECE of both. benchmarks/judge_speed.py measures the time.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import human_agreement
import numpy as np
import pandas as pd
import timing

from bert_judge.config import files as config_files
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.statistics.intervals import paired_difference
from bert_judge.statistics.metrics import classification_metrics

HEADER = ("file", "answers", "read", "verdicts flipped", "all read: agrees", "early exit: agrees", "difference", "AUROC", "ECE")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--judge", default="bert", help="a judge of the run")
    parser.add_argument("--rows", type=int, default=2000, help="answers per file, drawn from all")
    parser.add_argument("--files", nargs="*", help="imports of the configuration; all when left out")
    options = parser.parse_args()
    run = config_files.load([human_agreement.CONFIG])
    folder = Path("results/judges", options.judge)
    whole, early = BERTJudge(folder, early_exit=False), BERTJudge(folder)
    print(f"{timing.machine()}\n", flush=True)
    lines = []
    for source in options.files or run["imports"]:
        rows = human_agreement.answers(run, source)
        lines.append([source, *compared(rows.sample(min(options.rows, len(rows)), random_state=0), whole, early)])
        print(f"{source}: judged", flush=True)
    print(f"\n{timing.table(HEADER, lines)}")


def compared(rows: pd.DataFrame, whole: BERTJudge, early: BERTJudge) -> list[str]:
    """The cells of a line behind the file."""
    right = (rows["verdict"] == "correct").to_numpy()
    found = [judge.explain(*human_agreement.columns(rows)) for judge in (whole, early)]
    said = [made.scores >= whole.threshold for made in found]
    agrees = [verdicts == right for verdicts in said]
    figures = [classification_metrics(right, made.scores, whole.threshold) for made in found]
    lead = paired_difference(agrees[1], agrees[0], rows["sample_id"].to_numpy())
    return [
        str(len(rows)),
        f"{np.mean(found[1].tokens > 0):.0%}",
        f"{np.mean(said[0] != said[1]):.2%}",
        *(f"{figure['accuracy']:.1%}" for figure in figures),
        human_agreement.cell(lead, 1),
        *("; ".join(f"{figure[name]:.3f}" for figure in figures) for name in ("auroc", "ece")),
    ]


if __name__ == "__main__":
    main()
