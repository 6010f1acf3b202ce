"""Probability of each choice of a constrained completion, from the log-probabilities of its tokens."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class TokenStep(NamedTuple):
    """One generated token.

    Attributes:
        token: its text.
        logprobs: text → log-probability of the most likely tokens at this position, which may or may not include it.
    """

    token: str
    logprobs: Mapping[str, float]


def normalize(log_likelihoods: Mapping[str, float]) -> dict[str, float]:
    """Convert the log-likelihood of each choice to its probability given that it is one of them."""
    top = max(log_likelihoods.values())
    weights = {choice: math.exp(value - top) for choice, value in log_likelihoods.items()}
    total = sum(weights.values())
    return {choice: weight / total for choice, weight in weights.items()}


def choice_probabilities(choices: Sequence[str], steps: Sequence[TokenStep]) -> dict[str, float] | None:
    """Compute choice probabilities from the tokens of one completion, up to the token that determines the choice.

    At every token the probability mass is divided among the likely tokens that continue some choice; other tokens (spellings,
    words) are ignored. Choices that leave the generated path with the same token share its mass equally.

    Returns:
        Probabilities that sum to 1; None if the tokens lead to no choice.
    """
    probabilities = dict.fromkeys(choices, 0.0)
    possible, prefix, mass, matched = list(choices), "", 1.0, False
    for step in steps:
        if not prefix and not step.token.strip():
            continue
        leading = {
            text: value for text, value in step.logprobs.items() if math.isfinite(value) and _continuations(possible, prefix, text)
        }
        if not leading:
            break
        matched, shares = True, normalize(leading)
        for text, share in shares.items():
            if text != step.token:
                _add_mass(probabilities, _continuations(possible, prefix, text), mass * share)
        mass *= shares.get(step.token, 0.0)
        possible = _continuations(possible, prefix, step.token)
        prefix += step.token if prefix else step.token.lstrip()
        if len(possible) < 2:
            break
    _add_mass(probabilities, possible, mass)
    total = sum(probabilities.values())
    return {choice: value / total for choice, value in probabilities.items()} if matched and total > 0 else None


def _continuations(possible: Sequence[str], prefix: str, token: str) -> list[str]:
    """Return the choices that a token leads to. White space before the first letter is ignored."""
    text = prefix + token if prefix else token.lstrip()
    if not text:
        return []
    longer = [choice for choice in possible if choice.startswith(text) and text != prefix]
    # A token may end a choice, with a full stop, a line break or the end of the answer.
    return longer or [choice for choice in possible if text.startswith(choice) and not text[len(choice) :][:1].isalnum()]


def _add_mass(probabilities: dict[str, float], choices: Sequence[str], mass: float) -> None:
    for choice in choices:
        probabilities[choice] += mass / len(choices)
