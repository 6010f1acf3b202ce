"""Probabilities of choices from the log-probabilities of tokens."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_judge.candidates.generators.protocol import TokenStep, choice_probabilities, normalize

WORDS = ("correct", "incorrect")


def step(token: str, **shares: float) -> TokenStep:
    return TokenStep(token, {text.replace("_", " "): math.log(share) if share else -math.inf for text, share in shares.items()})


@pytest.mark.parametrize(
    ("choices", "steps", "expected"),
    [
        # One token determines the choice.
        (WORDS, [step("correct", correct=0.6, incorrect=0.2, Yes=0.2)], (0.75, 0.25)),
        (WORDS, [step("in", correct=0.2, **{"in": 0.6}), step("correct", correct=1)], (0.25, 0.75)),
        # White space before the first letter; two spellings of a token.
        (WORDS, [step("_correct".replace("_", " "), _correct=0.3, correct=0.3, _in=0.2)], (0.75, 0.25)),
        (WORDS, [step("\n", correct=0.1, incorrect=0.9), step("correct", correct=0.9, incorrect=0.1)], (0.9, 0.1)),
        # Only one choice is among the likely tokens.
        (WORDS, [step("correct", correct=0.6, Yes=0.2)], (1, 0)),
        # A shared beginning: the second token decides.
        (("true", "try"), [step("tr", tr=1), step("ue", ue=0.7, y=0.3)], (0.7, 0.3)),
        # Two choices leave the path together.
        (("A1", "A2", "B"), [step("B", B=0.5, A=0.5)], (0.25, 0.25, 0.5)),
        # One choice is the beginning of another.
        (("A", "AB"), [step("A", A=1), TokenStep("</s>", {"</s>": math.log(0.8), "B": math.log(0.2)})], (0.8, 0.2)),
        # Letters are no words that begin with them.
        (("A", "B"), [TokenStep("B", {"And": math.log(0.5), "B": math.log(0.2), "A.": math.log(0.3)})], (0.6, 0.4)),
        # The answer itself is no choice, its likely tokens are.
        (WORDS, [step("Maybe", Maybe=0.5, correct=0.3, incorrect=0.1)], (0.75, 0.25)),
        (WORDS, [step("Maybe", Maybe=0.5, never=0.5)], None),
        (WORDS, [step("correct", correct=0.0)], None),
        (WORDS, [], None),
        (("richtig", "größer"), [step("größer", größer=0.5, richtig=0.5)], (0.5, 0.5)),
    ],
)
def test_choice_probabilities(choices: tuple[str, ...], steps: list[TokenStep], expected: tuple[float, ...] | None) -> None:
    probabilities = choice_probabilities(choices, steps)
    if expected is None:
        assert probabilities is None
    else:
        assert probabilities == pytest.approx(dict(zip(choices, expected, strict=True)))


@given(st.dictionaries(st.text("abc ", min_size=1, max_size=3), st.floats(-50, 0), min_size=1), st.text("abc", max_size=3))
def test_probabilities_sum_to_one(logprobs: dict[str, float], token: str) -> None:
    probabilities = choice_probabilities(("a", "bc", "bb"), [TokenStep(token, logprobs)])
    assert probabilities is None or sum(probabilities.values()) == pytest.approx(1)


def test_normalize_does_not_underflow() -> None:
    assert normalize({"a": -1000.0, "b": -1000.0 + math.log(3)}) == pytest.approx({"a": 0.25, "b": 0.75})
