"""A made-up model: it answers from the references, right or wrong by a fixed draw, in a style of its own. Its truth is known."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bert_judge.candidates.generators import answer_texts, styles
from bert_judge.candidates.generators.protocol import Completion, Request, error_completion
from bert_judge.runtime.keyed_random import KeyedRandom, fraction
from bert_judge.tasks.prompts import style_of

# Questions differ by this many logits in difficulty, from the easiest to the hardest.
DIFFICULTY_RANGE = 4.0


class SimulatedGenerator:
    """Implements `generators.protocol.Generator` without any model behind it.

    Args:
        name: the model's name; it is a part of every draw, so two models with equal settings still differ.
        settings: `p_correct`, `style` and `seed` of `config.SimulatedModel`.
    """

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self.name = name
        self.settings = settings
        self.revisions: dict[str, str] = {}

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """One completion per request, in their order; it depends on the request only."""
        return [simulate(self.name, self.settings, request)[0] for request in requests]


def simulate(name: str, settings: Mapping[str, Any], request: Request) -> tuple[Completion, bool]:
    """The answer of a simulated model, and whether it is right.

    An answer is right when the model knows the question and commits itself to what it knows: one that breaks off, refuses or lists
    several answers is wrong whatever it knows. The prompt's style changes how an answer is written, never whether it is right.
    """
    if not request.sample.references:
        return error_completion("the question has no reference"), False
    rng = KeyedRandom(("simulated", settings["seed"], name, request.sample_id, request.attempt))
    knows = rng.bernoulli(probability(settings["p_correct"], request.sample.question), "knows")
    style = settings["style"]
    if not isinstance(style, str):
        style = rng.weighted({name: style[name] for name in styles.STYLES if name in style}, "style")
    written = styles.write(style, _scene(request, rng, knows))
    return Completion(written.text, "ok" if written.finished else "truncated"), knows and written.commits


def probability(p_correct: float, question: str) -> float:
    """Probability of knowing the answer: a logistic curve over a difficulty that depends on the question's text only.

    Args:
        p_correct: the probability at middling difficulty, 0 to 1.
    """
    if p_correct in (0, 1):
        return float(p_correct)
    difficulty = DIFFICULTY_RANGE * (fraction("difficulty", question) - 0.5)
    return 1 / (1 + math.exp(difficulty - math.log(p_correct / (1 - p_correct))))


def _scene(request: Request, rng: KeyedRandom, knows: bool) -> styles.Scene:
    sample = request.sample
    found = answer_texts.find(sample, rng)
    wrong = found.wrong + found.wrong[-1:] * (3 - len(found.wrong))
    if knows:
        said, rejected, other = found.right, wrong[0], wrong[1]
    else:
        # Half of the wrong answers name the right one and reject it: the words alone do not tell.
        said, other = wrong[0], wrong[2]
        rejected = found.right if rng.bernoulli(0.5, "rejects the right one") else wrong[1]
    listed = rng.shuffled([found.right, *found.wrong], "listed")
    return styles.Scene(
        rng=rng,
        said=answer_texts.worded(said, sample, rng, "said"),
        rejected=answer_texts.worded(rejected, sample, rng, "rejected"),
        other=answer_texts.worded(other, sample, rng, "other"),
        marked=answer_texts.marked(said, sample, rng),
        marked_first=answer_texts.marked(rejected, sample, rng),
        listed=tuple(answer_texts.worded(answer, sample, rng, "listed") for answer in listed),
        numbers=tuple(answer_texts.numbers_in(sample.question)) if sample.answer_kind in ("number", "math") else (),
        asked=style_of(request.prompt, sample.question),
    )
