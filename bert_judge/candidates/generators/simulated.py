"""A simulated model: it answers from the references, correctly or not by a fixed draw, in a style of its own."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from bert_judge.candidates.generators import simulated_answers
from bert_judge.candidates.generators.protocol import Completion, Request, error_completion
from bert_judge.candidates.generators.simulated_styles import STYLES, AnswerPlan
from bert_judge.runtime.keyed_random import KeyedRandom, fraction
from bert_judge.tasks.prompts import style_of

# Difference in difficulty between the easiest and the hardest question, in logits.
DIFFICULTY_RANGE = 4.0


class SimulatedGenerator:
    """Implements `generators.protocol.Generator` without a model.

    Args:
        name: the model's name; it is part of every draw, so two models with equal settings differ.
        settings: `p_correct`, `style` and `seed` of `config.SimulatedModel`.
    """

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self.name = name
        self.settings = settings
        self.revisions: dict[str, str] = {}

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Return one completion per request, in order; each depends on its request only."""
        return [simulate(self.name, self.settings, request)[0] for request in requests]


def simulate(name: str, settings: Mapping[str, Any], request: Request) -> tuple[Completion, bool]:
    """Return the answer of a simulated model, and whether it is correct.

    An answer is correct if the model knows the question and commits to its answer: a truncated answer, a refusal or a list of
    several answers is incorrect in any case. The prompt's style changes how an answer is written, never whether it is correct.
    """
    if not request.sample.references:
        return error_completion("the question has no reference"), False
    rng = KeyedRandom(("simulated", settings["seed"], name, request.sample_id, request.attempt))
    knows = rng.bernoulli(probability(settings["p_correct"], request.sample.question), "knows")
    style = settings["style"]
    if not isinstance(style, str):
        style = rng.weighted({name: style[name] for name in STYLES if name in style}, "style")
    answer = STYLES[style](_plan_answer(request, rng, knows))
    return Completion(answer.text, "ok" if answer.finished else "truncated"), knows and answer.commits


def probability(p_correct: float, question: str) -> float:
    """Compute the probability of knowing the answer: a logistic curve over a difficulty that depends on the question's text only.

    Args:
        p_correct: the probability at medium difficulty, 0 to 1.
    """
    if p_correct in (0, 1):
        return float(p_correct)
    difficulty = DIFFICULTY_RANGE * (fraction("difficulty", question) - 0.5)
    return 1 / (1 + math.exp(difficulty - math.log(p_correct / (1 - p_correct))))


def _plan_answer(request: Request, rng: KeyedRandom, knows: bool) -> AnswerPlan:
    sample = request.sample
    correct, wrong = simulated_answers.propose_answers(sample, rng)
    options = rng.shuffled([correct, *wrong], "listed")
    # A question with few options has few wrong answers.
    wrong = wrong + wrong[-1:] * (3 - len(wrong))
    if knows:
        answer, rejected, alternative = correct, wrong[0], wrong[1]
    else:
        # Half of the wrong answers name the correct one and reject it: mentioned words alone carry no information.
        answer, alternative = wrong[0], wrong[2]
        rejected = correct if rng.bernoulli(0.5, "rejects the right one") else wrong[1]
    return AnswerPlan(
        rng=rng,
        answer=simulated_answers.format_answer(answer, sample, rng, "said"),
        rejected=simulated_answers.format_answer(rejected, sample, rng, "rejected"),
        alternative=simulated_answers.format_answer(alternative, sample, rng, "other"),
        marked=simulated_answers.format_marked(answer, sample, rng),
        marked_rejected=simulated_answers.format_marked(rejected, sample, rng),
        options=tuple(simulated_answers.format_answer(option, sample, rng, "listed") for option in options),
        numbers=tuple(simulated_answers.numbers_in(sample.question)) if sample.answer_kind in ("number", "math") else (),
        prompt_style=style_of(request.prompt, sample.question),
    )
