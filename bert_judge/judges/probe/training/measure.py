"""The stage that measures a probe: what it and its baselines tell in, figures side by side and a card out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.judges.probe.metrics import difference, measured
from bert_judge.judges.probe.training.card import write_card
from bert_judge.judges.probe.training.labels import CROSS_VALIDATION, TEST
from bert_judge.runtime.errors import InputError

PROBE = "probe"
KEY = list(tables.PREDICTIONS.key[3:])


def measure_probe(
    spec: Mapping[str, Any], choices: str | Path, told: Sequence[str | Path], notes: Sequence[str | Path], folder: str | Path
) -> None:
    """Write metrics.json and README.md.

    Args:
        spec: `Plan.measures_spec`.
        choices: what was chosen in the probe's training.
        told: tables of what is told, the probe's first.
        notes: of each baseline that loads the backbone a JSON file that says how it came about, or why it is absent.
        folder: gets both files.

    Raises:
        InputError: a file is broken, or a baseline tells other rows than the probe.
    """
    frames = [tables.read(path, tables.PREDICTIONS) for path in told]
    revisions = tables.provenance(told[0])["revisions"]
    all_told = pd.concat(frames, ignore_index=True)
    shown = all_told[all_told["predictor"].isin([PROBE, *spec["baselines"]])]
    found = {
        name: {**chosen, **_figures(shown[shown["aspect"] == name], f"{told[0]}: {name}")}
        for name, chosen in _json(choices).items()
    }
    metrics = {"aspects": found, "baselines": {Path(path).stem: _json(path) for path in notes}}
    folder = Path(folder)
    with tables.atomic(folder / "metrics.json") as temporary:
        temporary.write_text(json.dumps(metrics, indent=2, ensure_ascii=False) + "\n", "utf-8")
    write_card(folder, spec, metrics, revisions)


def _figures(told: pd.DataFrame, where: str) -> dict[str, Any]:
    """Of one aspect: part → predictor → figures, and baseline → by how much the probe is better on the test part."""
    found: dict[str, Any] = {CROSS_VALIDATION: {}, TEST: {}, "differences": {}}
    for (part, predictor), rows in told.groupby(["split", "predictor"], sort=False):
        of_probe = told[(told["split"] == part) & (told["predictor"] == PROBE)]
        both = of_probe.merge(rows[[*KEY, "prediction"]], on=KEY, suffixes=("", "_other"), validate="one_to_one")
        if not len(of_probe) == len(both) == len(rows):
            raise InputError(f"{where}: {predictor} tells other rows than the probe; delete its table and run again")
        truth, groups = both["truth"].to_numpy(), both["question"].to_numpy()
        other = both["prediction_other"].to_numpy()
        found[str(part)][predictor] = measured(truth, other, groups)
        if part == TEST and predictor != PROBE:
            found["differences"][predictor] = difference(truth, both["prediction"].to_numpy(), other, groups)
    return found


def _json(path: str | Path) -> Any:
    try:
        return json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: not readable: {' '.join(str(error).split())}; delete it and run again") from error
