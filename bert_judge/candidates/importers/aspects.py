"""What a file says of aspects: a column per aspect, or a row per answer and aspect."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bert_judge.runtime.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

# Names, in the frames of `importers.files`, of columns that hold an aspect; none of its own has a blank in it.
PREFIX = "aspect "


class Told:
    """Aspects of an imported file.

    Args:
        spec: `config.AspectColumns` as plain values.

    Attributes:
        long: a row holds one aspect.
        needs: the columns to read, under the names that `mapped` gives them.
    """

    def __init__(self, spec: Mapping[str, Any]) -> None:
        self._columns = {f"{PREFIX}{name}": column for name, column in spec["columns"].items()}
        self.long = spec["name"] is not None
        if self.long:
            self._columns = {"aspect": spec["name"], "value": spec["value"]}
        self._low, self._high = spec["range"]
        self.needs = list(self._columns)

    def mapped(self, imported: Mapping[str, Any]) -> dict[str, Any]:
        """The spec of the file's import, with the columns of the aspects."""
        return {**imported, "columns": {**imported["columns"], **self._columns}}

    def values(self, frame: pd.DataFrame, identity: Sequence[str], source: str | Path) -> dict[Any, dict[str, float]]:
        """Identity of an answer → aspect → value; of several values of one, the mean; what is empty is left out.

        Raises:
            InputError: a value is out of range.
        """
        identity = list(identity)
        if not self.long:
            frame = frame.melt(identity, self.needs, "aspect", "value")
            frame = frame.assign(aspect=frame["aspect"].str.removeprefix(PREFIX))
        frame = frame.dropna(subset=["value"])
        if not (inside := frame["value"].between(self._low, self._high)).all():
            aspect, value = frame.loc[~inside, ["aspect", "value"]].iloc[0]
            raise InputError(
                f"{source}: {aspect} is {value:g}, outside {self._low:g} to {self._high:g}; mend imports.<name>.aspects.range"
            )
        means = frame.groupby([*identity, "aspect"], as_index=False)["value"].mean()
        found: dict[Any, dict[str, float]] = {}
        for *key, aspect, value in means.itertuples(index=False, name=None):
            found.setdefault(tuple(key), {})[aspect] = float(value)
        return found

    def score(self, found: Mapping[str, float]) -> float:
        """The mean of the aspects, each from 0 to 1."""
        return sum((value - self._low) / (self._high - self._low) for value in found.values()) / len(found)
