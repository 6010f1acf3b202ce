"""Whether a probe's figures are chance when there is nothing to learn: its labels shuffled over questions, some times over.

    python benchmarks/probe_permutation.py results/judges/right [--times 5]

Works on the results of a run, from their own folder: the same states, folds, choices and test part; only the labels are shuffled.
Of a sound procedure the shuffled macro-F1 lie around chance, and the real one above all of them. The p-value is the share of draws,
the real one among them, that are at least as good.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pandas as pd
from timing import table

from bert_judge import tables
from bert_judge.judges.probe import heads
from bert_judge.judges.probe.metrics import measured
from bert_judge.judges.probe.training.fitting import Aspect, fit
from bert_judge.judges.probe.training.labels import questions, values_of
from bert_judge.judges.probe.training.train import TrainingStates


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("probe", type=Path)
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    card = json.loads((options.probe / "probe.json").read_text("utf-8"))
    spec = card["spec"]
    rows = tables.read(f"results/datasets/{spec['dataset']}/train.parquet", tables.DATASET)
    groups = questions(rows)
    lines = []
    for name, aspect in spec["aspects"].items():
        paths = [f"results/features/{aspect['features']}/{model}/{task}.parquet" for model, task in spec["tables"]]
        states = TrainingStates(paths, rows, spec["tables"], spec["pooling"])
        real, drawn = _figures(name, aspect, states, rows, groups, spec, options.times)
        value = (1 + sum(other >= real for other in drawn)) / (1 + len(drawn))
        lines.append((name, f"{100 * real:.1f}", " ".join(f"{100 * other:.1f}" for other in drawn), f"{value:.3f}"))
    print(table(("aspect", "macro F1", "with shuffled labels", "p"), lines))


def _figures(
    name: str, aspect: dict, states: TrainingStates, rows: pd.DataFrame, groups: np.ndarray, spec: dict, times: int
) -> tuple[float, list[float]]:
    """Macro-F1 across folds with the labels as they are, and with shuffled ones."""
    values = values_of(name, rows)
    known = np.flatnonzero(~np.isnan(values))
    classes = np.zeros(len(rows), int)
    classes[known] = heads.classes_of(name, values[known], aspect)
    found = []
    for draw in range(times + 1):
        shuffled = classes.copy()
        if draw:
            shuffled[known] = np.random.default_rng(draw).permutation(classes[known])
        _, told = fit(states, Aspect(name, aspect, known, shuffled, groups), spec)
        found.append(measured(shuffled[known], told, groups[known])["macro_f1"][0])
    return found[0], found[1:]


if __name__ == "__main__":
    main()
