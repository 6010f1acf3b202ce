"""Permutation test of a probe: its metrics with the labels shuffled over questions.

    python benchmarks/probe_permutation.py results/judges/right [--times 5]

Run it in the folder of a finished run. Features, folds, selection and test split stay the same; only the labels are shuffled.
Without a leak the shuffled macro-F1 lies around chance and below the real one. The p-value is the share of draws, the real one
included, that are at least as good.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pandas as pd
from timing import table

from bert_judge import tables
from bert_judge.judges.probe.classifiers import to_classes
from bert_judge.judges.probe.training.fit import AspectRows, fit_aspect
from bert_judge.judges.probe.training.labels import aspect_values, question_keys
from bert_judge.judges.probe.training.train import DatasetStates
from bert_judge.runtime.metrics import macro_f1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("probe", type=Path)
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    card = json.loads((options.probe / "probe.json").read_text("utf-8"))
    spec = card["spec"]
    rows = tables.read(f"results/datasets/{spec['dataset']}/train.parquet", tables.DATASET)
    questions = question_keys(rows)
    lines = []
    for name, aspect in spec["aspects"].items():
        paths = [f"results/features/{aspect['features']}/{model}/{task}.parquet" for model, task in spec["tables"]]
        states = DatasetStates(paths, rows, spec["tables"], spec["pooling"])
        observed, permuted = _macro_f1(name, aspect, states, rows, questions, spec, options.times)
        p_value = (1 + sum(score >= observed for score in permuted)) / (1 + len(permuted))
        lines.append((name, f"{100 * observed:.1f}", " ".join(f"{100 * score:.1f}" for score in permuted), f"{p_value:.3f}"))
    print(table(("aspect", "macro F1", "with shuffled labels", "p"), lines))


def _macro_f1(
    name: str, aspect: dict, states: DatasetStates, rows: pd.DataFrame, questions: np.ndarray, spec: dict, times: int
) -> tuple[float, list[float]]:
    """Compute the out-of-fold macro-F1 with the labels, and with shuffled ones."""
    values = aspect_values(name, rows)
    labelled = np.flatnonzero(~np.isnan(values))
    classes = np.zeros(len(rows), int)
    classes[labelled] = to_classes(name, values[labelled], aspect)
    scores = []
    for draw in range(times + 1):
        shuffled = classes.copy()
        if draw:
            shuffled[labelled] = np.random.default_rng(draw).permutation(classes[labelled])
        _, predictions = fit_aspect(states, AspectRows(name, aspect, labelled, shuffled, questions), spec)
        scores.append(macro_f1(shuffled[labelled], predictions))
    return scores[0], scores[1:]


if __name__ == "__main__":
    main()
