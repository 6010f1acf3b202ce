"""Classifiers on hidden states as a judge: several aspects of an answer, without a reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bert_judge.judges.probe import folder as folders
from bert_judge.judges.probe import heads
from bert_judge.judges.probe.features import FeatureTable, side_by_side
from bert_judge.judges.protocol import Label, Row, decided
from bert_judge.runtime.errors import InputError

Place = tuple[int, str]
EMPTY = "empty answer"


@dataclass(frozen=True)
class Looked:
    """Hidden states of n answers.

    Attributes:
        at: place → float32, shape (n, width).
        truncated, tokens: per answer, shape (n,).
    """

    at: Mapping[Place, np.ndarray]
    truncated: np.ndarray
    tokens: np.ndarray


class Eyes(Protocol):
    """Where a probe gets hidden states from."""

    def look(self, features: str, places: Sequence[Place], rows: Sequence[Row]) -> Looked:
        """The states of answers at some places, of a set of hidden states."""
        ...


class Stored:
    """Hidden states in the tables of a run.

    Args:
        paths: name of a set → its table, of one model's answers to one task.
    """

    def __init__(self, paths: Mapping[str, str | Path]) -> None:
        self._tables = {name: FeatureTable(path) for name, path in paths.items()}
        self._where = {name: {key: row for row, key in enumerate(table.keys)} for name, table in self._tables.items()}
        self._column = cache(lambda name, place: self._tables[name].states(*place))

    def look(self, features: str, places: Sequence[Place], rows: Sequence[Row]) -> Looked:
        """See `Eyes`.

        Raises:
            InputError: the table lacks an answer.
        """
        table, where = self._tables[features], self._where[features]
        try:
            chosen = [where[row.sample_id, row.attempt] for row in rows]
        except KeyError as error:
            raise InputError(f"{table.path}: no hidden states of {error.args[0]}; delete the file and run again") from error
        at = {place: self._column(features, place)[chosen] for place in places}
        return Looked(at, table.truncated[chosen], table.tokens[chosen])


class Live:
    """Hidden states that a backbone gives now; one pass per answer and set, whatever is asked of it.

    Args:
        features: name of a set → its spec.
    """

    def __init__(self, features: Mapping[str, Mapping[str, Any]]) -> None:
        self._features = features
        self._reader = cache(self._opened)

    def look(self, features: str, places: Sequence[Place], rows: Sequence[Row]) -> Looked:
        """See `Eyes`."""
        pooled = self._reader(features).read([row.question for row in rows], [row.candidate for row in rows])
        stored = self._features[features]["poolings"]

        def state(layer: int, pooling: str) -> np.ndarray:
            return pooled.states[:, layer, stored.index(pooling)]

        at = {place: side_by_side(partial(state, place[0]), place[1]) for place in places}
        return Looked(at, pooled.truncated, pooled.tokens)

    def _opened(self, features: str) -> Any:
        # Only here: a probe on stored states needs no torch.
        from bert_judge.assets.prepare import local_folder
        from bert_judge.judges.probe.extraction import Reader

        spec = self._features[features]
        folder = local_folder(spec["backbone"])
        if folder is None:
            from bert_judge.assets import hub

            folder, _ = hub.snapshot(spec["backbone"], spec["revision"], remote_code=False)
        return Reader(folder, spec)


class Probe:
    """A trained probe.

    Args:
        folder: as `training.probe` writes it.
        threshold: lowest score that counts as correct.
        eyes: where hidden states come from; from the backbone itself when left out.

    Raises:
        InputError: the folder holds no probe.
    """

    def __init__(self, folder: str | Path, threshold: float = 0.5, eyes: Eyes | None = None) -> None:
        self.folder = folders.load(folder)
        self.threshold = threshold
        self.revisions = dict(self.folder.revisions)
        self._eyes = eyes or Live(self.folder.features)

    @property
    def aspects(self) -> list[str]:
        return list(self.folder.aspects)

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        """See `judges.protocol.Judge`. An empty answer has the lowest value of every aspect, without a look."""
        full = [row for row in rows if row.candidate.strip()]
        labels = iter(self._labels(full) if full else [])
        return [next(labels) if row.candidate.strip() else self._label(self._lowest(), reason=EMPTY) for row in rows]

    def _labels(self, rows: Sequence[Row]) -> list[Label]:
        values: dict[str, np.ndarray] = {}
        truncated, tokens = np.zeros(len(rows), bool), np.zeros(len(rows), int)
        for features in dict.fromkeys(told.features for told in self.folder.aspects.values()):
            aspects = {name: told for name, told in self.folder.aspects.items() if told.features == features}
            places = list(dict.fromkeys(place for told in aspects.values() for place in told.places))
            seen = self._eyes.look(features, places, rows)
            truncated, tokens = truncated | seen.truncated, tokens + seen.tokens
            for name, told in aspects.items():
                states = np.concatenate([seen.at[place] for place in told.places], axis=1)
                values[name] = heads.expected(told.model.predict_proba(states), told.model.classes_)
        return [
            self._label(
                {name: float(values[name][row]) for name in self.folder.aspects},
                truncated=bool(truncated[row]),
                prompt_tokens=int(tokens[row]),
            )
            for row in range(len(rows))
        ]

    def _lowest(self) -> dict[str, float]:
        return {
            name: 0.0 if told.spec["head"] == "binary" else float(told.spec["range"][0])
            for name, told in self.folder.aspects.items()
        }

    def _label(self, aspects: dict[str, float], **details: Any) -> Label:
        shares = [heads.share(value, self.folder.aspects[name].spec) for name, value in aspects.items()]
        return decided(sum(shares) / len(shares), self.threshold, aspects=aspects, **details)
