"""Schedule which models are compared in a pair set. Appending a model to the configuration keeps the other comparisons."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from bert_judge.runtime import keyed_random

# Names of two models, sorted.
ModelPair = tuple[str, str]


def pair_all(models: Sequence[str]) -> set[ModelPair]:
    """Pair every model with every other one."""
    return {_sorted(first, second) for index, first in enumerate(models) for second in models[:index]}


def pair_with_baseline(models: Sequence[str], baseline: str) -> set[ModelPair]:
    """Pair every model with the baseline."""
    return {_sorted(model, baseline) for model in models if model != baseline}


def sample_pairs(
    models: Sequence[str], opponents: int, are_comparable: Callable[[str, str], bool], *seed: int | str
) -> set[ModelPair]:
    """Pair each model with some of the models before it: those with the fewest opponents so far, ties broken at random.

    The comparison graph is connected as far as models are comparable, opponents are spread evenly, and the models after a model
    do not influence its opponents among the models before it.

    Args:
        models: in the order of the configuration.
        opponents: maximum number of earlier models that a model is paired with.
        are_comparable: whether two models share a task.
        seed: seed of the random tie-breaks.
    """
    num_opponents: Counter[str] = Counter()
    pairs: set[ModelPair] = set()
    for index, model in enumerate(models):
        previous = [second for second in models[:index] if are_comparable(model, second)]
        previous.sort(key=lambda second: (num_opponents[second], keyed_random.fraction("opponents", *seed, model, second)))
        for second in previous[:opponents]:
            pairs.add(_sorted(model, second))
            num_opponents.update((model, second))
    return pairs


def _sorted(first: str, second: str) -> ModelPair:
    return (first, second) if first < second else (second, first)
