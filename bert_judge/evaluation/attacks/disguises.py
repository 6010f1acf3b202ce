"""Right answers in other letters: a person reads the same."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

from bert_judge.evaluation.attacks.families import Subject, benign_perturbation
from bert_judge.runtime.keyed_random import KeyedRandom

INVARIANCE = "arXiv 2005.04118"
BAD_CHARACTERS = "arXiv 2106.09898"
# Cyrillic and Greek letters that look like Latin ones.
LOOKALIKES = str.maketrans("aceopxyABCEHKMOPTX", "асеорхуАВСЕНКМОРТХ")
SHORTEST_WORD = 8


@benign_perturbation(INVARIANCE)
def upper_case(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The answer in capitals."""
    if subject.name and subject.name.upper() != subject.name:
        yield subject.name.upper()


@benign_perturbation(INVARIANCE)
def lower_case(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """The answer in small letters."""
    if subject.name and not subject.options and subject.name.lower() != subject.name:
        yield subject.name.lower()


@benign_perturbation(BAD_CHARACTERS)
def homoglyphs(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """Letters replaced by others that look the same."""
    if subject.name and not subject.options and (changed := subject.name.translate(LOOKALIKES)) != subject.name:
        yield changed


@benign_perturbation(BAD_CHARACTERS)
def invisible_characters(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """Zero-width characters between the letters."""
    if subject.name and len(subject.name) > 1:
        yield rng.choose(("\u200b", "\u2060", "\u00ad", "\u200d", "\ufeff"), "character").join(subject.name)


@benign_perturbation(BAD_CHARACTERS)
def full_width(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """Full-width letters and digits, as East Asian keyboards write them."""
    if subject.name and subject.name.isascii():
        yield "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else "\u3000" if c == " " else c for c in subject.name)


@benign_perturbation(INVARIANCE)
def without_accents(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """Accents left out."""
    if subject.name:
        plain = "".join(c for c in unicodedata.normalize("NFD", subject.name) if not unicodedata.combining(c))
        if plain != subject.name and plain.isascii():
            yield plain


@benign_perturbation(INVARIANCE)
def typing_error(subject: Subject, rng: KeyedRandom) -> Iterable[str]:
    """Two neighbouring letters of a long word exchanged."""
    if subject.name is None or subject.options:
        return
    words = subject.name.split()
    long = [place for place, word in enumerate(words) if len(word) >= SHORTEST_WORD and word.isascii() and word.isalpha()]
    if long:
        place = rng.choose(long, "word")
        at = rng.integers(2, len(words[place]) - 4, "letter")
        word = words[place]
        words[place] = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        if words[place] != word:
            yield " ".join(words)
