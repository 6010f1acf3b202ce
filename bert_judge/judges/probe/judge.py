"""A judge that classifies the hidden states of a frozen model: several aspects of an answer, without a reference.

Its folder holds a classifier per aspect in the skops format, which runs no code on loading, and `judge.json`, written last.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import skops.io
from skops.io.exceptions import UntrustedTypesFoundException

from bert_judge import tables
from bert_judge.judges.probe import classifiers
from bert_judge.judges.probe.features import FeatureTable, combine_poolings
from bert_judge.judges.protocol import EMPTY_ANSWER, EMPTY_FLAG, Label, Row, decided
from bert_judge.judges.registry import JUDGE_FILE
from bert_judge.runtime.errors import InputError

LayerPooling = tuple[int, str]
# Types in a classifier file that skops does not trust by default.
TRUSTED_TYPES = [
    *(f"{classifiers.__name__}.{name}Classifier" for name in ("AllClasses", "Calibrated", "Ordinal")),
    "numpy.dtype",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
]


@dataclass(frozen=True)
class HiddenStates:
    """Hidden states of n answers: (layer, pooling) → float32, shape (n, width); whether each prompt was truncated; its tokens."""

    by_layer: Mapping[LayerPooling, np.ndarray]
    truncated: np.ndarray
    tokens: np.ndarray


class CachedStates:
    """Hidden states in the tables of a run; `paths` maps a set to its table, of one model's answers to one task."""

    def __init__(self, paths: Mapping[str, str | Path]) -> None:
        self._tables = {name: FeatureTable(path) for name, path in paths.items()}
        self._row_numbers = {name: {key: row for row, key in enumerate(table.keys)} for name, table in self._tables.items()}
        self._states = cache(lambda name, layer: self._tables[name].states(*layer))

    def fetch(self, features: str, layers: Sequence[LayerPooling], rows: Sequence[Row]) -> HiddenStates:
        """Return some layers of a set of hidden states; a missing answer is an `InputError`."""
        table, row_numbers = self._tables[features], self._row_numbers[features]
        try:
            numbers = [row_numbers[row.sample_id, row.attempt] for row in rows]
        except KeyError as error:
            raise InputError(f"{table.path}: no hidden states of {error.args[0]}; delete the file and run again") from error
        by_layer = {layer: self._states(features, layer)[numbers] for layer in layers}
        return HiddenStates(by_layer, table.truncated[numbers], table.tokens[numbers])


class ComputedStates:
    """Hidden states computed by the backbone, one pass per answer and set; `features` maps a set to its spec."""

    def __init__(self, features: Mapping[str, Mapping[str, Any]]) -> None:
        self._specs = features
        self._extractor = cache(self._load_extractor)

    def fetch(self, features: str, layers: Sequence[LayerPooling], rows: Sequence[Row]) -> HiddenStates:
        """See `CachedStates.fetch`."""
        pooled = self._extractor(features).extract([row.question for row in rows], [row.candidate for row in rows])
        poolings = self._specs[features]["poolings"]

        def state(layer: int, pooling: str) -> np.ndarray:
            return pooled.states[:, layer, poolings.index(pooling)]

        by_layer = {(layer, pooling): combine_poolings(partial(state, layer), pooling) for layer, pooling in layers}
        return HiddenStates(by_layer, pooled.truncated, pooled.tokens)

    def _load_extractor(self, features: str) -> Any:
        # Imported late: a probe on cached states needs no torch.
        from bert_judge.assets.prepare import resolve_model
        from bert_judge.judges.probe.hidden_states import HiddenStateExtractor

        spec = self._specs[features]
        folder, *_ = resolve_model(spec["backbone"], spec["revision"], remote_code=False)
        return HiddenStateExtractor(folder, spec)


@dataclass(frozen=True)
class AspectHead:
    """The fitted classifier of an aspect, its set of hidden states, and the (layer, pooling) pairs that it reads, concatenated."""

    spec: Mapping[str, Any]
    features: str
    layers: list[LayerPooling]
    model: Any


class Probe:
    """A trained probe; `source` provides the hidden states, by default the backbone. Raises InputError: the folder is no probe."""

    def __init__(self, folder: str | Path, threshold: float = 0.5, source: CachedStates | ComputedStates | None = None) -> None:
        self.heads, features, self.revisions = load_folder(folder)
        self.threshold = threshold
        self._source = source or ComputedStates(features)

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        """See `judges.protocol.Judge`. An empty answer gets the lowest value of every aspect without running the model."""
        lowest = {name: 0.0 if head.spec["head"] == "binary" else float(head.spec["range"][0]) for name, head in self.heads.items()}
        not_empty = [row for row in rows if row.candidate.strip()]
        labels = iter(self._classify(not_empty) if not_empty else [])
        empty = self._to_label(lowest, reason=EMPTY_ANSWER, flags=(EMPTY_FLAG,))
        return [next(labels) if row.candidate.strip() else empty for row in rows]

    def _classify(self, rows: Sequence[Row]) -> list[Label]:
        values: dict[str, np.ndarray] = {}
        truncated, tokens = np.zeros(len(rows), bool), np.zeros(len(rows), int)
        for features in dict.fromkeys(head.features for head in self.heads.values()):
            heads = {name: head for name, head in self.heads.items() if head.features == features}
            layers = list(dict.fromkeys(layer for head in heads.values() for layer in head.layers))
            hidden = self._source.fetch(features, layers, rows)
            truncated, tokens = truncated | hidden.truncated, tokens + hidden.tokens
            for name, head in heads.items():
                states = np.concatenate([hidden.by_layer[layer] for layer in head.layers], axis=1)
                values[name] = head.model.predict_proba(states) @ head.model.classes_.astype(float)
        aspects = [
            dict(zip(self.heads, column, strict=True)) for column in np.stack([values[name] for name in self.heads], 1).tolist()
        ]
        columns = zip(aspects, truncated.tolist(), tokens.tolist(), strict=True)
        return [self._to_label(aspect, truncated=is_cut, prompt_tokens=count) for aspect, is_cut, count in columns]

    def _to_label(self, aspects: dict[str, float], **details: Any) -> Label:
        scores = [classifiers.normalize(value, self.heads[name].spec) for name, value in aspects.items()]
        return decided(sum(scores) / len(scores), self.threshold, aspects=aspects, **details)


def save_folder(folder: Path, aspects: Mapping[str, AspectHead], spec: Mapping[str, Any], revisions: Mapping[str, str]) -> None:
    """Write a probe with `Plan.training_spec` and the revisions of the backbones."""
    folder.mkdir(parents=True, exist_ok=True)
    # Without this file, which is written last, the folder does not count as a probe.
    (folder / JUDGE_FILE).unlink(missing_ok=True)
    for name, head in aspects.items():
        with tables.atomic(folder / f"{name}.skops") as temporary:
            skops.io.dump(head.model, temporary)
    content = {
        "kind": "probe",
        "spec": spec,
        "revisions": dict(revisions),
        "aspects": {
            name: {"spec": head.spec, "features": head.features, "layers": head.layers, "classifier": f"{name}.skops"}
            for name, head in aspects.items()
        },
    }
    tables.write_json(folder / JUDGE_FILE, content)


def load_folder(folder: str | Path) -> tuple[dict[str, AspectHead], dict[str, Any], dict[str, str]]:
    """Read a probe: aspect → head, set of hidden states → its spec, backbone → revision. Raises InputError: it is none."""
    folder, remedy = Path(folder), "train the probe again"
    try:
        content = json.loads((folder / JUDGE_FILE).read_bytes())
        aspects = {
            name: AspectHead(
                head["spec"],
                head["features"],
                [(int(layer), str(pooling)) for layer, pooling in head["layers"]],
                skops.io.load(folder / Path(head["classifier"]).name, trusted=TRUSTED_TYPES),
            )
            for name, head in content["aspects"].items()
        }
        return aspects, content["spec"]["features"], content["revisions"]
    except FileNotFoundError as error:
        raise InputError(f"{error.filename}: no such file, so {folder} is not a probe; {remedy}") from error
    except UntrustedTypesFoundException as error:
        raise InputError(f"{folder}: a classifier contains an untrusted type ({str(error)[:200]}); {remedy}") from error
    except (OSError, BadZipFile, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{folder / JUDGE_FILE}: broken: {' '.join(str(error).split())[:200]}; {remedy}") from error
