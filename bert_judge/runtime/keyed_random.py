"""Random numbers derived from a key: the same key gives the same number in every process, on any machine, in any order."""

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")


def fraction(*key: Hashable) -> float:
    """Return a number in [0, 1), uniform over different keys."""
    digest = hashlib.sha256(repr(key).encode("utf-8", "surrogatepass")).digest()
    # 53 bits fit into a float, so the result stays below 1.
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**53


def choose(items: Sequence[Item], *key: Hashable) -> Item:
    """Return one of the items, each with the same probability."""
    return items[int(fraction(*key) * len(items))]


def shuffled(items: Sequence[Item], *key: Hashable) -> list[Item]:
    """Return the items in random order."""
    order = sorted(range(len(items)), key=lambda i: fraction(*key, i))
    return [items[i] for i in order]


@dataclass(frozen=True)
class KeyedRandom:
    """A random number generator without state: each draw has a name, so that adding a draw does not change the others."""

    key: tuple[Hashable, ...]

    def uniform(self, name: str) -> float:
        """Return a number in [0, 1)."""
        return fraction(*self.key, name)

    def bernoulli(self, probability: float, name: str) -> bool:
        """Return True with this probability."""
        return self.uniform(name) < probability

    def integers(self, low: int, high: int, name: str) -> int:
        """Return an integer from `low` to `high`, both inclusive."""
        return low + int(self.uniform(name) * (high - low + 1))

    def choose(self, items: Sequence[Item], name: str) -> Item:
        """Return one of the items."""
        return choose(items, *self.key, name)

    def shuffled(self, items: Sequence[Item], name: str) -> list[Item]:
        """Return the items in random order."""
        return shuffled(items, *self.key, name)

    def weighted(self, weights: Mapping[str, float], name: str) -> str:
        """Return a key of `weights` with probability proportional to its weight; another order of the keys is another draw."""
        point = self.uniform(name) * sum(weights.values())
        for key, weight in weights.items():
            point -= weight
            if point < 0:
                return key
        return list(weights)[-1]
