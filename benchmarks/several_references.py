"""Time and agreement of scoring only the closest of several references.

    BERT_JUDGE_DATA=… python benchmarks/several_references.py [--judge bert] [--rows 200] [--rounds 3]

Needs the extra `bench`, and the tables and the judge of configs/general.yaml (run benchmarks/human_agreement.py first): rows
are answers to its test questions that have several references. Prints per file the agreement with the labels with every reference
(`references: all`) and with one (`closest`), and the paired difference with its 95% interval over questions. Then rows per
second, features included, interleaved with sentence-transformers' CrossEncoder, which scores the same checkpoint's encoder
against each reference; the best round of each counts.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import human_agreement
import judge_speed
import numpy as np
import pandas as pd
import peers
import timing

from bert_judge.config import files as config_files
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.statistics.intervals import paired_difference, proportion


def answers(run: human_agreement.Run, source: str) -> pd.DataFrame:
    """Answers to a file's test questions that have several right answers, with their labels."""
    rows = human_agreement.answers(run, source)
    return rows[rows["references"].map(len) > 1].reset_index(drop=True)


def agreement(rows: pd.DataFrame, each: BERTJudge, one: BERTJudge) -> list[str]:
    right, questions = (rows["verdict"] == "correct").to_numpy(), rows["sample_id"].to_numpy()
    agrees = [(judge.explain(*human_agreement.columns(rows)).scores >= judge.threshold) == right for judge in (each, one)]
    found = [*(proportion(hits, questions) for hits in agrees), paired_difference(agrees[1], agrees[0], questions)]
    return [human_agreement.cell(interval, 1) for interval in found]


def speed(rows: pd.DataFrame, folder: Path, each: BERTJudge, one: BERTJudge, rounds: int) -> str:
    questions, references, candidates = human_agreement.columns(rows)
    single = rows.explode("references")
    listed = timing.Rows(single["question"].tolist(), single["references"].tolist(), single["candidate"].tolist(), [])
    pairs = judge_speed.pairs(each, listed)
    starts = np.cumsum([0, *(len(texts) for texts in references[:-1])])
    with peers.cross_encoders([sys.executable], folder, pairs, each.checkpoint.encoder.max_length) as [process]:
        way = [way for way in process.ways if way.startswith("PyTorch")][-1]
        size = process.best_size(way)
        rival = f"CrossEncoder, {way}, batches of {size}, every reference"
        ways = {
            "this judge, `closest`": lambda: one.predict(questions, references, candidates),
            "this judge, `all`": lambda: each.predict(questions, references, candidates),
            rival: lambda: np.maximum.reduceat(process.read(way, size, len(pairs)), starts),
        }
        times, _ = timing.alternate(ways, rounds)
    lines = [[way, f"{len(rows) / time.wall:.1f}", f"{times[rival].wall / time.wall:.2f}×"] for way, time in times.items()]
    return timing.table(("way", "rows/s", "against CrossEncoder"), lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--judge", default="bert", help="a judge of the run")
    parser.add_argument("--rows", type=int, default=200, help="rows of each file that are timed")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    run = config_files.load([human_agreement.CONFIG])
    folder = Path("results/judges", options.judge)
    each, one = (BERTJudge(folder, references=which, early_exit=False) for which in ("all", "closest"))
    print(f"{timing.machine()}\n", flush=True)
    lines, timed = [], []
    for source in run["imports"]:
        rows = answers(run, source)
        if len(rows) < options.rows:
            continue
        mean = f"{rows['references'].map(len).mean():.1f}"
        lines.append([source, len(rows), mean, *agreement(rows, each, one)])
        timed.append(rows.sample(options.rows, random_state=0))
        print(f"{source}: judged", flush=True)
    header = ("file", "answers", "references each", "`all` agrees", "`closest` agrees", "difference")
    print(f"\n{timing.table(header, lines)}\n")
    print(speed(pd.concat(timed), folder, each, one, options.rounds))


if __name__ == "__main__":
    main()
