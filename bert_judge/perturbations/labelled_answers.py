"""Shared by all augmentations: labelled answers, a pool of other answers to borrow from, phrases, and word overlap."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bert_judge.runtime.keyed_random import KeyedRandom
from bert_judge.runtime.package_data import read_yaml
from bert_judge.text.normalization import normalize_words
from bert_judge.text.options import parse_options
from bert_judge.text.word_metrics import contains

# Longer references are sentences: they are neither put in phrases nor borrowed.
MAX_SHORT_WORDS = 12
# Words of a correct answer that can serve as a reference: one or two sentences.
SENTENCE_WORDS = range(4, 41)
# Number of drawn answers among which the most similar one is borrowed.
NUM_DRAWS = 8
MONTHS = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"]
ASKS_FOR_PERSON = re.compile(r"\bwho(?:m|se)?\b", re.IGNORECASE)


PHRASES: Mapping[str, list[str]] = read_yaml(Path(__file__).with_name("augmentation_phrases.yaml"))


@dataclass(frozen=True, repr=False)
class LabelledAnswer:
    """A candidate with a binary label."""

    question: str
    references: tuple[str, ...]
    candidate: str
    correct: bool

    def __repr__(self) -> str:
        # Random draws are keyed by this text: another text gives other augmented rows, and so another trained judge.
        fields = f"question={self.question!r}, references={self.references!r}, candidate={self.candidate!r}, right={self.correct!r}"
        return f"Row({fields})"

    @property
    def options(self) -> Mapping[str, str]:
        """Letter → text of a multiple-choice question; else empty."""
        return parse_options(self.question)

    @property
    def short_references(self) -> list[str]:
        """References that are names, numbers or phrases."""
        return [text for text in self.references if 0 < len(text.split()) <= MAX_SHORT_WORDS]


@dataclass(frozen=True)
class AugmentedRow:
    """A synthetic training row for the question of the answer that it was made from."""

    references: Sequence[str]
    candidate: str
    correct: bool


class AnswerPool:
    """Answers of other rows to borrow: their short references, and their correct answers that are sentences."""

    def __init__(self, references: Iterable[Sequence[str]], answers: Iterable[LabelledAnswer] = ()) -> None:
        distinct = dict.fromkeys(tuple(texts) for texts in references)
        self.reference_sets = [texts for texts in distinct if all(0 < len(text.split()) <= MAX_SHORT_WORDS for text in texts)]
        self._long_references = [text for texts in distinct for text in texts if len(text.split()) > MAX_SHORT_WORDS]
        correct: dict[str, set[str]] = {}
        for answer in answers:
            is_sentence = len(answer.candidate.split()) in SENTENCE_WORDS
            if answer.correct and is_sentence and contains_reference(answer.candidate, answer.references):
                correct.setdefault(answer.question, set()).add(answer.candidate)
        # Sorted, so that draws do not depend on the order of the rows.
        self._correct_answers = {question: sorted(texts) for question, texts in correct.items()}

    def correct_answers(self, question: str) -> Sequence[str]:
        """Return the correct answers to a question that are sentences containing a reference."""
        return self._correct_answers.get(question, ())

    def draw_long_references(self, rng: KeyedRandom) -> Sequence[str]:
        """Draw references of other questions that are sentences; few if there are few."""
        references = self._long_references
        return [rng.choose(references, f"long {i}") for i in range(NUM_DRAWS)] if references else ()

    def similar_references(self, text: str, rng: KeyedRandom) -> Sequence[str]:
        """Draw the references of another question that resemble a text: both or neither with digits, and of similar length."""
        if not self.reference_sets:
            return ()
        samples = [rng.choose(self.reference_sets, f"other {i}") for i in range(NUM_DRAWS)]
        return min(samples, key=lambda texts: _distance(texts[0], text))

    def draw_incorrect(self, text: str, references: Sequence[str], rng: KeyedRandom) -> str | None:
        """Draw an answer to another question that resembles a text, and that the references do not make correct."""
        borrowed = self.similar_references(text, rng)
        return borrowed[0] if borrowed and not overlaps_reference(borrowed[0], references) else None


def _distance(first: str, second: str) -> tuple[bool, int]:
    has_digit = [any(map(str.isdigit, text)) for text in (first, second)]
    return has_digit[0] != has_digit[1], abs(len(first.split()) - len(second.split()))


def vary_phrasing(text: str, rng: KeyedRandom) -> str:
    """Return an answer as it is, or in a phrase around it."""
    if len(text.split()) > MAX_SHORT_WORDS or rng.bernoulli(0.5, "bare"):
        return text
    return rng.choose(PHRASES["answer_frames"], "phrase").format(text)


def contains_reference(text: str, references: Iterable[str]) -> bool:
    """Return whether a text contains one of the references word for word."""
    tokens = normalize_words(text)
    return any(contains(normalize_words(reference), tokens) for reference in references)


def overlaps_reference(text: str, references: Iterable[str]) -> bool:
    """Return whether a text has a third or more of a reference's words, so that it may not be incorrect."""
    tokens = set(normalize_words(text))
    return any(
        sum(word in tokens for word in reference) >= len(reference) / 3
        for reference in map(normalize_words, references)
        if reference
    )
