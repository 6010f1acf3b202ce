"""How simulated models write: one function per style, each over tables of phrases, so that no answer has one fixed wording."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bert_judge.candidates.generators import phrases
from bert_judge.runtime.keyed_random import KeyedRandom
from bert_judge.tasks.prompts import MARKER


@dataclass(frozen=True)
class Scene:
    """What there is to write.

    Attributes:
        rng: draws of this answer.
        said: the answer that the model settles on, in words.
        rejected, other: answers that it may mention in passing.
        marked, marked_first: `said` and `rejected` as they stand after the marker.
        listed: the right answer among wrong ones, in a drawn order.
        numbers: numbers of the question, for a question that asks for a number.
        asked: the prompt's style: free, soft, strict.
    """

    rng: KeyedRandom
    said: str
    rejected: str
    other: str
    marked: str
    marked_first: str
    listed: tuple[str, ...]
    numbers: tuple[str, ...]
    asked: str

    def phrase(self, table: tuple[str, ...], what: str) -> str:
        """A phrase of a table with its blanks filled in."""
        fields = {"a": self.said, "b": self.rejected, "c": self.other, "first": self.marked_first, "f": self.marked}
        return capitalized(self.rng.choose(table, what).format(**fields, list=self.enumeration()))

    def enumeration(self) -> str:
        """The listed answers in a row."""
        glue, last = self.rng.choose(((", ", " or "), (", ", " and "), (" / ", " / "), ("; ", "; ")), "glue")
        return glue.join(self.listed[:-1]) + last + self.listed[-1]

    def considered(self) -> str:
        """A sentence that weighs something without settling it: numbers of the question or other answers."""
        if self.numbers and self.rng.bernoulli(0.7, "numbers or answers"):
            given = " and ".join(self.numbers[:3])
            return self.rng.choose(phrases.NUMBERS, "numbers").format(given=given)
        return self.phrase(phrases.CONSIDERED, "considered")


@dataclass(frozen=True)
class Written:
    """An answer in words.

    Attributes:
        text: all of it.
        commits: it settles on one answer.
        finished: it was not cut off.
    """

    text: str
    commits: bool = True
    finished: bool = True


def write(style: str, scene: Scene) -> Written:
    """The answer in a style of `config.Style`."""
    return STYLES[style](scene)


def capitalized(text: str) -> str:
    """The text with a capital first letter, when it is a sentence; a bare word keeps its case."""
    return text[:1].upper() + text[1:] if " " in text and text[-1:] in ".!?:" else text


def _terse(scene: Scene) -> Written:
    if scene.asked == "free":
        return Written(scene.phrase(phrases.TERSE, "terse"))
    return Written(f"{MARKER} {scene.marked}")


def _wordy(scene: Scene) -> Written:
    if scene.asked == "strict":
        return Written(scene.phrase(phrases.MARKED, "marked"))
    parts = [scene.phrase(phrases.OPENERS, "opener"), scene.considered(), scene.phrase(phrases.STATEMENTS, "statement")]
    if scene.asked == "soft":
        return Written(" ".join(parts) + "\n" + scene.phrase(phrases.MARKED, "marked"))
    return Written(" ".join([*parts, scene.phrase(phrases.CLOSERS, "closer")]).strip())


def _ignores_format(scene: Scene) -> Written:
    parts = [scene.phrase(phrases.OPENERS, "opener")] if scene.rng.bernoulli(0.5, "opens") else []
    if scene.rng.bernoulli(0.5, "considers"):
        parts.append(scene.considered())
    parts.append(scene.phrase(phrases.FREELY, "freely"))
    if scene.rng.bernoulli(0.4, "closes"):
        parts.append(scene.phrase(phrases.CLOSERS, "closer"))
    return Written(" ".join(parts).strip())


def _hedging(scene: Scene) -> Written:
    unsure = scene.phrase(phrases.UNSURE, "unsure")
    if scene.asked == "free":
        return Written(unsure)
    marked = scene.phrase(phrases.MARKED_UNSURE, "marked")
    return Written(marked if scene.asked == "strict" else f"{unsure}\n{marked}")


def _self_correcting(scene: Scene) -> Written:
    turned = scene.phrase(phrases.TURNED, "turned")
    if scene.asked == "free":
        return Written(turned)
    marked = scene.phrase(phrases.MARKED_TURNED, "marked")
    if scene.asked == "strict" or scene.rng.bernoulli(0.5, "turns after the marker"):
        return Written(marked)
    return Written(f"{turned}\n{MARKER} {scene.marked}")


def _truncated(scene: Scene) -> Written:
    parts = [scene.phrase(phrases.OPENERS, "opener")] if scene.rng.bernoulli(0.5, "opens") else []
    if scene.rng.bernoulli(0.5, "considers"):
        parts.append(scene.considered())
    parts.append(capitalized(scene.rng.choose(phrases.BROKEN, "broken").format(x=scene.listed[0], y=scene.listed[-1])))
    return Written(" ".join(parts).strip(), commits=False, finished=False)


def _refusing(scene: Scene) -> Written:
    return Written(scene.rng.choose(phrases.REFUSALS, "refusal"), commits=False)


def _lists_all_options(scene: Scene) -> Written:
    text = scene.phrase(phrases.DUMPS, "dump")
    if scene.asked == "strict":
        text = f"{MARKER} {scene.enumeration()}"
    elif scene.asked == "soft" and scene.rng.bernoulli(0.7, "marks"):
        text += f"\n{MARKER} {scene.enumeration()}"
    return Written(text, commits=False)


# The order matters: a style is drawn by walking through the weights in it.
STYLES: dict[str, Callable[[Scene], Written]] = {
    "truncated": _truncated,
    "hedging": _hedging,
    "ignores_format": _ignores_format,
    "lists_all_options": _lists_all_options,
    "refusing": _refusing,
    "self_correcting": _self_correcting,
    "terse": _terse,
    "wordy": _wordy,
}
