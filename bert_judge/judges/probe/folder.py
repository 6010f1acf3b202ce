"""A probe on disk: a classifier per aspect in the skops format, which runs no code on loading, and `probe.json`, written last."""

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

PROBE_FILE = "probe.json"
# Types in a classifier file that skops does not trust by default.
TRUSTED_TYPES = [
    "bert_judge.judges.probe.classifiers.AllClassesClassifier",
    "bert_judge.judges.probe.classifiers.BalancedMLP",
    "bert_judge.judges.probe.classifiers.CalibratedClassifier",
    "bert_judge.judges.probe.classifiers.OrdinalClassifier",
    "numpy.dtype",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
]


@dataclass(frozen=True)
class AspectHead:
    """The fitted classifier of an aspect.

    Attributes:
        spec: head, range and positive_from, see `classifiers`.
        features: name of the set of hidden states.
        layers: (layer, pooling) pairs whose states are concatenated.
        model: has `predict_proba` and `classes_`.
    """

    spec: Mapping[str, Any]
    features: str
    layers: list[tuple[int, str]]
    model: Any


@dataclass(frozen=True)
class ProbeFolder:
    """Content of a probe's folder: heads by aspect, specs of the hidden states, and revisions of the backbones."""

    aspects: Mapping[str, AspectHead]
    features: Mapping[str, Mapping[str, Any]]
    revisions: Mapping[str, str]
    fingerprint: str


def save(folder: Path, aspects: Mapping[str, AspectHead], spec: Mapping[str, Any], revisions: Mapping[str, str]) -> None:
    """Write a probe.

    Args:
        spec: `Plan.probe_spec`.
        revisions: backbone → revision.
    """
    folder.mkdir(parents=True, exist_ok=True)
    # Without this file, which is written last, the folder does not count as a probe.
    (folder / PROBE_FILE).unlink(missing_ok=True)
    for name, head in aspects.items():
        with tables.atomic(folder / f"{name}.skops") as temporary:
            skops.io.dump(head.model, temporary)
    content = {
        "spec": spec,
        "revisions": dict(revisions),
        "aspects": {
            name: {"spec": head.spec, "features": head.features, "layers": head.layers, "classifier": f"{name}.skops"}
            for name, head in aspects.items()
        },
    }
    with tables.atomic(folder / PROBE_FILE) as temporary:
        temporary.write_text(json.dumps(content, indent=1, ensure_ascii=False), "utf-8")


def load(folder: str | Path) -> ProbeFolder:
    """Read a probe.

    Raises:
        InputError: the folder holds no probe, a broken one, or a classifier of an untrusted type.
    """
    folder, remedy = Path(folder), "train the probe again"
    try:
        text = (folder / PROBE_FILE).read_bytes()
        content = json.loads(text)
        aspects = {
            name: AspectHead(
                head["spec"],
                head["features"],
                [(int(layer), str(pooling)) for layer, pooling in head["layers"]],
                skops.io.load(folder / Path(head["classifier"]).name, trusted=TRUSTED_TYPES),
            )
            for name, head in content["aspects"].items()
        }
        return ProbeFolder(aspects, content["spec"]["features"], content["revisions"], hashlib.sha256(text).hexdigest()[:16])
    except FileNotFoundError as error:
        raise InputError(f"{error.filename}: no such file, so {folder} is not a probe; {remedy}") from error
    except UntrustedTypesFoundException as error:
        raise InputError(f"{folder}: a classifier contains an untrusted type ({str(error)[:200]}); {remedy}") from error
    except (OSError, BadZipFile, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder / PROBE_FILE}: broken: {' '.join(str(error).split())[:200]}; {remedy}") from error
