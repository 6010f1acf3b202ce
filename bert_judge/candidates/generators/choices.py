"""Constrained answers: from the log-probabilities of the tokens that were possible to a probability per choice."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Step(NamedTuple):
    """One generated token.

    Attributes:
        said: the token's text.
        likely: text → log-probability of the likeliest tokens at this place, the said one among them or not.
    """

    said: str
    likely: Mapping[str, float]


def normalized(log_likelihoods: Mapping[str, float]) -> dict[str, float]:
    """Log-likelihood of each choice → probability, given that it is one of them."""
    top = max(log_likelihoods.values())
    weights = {choice: math.exp(value - top) for choice, value in log_likelihoods.items()}
    total = sum(weights.values())
    return {choice: weight / total for choice, weight in weights.items()}


def along_path(choices: Sequence[str], steps: Sequence[Step]) -> dict[str, float] | None:
    """How probable each choice was, read off the tokens of one answer up to the one that tells the choices apart.

    At every token the probability is shared out among the likely tokens with which some choice goes on; of the others (other
    spellings, other words) nothing is known, and they are left out. Choices that leave the path with the same token share its part
    equally.

    Returns:
        Probabilities that sum to 1; None when the tokens do not lead to any choice.
    """
    probabilities = dict.fromkeys(choices, 0.0)
    possible, prefix, mass, told = list(choices), "", 1.0, False
    for step in steps:
        if not prefix and not step.said.strip():
            continue
        shares = _shares(step.likely, possible, prefix)
        if not shares:
            break
        told = True
        for text, share in shares.items():
            if text != step.said:
                _spread(probabilities, _going_on(possible, prefix, text), mass * share)
        mass *= shares.get(step.said, 0.0)
        possible = _going_on(possible, prefix, step.said)
        prefix += step.said if prefix else step.said.lstrip()
        if len(possible) < 2:
            break
    _spread(probabilities, possible, mass)
    total = sum(probabilities.values())
    return {choice: value / total for choice, value in probabilities.items()} if told and total > 0 else None


def _shares(likely: Mapping[str, float], possible: Sequence[str], prefix: str) -> dict[str, float]:
    """Of the likely tokens those that lead to a choice, with their shares."""
    leading = {text: value for text, value in likely.items() if math.isfinite(value) and _going_on(possible, prefix, text)}
    return normalized(leading) if leading else {}


def _going_on(possible: Sequence[str], prefix: str, text: str) -> list[str]:
    """The choices that a token leads to. Before the first letter white space means nothing."""
    said = prefix + text if prefix else text.lstrip()
    if not said:
        return []
    longer = [choice for choice in possible if choice.startswith(said) and said != prefix]
    # A token may end a choice: with a full stop, a line's end or the end of the answer.
    return longer or [choice for choice in possible if said.startswith(choice) and not said[len(choice) :][:1].isalnum()]


def _spread(probabilities: dict[str, float], choices: Sequence[str], mass: float) -> None:
    for choice in choices:
        probabilities[choice] += mass / len(choices)
