"""What a rule sees at a glance in an answer: numbers that stand beside the encoder's logit in a judge's head.

An encoder of 22M parameters has to guess whether a number, a name or a letter occurs; here it is counted. No feature decides alone:
their weights are learnt from the same labels as the encoder (`head.py`), and a feature that says nothing gets a weight near 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import TypeVar

import numpy as np

from bert_judge.judges.bert import reference_context
from bert_judge.judges.lexical import choices, extraction
from bert_judge.judges.lexical.normalization import words

# The beginning and the end of a long answer decide, as for the encoder, and a feature must not cost more than it does.
MOST_CHARACTERS, MOST_WORDS = 4_000, 500

FUNCTION_WORDS = frozenset(
    words(
        "of in on at by to for and or is was were are be been it its as with from that this which who "
        "he she they his her their has have had also"
    )
)
NEGATIONS = frozenset(words("not no never none cannot neither nor without unknown unclear sorry however unable"))
HEDGES = frozenset(
    words(
        "may might possibly perhaps probably likely unclear could appears seems some several different various depending depends "
        "specific information available context"
    )
)
_SUFFIXES = ("ing", "ies", "ers", "ed", "es", "er", "ly", "s")
_SENTENCE = re.compile(r"(?<=[.!?。！？\n])\s+")
_YEAR = re.compile(r"\b(?:1\d{3}|20\d{2})\b")
_CAPITALISED = re.compile(r"\b[A-Z][a-z]+")


def features(question: str, references: Sequence[str], candidate: str) -> list[float]:
    """The features of a row, in the order of `NAMES`, against the reference that they fit best."""
    answer = _Text(extraction.without_reasoning(candidate) or "")
    asked = frozenset(words(question)[:MOST_WORDS])
    options = choices.options_of(question)
    rows = []
    for reference in references:
        text = _Text(reference)
        found = {name: compute(text, answer, asked) for name, compute in _OVERLAP.items()}
        rows.append(found | _around(text, answer) | _rules(question, options, reference, references, answer))
    best = max(rows, key=lambda row: (row["choice"], row["contained"], row["recall"] + 0.3 * row["trigrams"], row["precision"]))
    return [*best.values(), math.log(len(references))]


def feature_table(questions: Sequence[str], references: Sequence[Sequence[str]], candidates: Sequence[str]) -> np.ndarray:
    """`features` of many rows: shape (rows, len(NAMES))."""
    rows = [features(*row) for row in zip(questions, references, candidates, strict=True)]
    return np.array(rows, dtype=float).reshape(len(rows), len(NAMES))


def is_cut(references: Sequence[str], candidate: str) -> bool:
    """Whether the features leave out some of the middle of a text."""
    # A word has a character at least, so that short texts need not be divided.
    return any(
        len(text) > MOST_CHARACTERS or (len(text) > MOST_WORDS and len(words(text)) > MOST_WORDS)
        for text in (*references, candidate)
    )


T = TypeVar("T", str, list[str])


class _Text:
    """A text in the forms that the features look at, each made when it is first looked at."""

    def __init__(self, text: str) -> None:
        self.text = _ends(text, MOST_CHARACTERS)
        self.words = _ends(words(self.text), MOST_WORDS)
        self.set = frozenset(self.words)

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(map(_stem, self.set))

    @cached_property
    def content(self) -> list[str]:
        return [word for word in self.words if word not in FUNCTION_WORDS] or self.words

    @cached_property
    def joined(self) -> str:
        return " ".join(self.words)

    @cached_property
    def numbers(self) -> frozenset[str]:
        return frozenset(word for word in self.set if word[-1].isdigit())

    @cached_property
    def ends(self) -> tuple[_Text, _Text]:
        """The first and the last sentence."""
        found = [sentence for sentence in _SENTENCE.split(self.text.strip()) if sentence.strip()] or [""]
        first = _Text(found[0])
        return first, _Text(found[-1]) if len(found) > 1 else first


def _ends(long: T, most: int) -> T:
    """The first quarter and the end of what is longer than that."""
    return long if len(long) <= most else long[: most // 4] + long[len(long) - (most - most // 4) :]


def _share_found(wanted: Sequence[str], text: _Text) -> float:
    """Mean likeness of words to their nearest word in a text: 1 for the same word or stem, above 0.6 for a similar spelling."""
    return sum(_likeness(word, text) for word in wanted) / len(wanted) if wanted else 0.0


def _likeness(word: str, text: _Text) -> float:
    if word in text.set or _stem(word) in text.stems:
        return 1.0
    if len(word) < 5:
        return 0.0
    near = (_bigram_overlap(word, other) for other in text.set if abs(len(other) - len(word)) <= 2 and other[:1] == word[:1])
    best = max(near, default=0.0)
    return best if best > 0.6 else 0.0


@lru_cache(maxsize=1 << 16)
def _bigram_overlap(one: str, other: str) -> float:
    a, b = _grams(one, 2), _grams(other, 2)
    return 2 * len(a & b) / (len(a) + len(b))


@lru_cache(maxsize=1 << 15)
def _grams(text: str, length: int) -> frozenset[str]:
    return frozenset(text[i : i + length] for i in range(max(1, len(text) - length + 1)))


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    """Crude on purpose: a shared wrong stem still matches."""
    return next((word[: -len(s)] for s in _SUFFIXES if word.endswith(s) and len(word) - len(s) >= 3), word)


def _new(text: _Text, asked: frozenset[str]) -> list[str]:
    """Content words that the question does not hold already."""
    return [word for word in text.content if word not in asked]


def _novel_recall(reference: _Text, answer: _Text, asked: frozenset[str]) -> float:
    return _share_found(_new(reference, asked) or reference.content, answer)


def _trigram_recall(reference: _Text, answer: _Text, asked: frozenset[str]) -> float:
    wanted = _grams(reference.joined, 3)
    return len(wanted & _grams(answer.joined, 3)) / len(wanted)


def _numbers(reference: _Text, answer: _Text, asked: frozenset[str]) -> float:
    """Share of the reference's numbers that the answer has; −1 when the reference has none."""
    return len(reference.numbers & answer.numbers) / len(reference.numbers) if reference.numbers else -1.0


def _other_numbers(reference: _Text, answer: _Text, asked: frozenset[str]) -> float:
    return min(3.0, len(answer.numbers - reference.numbers - asked))


def _years(reference: _Text, answer: _Text, asked: frozenset[str]) -> float:
    """1 all years agree, 0.5 some, −1 other years, −0.5 no year in the answer, 0 none asked for."""
    wanted, given = set(_YEAR.findall(reference.text)), set(_YEAR.findall(answer.text))
    if not wanted:
        return 0.0
    if wanted <= given:
        return 1.0
    return 0.5 if wanted & given else (-1.0 if given else -0.5)


def _other_names(reference: _Text, answer: _Text, asked: frozenset[str]) -> float:
    names = {name.casefold() for name in _CAPITALISED.findall(answer.text)}
    return math.log1p(len(names - asked - reference.set))


def _around(reference: _Text, answer: _Text) -> dict[str, float]:
    return dict(
        zip(
            reference_context.NAMES,
            reference_context.standing(frozenset(reference.content), answer.words, answer.text),
            strict=True,
        )
    )


def _in_sentence(which: int) -> Callable[[_Text, _Text, frozenset[str]], float]:
    return lambda reference, answer, asked: _share_found(reference.content, answer.ends[which])


_OVERLAP: Mapping[str, Callable[[_Text, _Text, frozenset[str]], float]] = {
    "contained": lambda r, a, q: float(f" {r.joined} " in f" {a.joined} "),
    "contained_in": lambda r, a, q: float(bool(a.words) and f" {a.joined} " in f" {r.joined} "),
    "same": lambda r, a, q: float(r.words == a.words),
    "run_together": lambda r, a, q: float(r.joined.replace(" ", "") in a.joined.replace(" ", "")),
    "recall": lambda r, a, q: _share_found(r.content, a),
    "novel_recall": _novel_recall,
    "precision": lambda r, a, q: _share_found(_new(a, q), r),
    "trigrams": _trigram_recall,
    "first_sentence": _in_sentence(0),
    "last_sentence": _in_sentence(-1),
    "numbers": _numbers,
    "other_numbers": _other_numbers,
    "years": _years,
    "other_names": _other_names,
    "reference_in_question": lambda r, a, q: sum(word in q for word in r.words) / max(1, len(r.words)),
    "negations": lambda r, a, q: min(4.0, sum(word in NEGATIONS for word in a.words)),
    "hedges": lambda r, a, q: min(5.0, sum(word in HEDGES for word in a.words)),
    "reference_length": lambda r, a, q: math.log1p(len(r.words)),
    "answer_length": lambda r, a, q: math.log1p(len(a.words)),
}


def _rules(question: str, options: Mapping[str, str], reference: str, references: Sequence[str], answer: _Text) -> dict[str, float]:
    """What extraction says: 1 the extracted answer is the reference, −1 it is another, 0 there is nothing to compare."""
    final, number = extraction.final_answer(answer.text), extraction.last_number(answer.text)
    wanted = words(reference)
    numeric = len(wanted) == 1 and wanted[0][-1].isdigit()
    chosen = choices.chosen_option(answer.text, options)
    right = {letter for letter, text in options.items() if letter in references or words(text) in [words(r) for r in references]}
    mentioned = sum(f" {' '.join(words(text))} " in f" {answer.joined} " for text in options.values())
    return {
        "final_answer": 0.0 if final is None else _sign(words(extraction.tidy(final)) == wanted),
        "final_contains": 0.0 if final is None else _sign(f" {' '.join(wanted)} " in f" {' '.join(words(final))} "),
        "last_number": 0.0 if number is None or not numeric else _sign(words(number) == wanted),
        "choice": 0.0 if chosen is None or not right else _sign(chosen in right),
        "options_mentioned": mentioned / len(options) if options else 0.0,
        "has_options": float(bool(options)),
        "numeric": float(numeric),
    }


def _sign(right: bool) -> float:
    return 1.0 if right else -1.0


NAMES = (
    *_OVERLAP,
    *reference_context.NAMES,
    *("final_answer", "final_contains", "last_number", "choice", "options_mentioned", "has_options", "numeric"),
    "references",
)
