"""Cost of one prompt per aspect of a probe, against one prompt shared by all aspects.

    python benchmarks/prompt_sharing.py results/judges/aspects [--prompt "…{aspect}…"] [--pooling mean last]

Run it in the folder of a finished run: it uses the dataset, backbone, aspects and folds of the probe. Both variants read every
row and fit every aspect. Macro-F1 is cross-validated by question on the training rows, and measured on the test split, with 95%
bootstrap intervals over questions; the difference is paired. Seconds of the forward passes are given as wall-clock and as
processor time, because other processes stretch the former.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from timing import Time, table

from bert_judge.assets.prepare import local_folder
from bert_judge.judges.probe import fill_aspect
from bert_judge.judges.probe.fit import AspectLabels, fit_aspect
from bert_judge.judges.probe.hidden_states import HiddenStateExtractor, PooledStates
from bert_judge.judges.probe.judge import LayerPooling
from bert_judge.judges.probe.train import aspect_labels, class_metrics, metric_differences, read_rows

SHARED, OWN = "one for all", "one each"


class States:
    """Hidden states in memory; see `fit.StatesByLayer`."""

    def __init__(self, pooled: PooledStates, poolings: Sequence[str]) -> None:
        self.states = pooled.states
        self.layers: list[LayerPooling] = [(layer, name) for layer in range(pooled.states.shape[1]) for name in poolings]
        self.columns = {name: number for number, name in enumerate(poolings)}

    def load(self, layer: LayerPooling) -> np.ndarray:
        return self.states[:, layer[0], self.columns[layer[1]]]


def extract(spec: Mapping[str, Any], prompt: str, poolings: Sequence[str], rows: pd.DataFrame) -> tuple[States, Time]:
    """Extract the states of all rows with a prompt, and measure the time."""
    features = next(iter(spec["features"].values()))
    changed = {**features, "prompt": prompt, "poolings": list(poolings)}
    extractor = HiddenStateExtractor(local_folder(features["backbone"]) or Path(features["backbone"]), changed)
    wall, cpu = time.perf_counter(), time.process_time()
    pooled = extractor.extract(rows["question"].tolist(), rows["candidate"].tolist())
    return States(pooled, poolings), Time(time.perf_counter() - wall, time.process_time() - cpu)


def predict(spec: Mapping[str, Any], states: States, labels: AspectLabels) -> tuple[np.ndarray, np.ndarray]:
    """Predict the training rows out of fold, and the test rows, by a probe on these states."""
    fitted, out_of_fold = fit_aspect(states, labels, spec)
    return out_of_fold, fitted.model.predict(np.concatenate([states.load(layer)[labels.test] for layer in fitted.layers], axis=1))


def format_interval(interval: list[float], sign: str = "") -> str:
    value, low, high = (100 * number for number in interval)
    return f"{value:{sign}.1f} [{low:{sign}.1f}, {high:{sign}.1f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("probe", type=Path)
    parser.add_argument("--prompt", default="Question: {question}\nAnswer: {candidate}\nHow good is this answer in {aspect}?")
    parser.add_argument("--pooling", nargs="+", choices=("mean", "last", "min", "max"), default=["mean", "last"])
    parser.add_argument("--classifiers", nargs="+", default=["logistic"])
    options = parser.parse_args()
    spec = json.loads((options.probe / "judge.json").read_text("utf-8"))["spec"]
    spec |= {"classifiers": options.classifiers, "max_concat_layers": 1}
    folder = Path("results/datasets", spec["dataset"])
    rows, num_train = read_rows(folder / "train.parquet", folder / "validation.parquet")
    shared, cost = extract(spec, next(iter(spec["features"].values()))["prompt"], options.pooling, rows)
    costs = {SHARED: [cost], OWN: []}
    lines = []
    for name, head in spec["aspects"].items():
        own, cost = extract(spec, fill_aspect(options.prompt, name, None), options.pooling, rows)
        costs[OWN].append(cost)
        labels = aspect_labels(name, head, rows, num_train)
        predictions = [predict(spec, states, labels) for states in (shared, own)]
        for part, indices, number in (("folds", labels.train, 0), ("test", labels.test, 1)):
            truth, questions = labels.classes[indices], labels.questions[indices]
            scores = [format_interval(class_metrics(truth, classes[number], questions)["macro_f1"]) for classes in predictions]
            difference = metric_differences(truth, predictions[0][number], predictions[1][number], questions)["macro_f1"]
            lines.append((name, part, len(indices), *scores, format_interval(difference, "+")))
    print(table(("aspect", "part", "n", f"macro F1, prompt {SHARED}", f"prompt {OWN}", "difference"), lines))
    spent = [
        (way, len(found), f"{sum(cost.wall for cost in found):.1f}", f"{sum(cost.cpu for cost in found):.1f}")
        for way, found in costs.items()
    ]
    print(f"\n{len(rows)} rows\n\n{table(('prompts', 'passes', 'seconds', 'processor seconds'), spent)}")


if __name__ == "__main__":
    main()
