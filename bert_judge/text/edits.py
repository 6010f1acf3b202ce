"""Edits between a reference and an answer that repeats most of it, and how many of them change its meaning.

An answer with nearly all words of a sentence overlaps with it as much when it says the opposite as when it is a paraphrase. What
differs tells more: another number, another name, a negation or an opposite.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from rapidfuzz.distance import Indel

from bert_judge.text.normalization import NUMBER_WORDS, word_list
from bert_judge.text.rules.wording import are_opposites

# Shorter texts are compared as a whole.
MIN_WORDS = 6
# Share of the different words of the longer text that both have.
MIN_SHARED = 0.6
MAX_COUNT = 3
# Opposites are looked for between parts that are not longer.
MAX_OPPOSITE_WORDS = 8

_WORD = re.compile(r"[^\W_]+(?:['’.,-][^\W_]+)*")
_NAME = re.compile(r"(?<=[\w,;:)] )[A-ZÀ-Þ][\w'’.-]*\w")
_NEGATIONS = frozenset({"not", "no", "never", "neither", "nor", "without"})
_CONTRACTIONS = (
    (re.compile(r"\bcan(?:['’]t|not)\b"), "can not"),
    (re.compile(r"\bwon['’]t\b"), "will not"),
    (re.compile(r"n['’]t\b"), " not"),
)


class Edits(NamedTuple):
    """Counts of edits, each at most `MAX_COUNT`; all 0 if the answer does not repeat most of the reference.

    Attributes:
        is_edited: 1 if it repeats most of the reference, but not all of it.
        changed_numbers: edits with a number that the reference does not have.
        changed_polarity: edits that add or remove a negation, or replace a word by its opposite.
        changed_names: edits that replace a name by another one.
        changed_words: other edits that replace words.
        moved_words: words in another position.
    """

    is_edited: float = 0.0
    changed_numbers: float = 0.0
    changed_polarity: float = 0.0
    changed_names: float = 0.0
    changed_words: float = 0.0
    moved_words: float = 0.0


NO_EDITS = Edits()


def may_be_edited(reference: Collection[str], answer: Collection[str]) -> bool:
    """Return whether two sets of words share enough for `count_edits`."""
    longer = max(len(reference), len(answer))
    return min(len(reference), len(answer)) >= max(MIN_WORDS, MIN_SHARED * longer) and (
        sum(word in answer for word in reference) >= MIN_SHARED * longer
    )


def count_edits(reference: str, answer: str) -> Edits:
    """Count the edits between two texts that have most words in common."""
    old, new = _split(reference), _split(answer)
    pairs = _replacements(old, new)
    if not pairs:
        return NO_EDITS
    names = {_key(name) for text in (reference, answer) for name in _NAME.findall(text)}
    kinds = [_kind(first, second, frozenset(old), names) for first, second in pairs]
    in_both = {word for first, _ in pairs for word in first} & {word for _, second in pairs for word in second}
    counts = (*(kinds.count(kind) for kind in ("number", "polarity", "name", "words")), len(in_both - word_list("function_words")))
    return Edits(1.0, *(float(min(MAX_COUNT, count)) for count in counts))


def _split(text: str) -> list[str]:
    for pattern, words in _CONTRACTIONS:
        text = pattern.sub(words, text)
    return list(map(_key, _WORD.findall(text)))


def _replacements(old: Sequence[str], new: Sequence[str]) -> list[tuple[list[str], list[str]]]:
    """Return the words of both texts where they differ, one pair for each gap between common words."""
    pairs: list[tuple[list[str], list[str]]] = [([], [])]
    for edit in Indel.opcodes(old, new):
        if edit.tag == "equal":
            pairs.append(([], []))
        else:
            pairs[-1][0].extend(old[edit.src_start : edit.src_end])
            pairs[-1][1].extend(new[edit.dest_start : edit.dest_end])
    return [pair for pair in pairs if pair != ([], [])]


def _kind(old: Sequence[str], new: Sequence[str], reference: Collection[str], names: set[str]) -> str:
    if any(word[0].isdigit() and word not in reference for word in new):
        return "number"
    is_short = max(len(old), len(new)) <= MAX_OPPOSITE_WORDS
    has_opposites = is_short and any(are_opposites(first, second) for first in old for second in new)
    # Both cancel each other: "unused" and "not used".
    if has_opposites != (_count_negations(old) != _count_negations(new)):
        return "polarity"
    ignored = word_list("function_words") | _NEGATIONS
    first, second = ([word for word in words if word not in ignored] for words in (old, new))
    if not first or not second:
        return "none"
    return "name" if not names.isdisjoint(first) and not names.isdisjoint(second) else "words"


def _count_negations(words: Sequence[str]) -> int:
    return sum(word in _NEGATIONS for word in words)


def _key(word: str) -> str:
    """Return what two spellings of a word have in common: small letters, digits for a number word, no thousands separators."""
    word = word.casefold().replace("’", "'").removesuffix("'s")
    return word.replace(",", "") if word[0].isdigit() else NUMBER_WORDS.get(word, word)
