"""Which models meet in a set of pairs. A model that is added at the end of the configuration changes nothing among the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from bert_judge.runtime import keyed_random

# Two models, by name.
Meeting = tuple[str, str]


def between_all(models: Sequence[str]) -> set[Meeting]:
    """Every model meets every other one."""
    return {_sorted(one, other) for place, one in enumerate(models) for other in models[:place]}


def with_baseline(models: Sequence[str], baseline: str) -> set[Meeting]:
    """Every model meets the baseline."""
    return {_sorted(model, baseline) for model in models if model != baseline}


def sampled(models: Sequence[str], opponents: int, may_meet: Callable[[str, str], bool], *seed: int | str) -> set[Meeting]:
    """Each model meets some of those before it: those that met fewest so far, and among these by lot.

    So the graph of meetings is connected as far as models may meet at all, meetings are spread evenly, and what stands behind a
    model in the list has no influence on whom it meets among those before.

    Args:
        models: in the order of the configuration.
        opponents: how many of those before it a model meets, as far as there are so many.
        may_meet: whether two models have anything to be compared on.
        seed: of the lot.
    """
    met: Counter[str] = Counter()
    found: set[Meeting] = set()
    for place, model in enumerate(models):
        before = [other for other in models[:place] if may_meet(model, other)]
        before.sort(key=lambda other: (met[other], keyed_random.fraction("opponents", *seed, model, other)))
        for other in before[:opponents]:
            found.add(_sorted(model, other))
            met.update((model, other))
    return found


def _sorted(one: str, other: str) -> Meeting:
    return (one, other) if one < other else (other, one)
