"""Permutation test of a probe: its metrics with the labels shuffled over questions.

    python benchmarks/probe_permutation.py results/judges/right [--times 5]

Run it in the folder of a finished run. Features, folds, selection and test split stay the same; only the labels are shuffled.
Without a leak the shuffled macro-F1 lies around chance and below the real one. The p-value is the share of draws, the real one
included, that are at least as good.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
from timing import table

from bert_judge import tables
from bert_judge.judges.probe.fit import AspectLabels, fit_aspect
from bert_judge.judges.probe.train import DatasetStates, aspect_labels
from bert_judge.statistics.metrics import macro_f1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("probe", type=Path)
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    card = json.loads((options.probe / "judge.json").read_text("utf-8"))
    spec = card["spec"]
    rows = tables.read(f"results/datasets/{spec['dataset']}/train.parquet", tables.DATASET)
    lines = []
    for name, aspect in spec["aspects"].items():
        paths = [f"results/features/{aspect['features']}/{model}/{task}.parquet" for model, task in spec["tables"]]
        states = DatasetStates(paths, rows, spec["tables"], spec["pooling"])
        labels = aspect_labels(name, aspect, rows, len(rows))
        observed, *permuted = (_macro_f1(labels, states, spec, draw) for draw in range(options.times + 1))
        p_value = (1 + sum(score >= observed for score in permuted)) / (1 + len(permuted))
        lines.append((name, f"{100 * observed:.1f}", " ".join(f"{100 * score:.1f}" for score in permuted), f"{p_value:.3f}"))
    print(table(("aspect", "macro F1", "with shuffled labels", "p"), lines))


def _macro_f1(labels: AspectLabels, states: DatasetStates, spec: dict, draw: int) -> float:
    """Compute the out-of-fold macro-F1 with shuffled labels; with the labels themselves for draw 0."""
    classes = labels.classes.copy()
    if draw:
        classes[labels.train] = np.random.default_rng(draw).permutation(classes[labels.train])
    _, predictions = fit_aspect(states, replace(labels, classes=classes), spec)
    return macro_f1(classes[labels.train], predictions)


if __name__ == "__main__":
    main()
