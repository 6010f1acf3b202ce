"""Draws that depend on their content only: the same parts give the same draw in every process, on any machine, in any order."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")


def fraction(*parts: Hashable) -> float:
    """A point of [0, 1), uniform over different parts."""
    digest = hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).digest()
    # 53 bits are what a float holds, so the result stays below 1.
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**53


def choose(items: Sequence[Item], *parts: Hashable) -> Item:
    """One of the items, each with the same probability."""
    return items[int(fraction(*parts) * len(items))]


def shuffled(items: Sequence[Item], *parts: Hashable) -> list[Item]:
    """The items in a drawn order."""
    places = sorted(range(len(items)), key=lambda i: fraction(*parts, i))
    return [items[i] for i in places]


@dataclass(frozen=True)
class Dice:
    """Draws for one thing; each draw is named, so that a new draw does not change the others.

    Attributes:
        parts: what the draws depend on.
    """

    parts: tuple[Hashable, ...]

    def roll(self, what: str) -> float:
        """A point of [0, 1)."""
        return fraction(*self.parts, what)

    def happens(self, probability: float, what: str) -> bool:
        """True with this probability."""
        return self.roll(what) < probability

    def whole(self, low: int, high: int, what: str) -> int:
        """An integer from `low` to `high`, both included."""
        return low + int(self.roll(what) * (high - low + 1))

    def choose(self, items: Sequence[Item], what: str) -> Item:
        """One of the items."""
        return choose(items, *self.parts, what)

    def shuffled(self, items: Sequence[Item], what: str) -> list[Item]:
        """The items in a drawn order."""
        return shuffled(items, *self.parts, what)

    def weighted(self, weights: Mapping[str, float], what: str) -> str:
        """A key, with a probability in proportion to its weight; the order of the keys does not matter."""
        names = sorted(weights)
        point = self.roll(what) * sum(weights.values())
        for name in names:
            point -= weights[name]
            if point < 0:
                return name
        return names[-1]
