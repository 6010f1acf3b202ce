"""A probe on disk: a classifier per aspect in skops' format, which runs no code on loading, and `probe.json`, written last."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import skops.io
from skops.io.exceptions import UntrustedTypesFoundException

from bert_judge import tables
from bert_judge.runtime.errors import InputError

CARD = "probe.json"
# All that our classifiers are made of, beside what skops trusts anyway.
TRUSTED = [
    "bert_judge.judges.probe.calibration.AllClasses",
    "bert_judge.judges.probe.calibration.Calibrated",
    "bert_judge.judges.probe.heads.BalancedMLP",
    "bert_judge.judges.probe.heads.OrdinalClassifier",
    "numpy.dtype",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
]


@dataclass(frozen=True)
class Told:
    """How an aspect is told.

    Attributes:
        spec: head, range and positive_from, see `heads`.
        features: name of the set of hidden states.
        places: (layer, pooling) of the states, side by side.
        model: gives probabilities of `model.classes_`.
    """

    spec: Mapping[str, Any]
    features: str
    places: list[tuple[int, str]]
    model: Any


@dataclass(frozen=True)
class Folder:
    """What a folder of a probe holds: its aspects, and the sets of hidden states with the revisions of their backbones."""

    aspects: Mapping[str, Told]
    features: Mapping[str, Mapping[str, Any]]
    revisions: Mapping[str, str]
    fingerprint: str


def save(folder: Path, aspects: Mapping[str, Told], spec: Mapping[str, Any], revisions: Mapping[str, str]) -> None:
    """Write a probe.

    Args:
        spec: `Plan.probe_spec`.
        revisions: backbone → revision.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # From here until the new one is written, last of all, the folder is no probe.
    (folder / CARD).unlink(missing_ok=True)
    for name, told in aspects.items():
        with tables.atomic(folder / f"{name}.skops") as temporary:
            skops.io.dump(told.model, temporary)
    content = {
        "spec": spec,
        "revisions": dict(revisions),
        "aspects": {
            name: {"spec": told.spec, "features": told.features, "places": told.places, "classifier": f"{name}.skops"}
            for name, told in aspects.items()
        },
    }
    with tables.atomic(folder / CARD) as temporary:
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False), "utf-8")


def load(folder: str | Path) -> Folder:
    """Read a probe.

    Raises:
        InputError: no probe, a broken one, or one with a classifier that holds foreign code.
    """
    folder, remedy = Path(folder), "train the probe anew"
    try:
        text = (folder / CARD).read_bytes()
        content = json.loads(text)
        aspects = {
            name: Told(
                told["spec"],
                told["features"],
                [(int(layer), str(pooling)) for layer, pooling in told["places"]],
                skops.io.load(folder / Path(told["classifier"]).name, trusted=TRUSTED),
            )
            for name, told in content["aspects"].items()
        }
        return Folder(aspects, content["spec"]["features"], content["revisions"], hashlib.sha256(text).hexdigest()[:16])
    except FileNotFoundError as error:
        raise InputError(f"{error.filename}: no such file, so {folder} is no probe; {remedy}") from error
    except UntrustedTypesFoundException as error:
        raise InputError(f"{folder}: a classifier holds what none of ours does ({str(error)[:200]}); {remedy}") from error
    except (OSError, BadZipFile, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder / CARD}: broken: {' '.join(str(error).split())[:200]}; {remedy}") from error
