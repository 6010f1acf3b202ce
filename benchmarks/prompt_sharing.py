"""What it costs that all aspects of a probe share one prompt: against a prompt of its own for each, which names the aspect.

    python benchmarks/prompt_sharing.py results/judges/aspects [--prompt "…{aspect}…"] [--pooling mean last]

Works on the dataset of a run, from the run's own folder, with that probe's backbone, aspects and folds. Both ways read every row
and fit every aspect anew; macro-F1 is across folds by question on the training rows and on the test part, with the 95% interval of
a bootstrap over questions, and the difference is paired. Seconds are those of reading, by the clock and of the processor: a machine
that others use too stretches the first.
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
from bert_judge.judges.probe.extraction import Pooled, Reader
from bert_judge.judges.probe.metrics import difference, measured
from bert_judge.judges.probe.training.fitting import Aspect, fit
from bert_judge.judges.probe.training.labels import Known, both_parts, known
from bert_judge.judges.probe.training.selection import Place
from bert_judge.plan.probes import filled

SHARED, OWN = "one for all", "one each"


class States:
    """Hidden states in memory, as `selection.States`."""

    def __init__(self, pooled: Pooled, poolings: Sequence[str]) -> None:
        self.states = pooled.states
        self.places: list[Place] = [(layer, name) for layer in range(pooled.states.shape[1]) for name in poolings]
        self.columns = {name: number for number, name in enumerate(poolings)}

    def at(self, place: Place) -> np.ndarray:
        return self.states[:, place[0], self.columns[place[1]]]


def read(spec: Mapping[str, Any], prompt: str, poolings: Sequence[str], rows: pd.DataFrame) -> tuple[States, Time]:
    """The states of all rows under a prompt, and what reading them took."""
    features = next(iter(spec["features"].values()))
    made = {**features, "prompt": prompt, "poolings": list(poolings)}
    reader = Reader(local_folder(features["backbone"]) or Path(features["backbone"]), made)
    wall, cpu = time.perf_counter(), time.process_time()
    pooled = reader.read(rows["question"].tolist(), rows["candidate"].tolist())
    return States(pooled, poolings), Time(time.perf_counter() - wall, time.process_time() - cpu)


def told(name: str, spec: Mapping[str, Any], states: States, found: Known) -> tuple[np.ndarray, np.ndarray]:
    """The classes that a probe on these states tells of the training rows, across folds, and of the test part."""
    fitted, out_of_fold = fit(states, Aspect(name, spec["aspects"][name], found.learn, found.classes, found.groups), spec)
    return out_of_fold, fitted.model.predict(np.concatenate([states.at(place)[found.test] for place in fitted.places], axis=1))


def shown(figure: list[float], sign: str = "") -> str:
    value, low, high = (100 * number for number in figure)
    return f"{value:{sign}.1f} [{low:{sign}.1f}, {high:{sign}.1f}]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("probe", type=Path)
    parser.add_argument("--prompt", default="Question: {question}\nAnswer: {candidate}\nHow good is this answer in {aspect}?")
    parser.add_argument("--pooling", nargs="+", choices=("mean", "last", "min", "max"), default=["mean", "last"])
    parser.add_argument("--classifiers", nargs="+", default=["logistic"])
    options = parser.parse_args()
    spec = json.loads((options.probe / "probe.json").read_text("utf-8"))["spec"]
    spec |= {"classifiers": options.classifiers, "max_concat_layers": 1}
    folder = Path("results/datasets", spec["dataset"])
    rows, cut = both_parts(folder / "train.parquet", folder / "validation.parquet")
    one, cost = read(spec, next(iter(spec["features"].values()))["prompt"], options.pooling, rows)
    costs = {SHARED: [cost], OWN: []}
    lines = []
    for name, head in spec["aspects"].items():
        own, cost = read(spec, filled(options.prompt, name, None), options.pooling, rows)
        costs[OWN].append(cost)
        found = known(name, head, rows, cut)
        ways = [told(name, spec, states, found) for states in (one, own)]
        for part, of, number in (("folds", found.learn, 0), ("test", found.test, 1)):
            truth, groups = found.classes[of], found.groups[of]
            figures = [shown(measured(truth, way[number], groups)["macro_f1"]) for way in ways]
            better = difference(truth, ways[0][number], ways[1][number], groups)["macro_f1"]
            lines.append((name, part, len(of), *figures, shown(better, "+")))
    print(table(("aspect", "part", "n", f"macro F1, prompt {SHARED}", f"prompt {OWN}", "difference"), lines))
    spent = [
        (way, len(found), f"{sum(cost.wall for cost in found):.1f}", f"{sum(cost.cpu for cost in found):.1f}")
        for way, found in costs.items()
    ]
    print(f"\n{len(rows)} rows\n\n{table(('prompts', 'passes', 'seconds', 'processor seconds'), spent)}")


if __name__ == "__main__":
    main()
