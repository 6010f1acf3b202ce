"""A simulated model: it answers from the references, correctly or not by a fixed draw, in a style of its own."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from bert_judge.candidates.generators.protocol import Completion, Request, error_completion
from bert_judge.perturbations import simulated_answers
from bert_judge.runtime.keyed_random import KeyedRandom, fraction
from bert_judge.runtime.package_data import read_yaml
from bert_judge.tasks.registry import MARKER, style_of

SEPARATORS = ((", ", " or "), (", ", " and "), (" / ", " / "), ("; ", "; "))
# Difference in difficulty between the easiest and the hardest question, in logits.
DIFFICULTY_RANGE = 4.0


@dataclass(frozen=True)
class AnswerPlan:
    """The content of an answer.

    Attributes:
        rejected, alternative: answers that it may mention in passing.
        marked, marked_rejected: `answer` and `rejected` in the form that follows the marker.
        options: the correct answer among wrong ones, in a drawn order.
        numbers: numbers of the question, if it asks for a number.
    """

    rng: KeyedRandom
    answer: str
    rejected: str
    alternative: str
    marked: str
    marked_rejected: str
    options: tuple[str, ...]
    numbers: tuple[str, ...]
    prompt_style: str

    def phrase(self, kind: str, draw: str) -> str:
        """Draw a phrase and fill in its placeholders."""
        fields = {"a": self.answer, "b": self.rejected, "c": self.alternative, "first": self.marked_rejected, "f": self.marked}
        fields |= {"x": self.options[0], "y": self.options[-1], "given": " and ".join(self.numbers[:3])}
        text: str = self.rng.choose(_phrases()[kind], draw).format(**fields, list=self.option_list())
        # A bare word keeps its case.
        return text[:1].upper() + text[1:] if " " in text and text[-1:] in ".!?:" else text

    def option_list(self) -> str:
        separator, last = self.rng.choose(SEPARATORS, "glue")
        return separator.join(self.options[:-1]) + last + self.options[-1]

    def consideration(self) -> str:
        """Return a sentence that considers numbers of the question or other answers without settling on one."""
        use_numbers = bool(self.numbers) and self.rng.bernoulli(0.7, "numbers or answers")
        return self.phrase("numbers", "numbers") if use_numbers else self.phrase("considered", "considered")

    def optional_introduction(self) -> list[str]:
        """Return an opener and a consideration, each with probability one half."""
        opener = [self.phrase("openers", "opener")] if self.rng.bernoulli(0.5, "opens") else []
        return opener + ([self.consideration()] if self.rng.bernoulli(0.5, "considers") else [])


@cache
def _phrases() -> dict[str, Sequence[str]]:
    return read_yaml(Path(__file__).with_name("simulated_phrases.yaml"))


def _terse(plan: AnswerPlan) -> str:
    return plan.phrase("terse", "terse") if plan.prompt_style == "free" else f"{MARKER} {plan.marked}"


def _wordy(plan: AnswerPlan) -> str:
    if plan.prompt_style == "strict":
        return plan.phrase("marked", "marked")
    sentences = [plan.phrase("openers", "opener"), plan.consideration(), plan.phrase("statements", "statement")]
    if plan.prompt_style == "soft":
        return " ".join(sentences) + "\n" + plan.phrase("marked", "marked")
    return " ".join([*sentences, plan.phrase("closers", "closer")]).strip()


def _ignores_format(plan: AnswerPlan) -> str:
    sentences = [*plan.optional_introduction(), plan.phrase("unformatted", "freely")]
    if plan.rng.bernoulli(0.4, "closes"):
        sentences.append(plan.phrase("closers", "closer"))
    return " ".join(sentences).strip()


def _hedging(plan: AnswerPlan) -> str:
    hedged = plan.phrase("hedged", "unsure")
    if plan.prompt_style == "free":
        return hedged
    marked = plan.phrase("marked_hedged", "marked")
    return marked if plan.prompt_style == "strict" else f"{hedged}\n{marked}"


def _self_correcting(plan: AnswerPlan) -> str:
    corrected = plan.phrase("self_corrected", "turned")
    if plan.prompt_style == "free":
        return corrected
    if plan.prompt_style == "strict" or plan.rng.bernoulli(0.5, "turns after the marker"):
        return plan.phrase("marked_self_corrected", "marked")
    return f"{corrected}\n{MARKER} {plan.marked}"


def _truncated(plan: AnswerPlan) -> str:
    return " ".join([*plan.optional_introduction(), plan.phrase("truncated", "broken")]).strip()


def _refusing(plan: AnswerPlan) -> str:
    return plan.phrase("refusals", "refusal")


def _lists_all_options(plan: AnswerPlan) -> str:
    text = plan.phrase("option_lists", "dump")
    if plan.prompt_style == "strict":
        text = f"{MARKER} {plan.option_list()}"
    elif plan.prompt_style == "soft" and plan.rng.bernoulli(0.7, "marks"):
        text += f"\n{MARKER} {plan.option_list()}"
    return text


# The order matters: a style is drawn by walking through the weights in it.
STYLES: dict[str, Callable[[AnswerPlan], str]] = {
    "truncated": _truncated,
    "hedging": _hedging,
    "ignores_format": _ignores_format,
    "lists_all_options": _lists_all_options,
    "refusing": _refusing,
    "self_correcting": _self_correcting,
    "terse": _terse,
    "wordy": _wordy,
}
# Styles that settle on no answer.
UNDECIDED = ("truncated", "refusing", "lists_all_options")


class SimulatedGenerator:
    """Implements `generators.protocol.Generator` without a model.

    The name is part of every draw, so two models with equal settings differ.
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
    text = STYLES[style](_plan_answer(request, rng, knows))
    return Completion(text, "truncated" if style == "truncated" else "ok"), knows and style not in UNDECIDED


def probability(p_correct: float, question: str) -> float:
    """Compute the probability of knowing the answer, `p_correct` at medium difficulty."""
    if p_correct in (0, 1):
        return float(p_correct)
    difficulty = DIFFICULTY_RANGE * (fraction("difficulty", question) - 0.5)
    return 1 / (1 + math.exp(difficulty - math.log(p_correct / (1 - p_correct))))


def _plan_answer(request: Request, rng: KeyedRandom, knows: bool) -> AnswerPlan:
    sample = request.sample
    correct, wrong = simulated_answers.propose_answers(sample, rng, request.similar)
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
