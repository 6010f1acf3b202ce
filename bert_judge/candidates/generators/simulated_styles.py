"""Writing styles of simulated models: one function per style, with phrases drawn from `simulated_phrases.yaml`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from bert_judge.runtime.keyed_random import KeyedRandom
from bert_judge.tasks.prompts import MARKER

SEPARATORS = ((", ", " or "), (", ", " and "), (" / ", " / "), ("; ", "; "))


@dataclass(frozen=True)
class AnswerPlan:
    """The content of an answer.

    Attributes:
        rng: draws of this answer.
        answer: the answer that the model settles on.
        rejected, alternative: answers that it may mention in passing.
        marked, marked_rejected: `answer` and `rejected` in the form that follows the marker.
        options: the correct answer among wrong ones, in a drawn order.
        numbers: numbers of the question, if it asks for a number.
        prompt_style: free, soft or strict.
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
        return capitalize_sentence(self.rng.choose(_phrases()[kind], draw).format(**fields, list=self.option_list()))

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


@dataclass(frozen=True)
class StyledAnswer:
    """A written answer.

    Attributes:
        commits: it settles on one answer.
        finished: it was not truncated.
    """

    text: str
    commits: bool = True
    finished: bool = True


def capitalize_sentence(text: str) -> str:
    """Capitalize the first letter of a sentence; a bare word keeps its case."""
    return text[:1].upper() + text[1:] if " " in text and text[-1:] in ".!?:" else text


@cache
def _phrases() -> dict[str, Sequence[str]]:
    return yaml.safe_load((Path(__file__).parent / "simulated_phrases.yaml").read_text("utf-8"))


def _terse(plan: AnswerPlan) -> StyledAnswer:
    return StyledAnswer(plan.phrase("terse", "terse") if plan.prompt_style == "free" else f"{MARKER} {plan.marked}")


def _wordy(plan: AnswerPlan) -> StyledAnswer:
    if plan.prompt_style == "strict":
        return StyledAnswer(plan.phrase("marked", "marked"))
    sentences = [plan.phrase("openers", "opener"), plan.consideration(), plan.phrase("statements", "statement")]
    if plan.prompt_style == "soft":
        return StyledAnswer(" ".join(sentences) + "\n" + plan.phrase("marked", "marked"))
    return StyledAnswer(" ".join([*sentences, plan.phrase("closers", "closer")]).strip())


def _ignores_format(plan: AnswerPlan) -> StyledAnswer:
    sentences = [*plan.optional_introduction(), plan.phrase("unformatted", "freely")]
    if plan.rng.bernoulli(0.4, "closes"):
        sentences.append(plan.phrase("closers", "closer"))
    return StyledAnswer(" ".join(sentences).strip())


def _hedging(plan: AnswerPlan) -> StyledAnswer:
    hedged = plan.phrase("hedged", "unsure")
    if plan.prompt_style == "free":
        return StyledAnswer(hedged)
    marked = plan.phrase("marked_hedged", "marked")
    return StyledAnswer(marked if plan.prompt_style == "strict" else f"{hedged}\n{marked}")


def _self_correcting(plan: AnswerPlan) -> StyledAnswer:
    corrected = plan.phrase("self_corrected", "turned")
    if plan.prompt_style == "free":
        return StyledAnswer(corrected)
    if plan.prompt_style == "strict" or plan.rng.bernoulli(0.5, "turns after the marker"):
        return StyledAnswer(plan.phrase("marked_self_corrected", "marked"))
    return StyledAnswer(f"{corrected}\n{MARKER} {plan.marked}")


def _truncated(plan: AnswerPlan) -> StyledAnswer:
    text = " ".join([*plan.optional_introduction(), plan.phrase("truncated", "broken")])
    return StyledAnswer(text.strip(), commits=False, finished=False)


def _refusing(plan: AnswerPlan) -> StyledAnswer:
    return StyledAnswer(plan.phrase("refusals", "refusal"), commits=False)


def _lists_all_options(plan: AnswerPlan) -> StyledAnswer:
    text = plan.phrase("option_lists", "dump")
    if plan.prompt_style == "strict":
        text = f"{MARKER} {plan.option_list()}"
    elif plan.prompt_style == "soft" and plan.rng.bernoulli(0.7, "marks"):
        text += f"\n{MARKER} {plan.option_list()}"
    return StyledAnswer(text, commits=False)


# The order matters: a style is drawn by walking through the weights in it.
STYLES: dict[str, Callable[[AnswerPlan], StyledAnswer]] = {
    "truncated": _truncated,
    "hedging": _hedging,
    "ignores_format": _ignores_format,
    "lists_all_options": _lists_all_options,
    "refusing": _refusing,
    "self_correcting": _self_correcting,
    "terse": _terse,
    "wordy": _wordy,
}
