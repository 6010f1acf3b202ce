"""Speed-up by several processes for a judge that spends most of its time on lexical features.

    BERT_JUDGE_DATA=… python benchmarks/feature_processes.py --judge results/judges/bert [--rows 6000] [--rounds 3]

Prints rows per second on real answers of ten files: features alone, and the whole judge, with one process and with one per thread
(`bert_judge.text.features`). The two are interleaved; the best round of each counts, so none pays for the start.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import timing
import torch

from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.text.answer_text import normalize_inputs
from bert_judge.text.features import FeatureExtractor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", type=Path, required=True, help="folder of a trained judge")
    parser.add_argument("--rows", type=int, default=6000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if torch.get_num_threads() == 1:
        parser.error("this process has one thread, so there is nothing to compare; set OMP_NUM_THREADS")
    rows = timing.mixed(options.rows)
    columns = rows.questions, *normalize_inputs(rows.questions, rows.references, rows.candidates)
    ways = {}
    for count in (1, torch.get_num_threads()):
        judge, extractor = BERTJudge(options.judge), FeatureExtractor(count)
        judge.feature_extractor = extractor
        ways[f"features, {count} process(es)"] = lambda extractor=extractor: extractor.extract(*columns)
        ways[f"the judge, features by {count}"] = lambda judge=judge: judge.predict(
            rows.questions, rows.references, rows.candidates
        )
    print(f"{timing.machine()}\njudge: {options.judge}; {len(rows.labels)} rows of {len(timing.FILES)} files\n", flush=True)
    times, found = timing.alternate(ways, options.rounds)
    for alone, together in zip(list(ways)[:2], list(ways)[2:], strict=True):
        np.testing.assert_array_equal(np.asarray(found[alone]), np.asarray(found[together]))
    lines = [[way, f"{len(rows.labels) / times[way].wall:.0f}"] for way in sorted(ways)]
    print(timing.table(("way", "rows/s"), lines))


if __name__ == "__main__":
    main()
