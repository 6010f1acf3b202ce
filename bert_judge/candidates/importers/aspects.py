"""Aspects in an imported file: a column per aspect, or a row per answer and aspect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bert_judge.runtime.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

# Prefix of aspect columns in the frames of `importers.files`; other columns have no blank in their names.
PREFIX = "aspect "


class AspectColumnsReader:
    """Reader of the aspects of an imported file.

    Args:
        spec: `config.AspectColumns` as plain values.

    Attributes:
        is_long: a row contains one aspect.
        required: the columns to read, under the names of `map_columns`.
    """

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._columns = {f"{PREFIX}{name}": column for name, column in spec["columns"].items()}
        self.is_long = spec["name"] is not None
        if self.is_long:
            self._columns = {"aspect": spec["name"], "value": spec["value"]}
        self._low, self._high = spec["range"]
        self.required = list(self._columns)

    def map_columns(self, import_spec: Mapping[str, Any]) -> dict[str, Any]:
        """Return the spec of the file's import with the aspect columns added."""
        return {**import_spec, "columns": {**import_spec["columns"], **self._columns}}

    def values(self, frame: pd.DataFrame, identity: Sequence[str], source: str | Path) -> dict[Any, dict[str, float]]:
        """Return identity of an answer → aspect → value, averaged over duplicates; empty cells are dropped.

        Raises:
            InputError: a value is out of range.
        """
        identity = list(identity)
        if not self.is_long:
            frame = frame.melt(identity, self.required, "aspect", "value")
            frame = frame.assign(aspect=frame["aspect"].str.removeprefix(PREFIX))
        frame = frame.dropna(subset=["value"])
        if not (in_range := frame["value"].between(self._low, self._high)).all():
            aspect, value = frame.loc[~in_range, ["aspect", "value"]].iloc[0]
            raise InputError(
                f"{source}: {aspect} is {value:g}, outside {self._low:g} to {self._high:g}; fix imports.<name>.aspects.range"
            )
        means = frame.groupby([*identity, "aspect"], as_index=False)["value"].mean()
        aspects: dict[Any, dict[str, float]] = {}
        for *key, aspect, value in means.itertuples(index=False, name=None):
            aspects.setdefault(tuple(key), {})[aspect] = float(value)
        return aspects

    def score(self, aspects: Mapping[str, float]) -> float:
        """Return the mean of the aspects, each scaled to [0, 1]."""
        return sum((value - self._low) / (self._high - self._low) for value in aspects.values()) / len(aspects)
