"""Answers that the encoder need not read, because the verdict is the same whatever it would say.

The head (`head.py`) weighs the encoder's logit against the trees'. How low and how high the encoder's gets beside which logit of
the trees is learnt from the rows that the head is fitted on. Where neither end turns the verdict the trees carry it, and the
dearest part of the judge is left out (early exit: Teerapittayanon et al., 2016).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

# Along the trees' logit in steps of at least so many rows, in so many steps at most.
LEAST_ROWS, MOST_STEPS = 100, 20
# Share of rows on either side that the range leaves out.
BEYOND = 0.01


@dataclass(frozen=True)
class Reach:
    """Where the encoder's logits lie, along the trees'; all lists have one number per step.

    Attributes:
        trees: the trees' logit, rising.
        low, mean, high: the encoder's logits there.
    """

    trees: list[float]
    low: list[float]
    mean: list[float]
    high: list[float]

    def at(self, trees: Floats) -> tuple[Floats, Floats, Floats]:
        """low, mean and high of rows with these logits of the trees, each of shape (n,)."""
        low, mean, high = (np.interp(trees, self.trees, values) for values in (self.low, self.mean, self.high))
        return low, mean, high


def learn_reach(encoder: ArrayLike, trees: ArrayLike) -> dict[str, list[float]]:
    """The fields of `Reach`, by the logits of rows that neither was trained on; empty for fewer than `LEAST_ROWS` of them.

    Args:
        encoder, trees: shape (n,).
    """
    said, beside = np.asarray(encoder, float), np.asarray(trees, float)
    steps = min(MOST_STEPS, len(said) // LEAST_ROWS)
    if not steps:
        return {}
    parts = np.array_split(np.argsort(beside, kind="stable"), steps)
    low, high = np.array([np.quantile(said[part], (BEYOND, 1 - BEYOND)) for part in parts]).T
    mean = [said[part].mean() for part in parts]
    found = {"trees": [beside[part].mean() for part in parts], "low": low, "mean": mean, "high": high}
    return {name: [round(float(value), 4) for value in values] for name, values in found.items()}


def reach(learnt: Mapping[str, Any]) -> Reach | None:
    """What `learn_reach` gave; None where there were too few rows.

    Raises:
        ValueError: it is something else.
    """
    if not learnt:
        return None
    names = {field.name for field in fields(Reach)}
    if set(learnt) != names or np.array(list(learnt.values()), float).ndim != 2 or not learnt["trees"]:
        raise ValueError(f"logit_bounds: not {', '.join(sorted(names))} with as many numbers each")
    return Reach(**learnt)
