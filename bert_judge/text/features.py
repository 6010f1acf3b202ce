"""Lexical features of an answer against its references, the input of the gradient-boosted trees (`stacker.py`).

A small encoder is unsure whether a number, name or letter occurs in an answer; these features count it.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

import numpy as np

from bert_judge.text import choices, extraction
from bert_judge.text.edits import NO_EDITS, Edits, count_edits, may_be_edited
from bert_judge.text.extraction import stated_answers, unwrap
from bert_judge.text.normalization import normalize, normalize_words, word_list
from bert_judge.text.reading import Task, Text, read_task, view
from bert_judge.text.stemming import strip_suffix
from bert_judge.text.visible_text import strip_reasoning
from bert_judge.text.word_metrics import contains

# Longer texts lose their middle, as for the encoder; this bounds the time per row.
MAX_CHARACTERS, MAX_WORDS = 4_000, 500

# These patterns start with a character class, not with a condition: the search is several times faster.
_SENTENCE_BREAK = re.compile(r"\s(?<=[.!?。！？\n].)\s*", re.DOTALL)
_YEAR = re.compile(r"[12](?<!\w.)(?:(?<=1)\d{3}|(?<=2)0\d{2})\b")
_CAPITALISED = re.compile(r"[A-Z](?<!\w.)[a-z]+")
# A word that is a symbol, or has one: "+", "c++", "-5".
_WORD_WITH_SYMBOL, _SYMBOL = re.compile(r"[^\w.]"), re.compile(r"[^\w. ]")
# In an answer with so many more words than the reference, symbols may belong to an explanation.
MAX_EXTRA_WORDS = 3
_FRACTION_WORDS = frozenset({"frac", "dfrac", "tfrac"})
# Words beside a reference that are its context.
WINDOW = 5
# Parts of a list with more words are sentences.
MAX_PART_WORDS = 6
MAX_OTHER_PARTS = 6
_PART_SEPARATOR = re.compile(r"[,;/|\n]|\s(?:or|and|vs\.?|versus)\s")
# More trigrams of a reference than these are looked up in a set.
MAX_SEARCHED_TRIGRAMS = 48
CONTEXT_FEATURES = (
    *("alternative_near", "denied_before", "denied_behind"),
    *("retractions_before", "retractions_behind", "words_before", "words_behind"),
    *("rejected_behind", "corrected_behind", "divided", "parts_beside", "unfinished"),
)


def feature_table(questions: Sequence[str], references: Sequence[Sequence[str]], candidates: Sequence[str]) -> np.ndarray:
    """Compute the features of each row, shape (n, len(FEATURE_NAMES)). Rows share the forms of their question and references."""
    table = np.empty((len(candidates), len(FEATURE_NAMES)))
    answers: dict[tuple[str, tuple[str, ...]], list[tuple[int, str]]] = {}
    for row, (question, texts, candidate) in enumerate(zip(questions, references, candidates, strict=True)):
        answers.setdefault((question, tuple(texts)), []).append((row, candidate))
    for key, rows in answers.items():
        task = _TaskFeatures(read_task(*key))
        for row, candidate in rows:
            table[row] = task.compare(candidate)
    return table


def extract_features(question: str, references: Sequence[str], candidate: str) -> list[float]:
    """Compute the features of one row, in the order of `FEATURE_NAMES`, against the reference that matches best."""
    return _TaskFeatures(read_task(question, tuple(references))).compare(candidate)


def is_truncated(references: Sequence[str], candidate: str) -> bool:
    """Return whether the features leave out the middle of a text."""
    # A word has at least one character, so short texts need not be split.
    return any(
        len(text) > MAX_CHARACTERS or (len(text) > MAX_WORDS and len(normalize_words(text)) > MAX_WORDS)
        for text in (*references, candidate)
    )


T = TypeVar("T", str, list[str], list[int])


# What the features read in a text.
_shorten = view(lambda text: truncate_middle(text, MAX_CHARACTERS))
_words = view(lambda text: truncate_middle(normalize_words(text), MAX_WORDS))
_joined = view(lambda text: " ".join(_words(text)))
_vocabulary = view(lambda text: frozenset(_words(text)))
_stems = view(lambda text: frozenset(map(strip_suffix, _vocabulary(text))))
_numbers = view(lambda text: frozenset(word for word in _vocabulary(text) if word[-1].isdigit()))
_content = view(lambda text: [word for word in _words(text) if word not in word_list("function_words")] or _words(text))
_sentences = view(lambda text: [sentence for sentence in _SENTENCE_BREAK.split(text.strip()) if sentence.strip()] or [""])
_first_sentence = view(lambda text: _sentences(text)[0])
_last_sentence = view(lambda text: _sentences(text)[-1] if len(_sentences(text)) > 1 else _first_sentence(text))


@view
def _words_by_initial(text: str) -> Mapping[str, list[str]]:
    words: dict[str, list[str]] = {}
    for word in _vocabulary(text):
        words.setdefault(word[0], []).append(word)
    return words


@view
def _symbols(text: str) -> Counter[str]:
    words = _words(text) if _SYMBOL.search(_joined(text)) else ()
    return Counter(word for word in words if _WORD_WITH_SYMBOL.search(word))


@view
def _number(text: str) -> float | None:
    """Return the value of a text that is one number, without its unit of percent."""
    words = [word for word in _words(text) if word not in _FRACTION_WORDS]
    if len(words) > 2 or not words or not all(word[-1].isdigit() for word in words):
        return None
    return _value(extraction.extract_last_number(text))


@view
def _final(text: str) -> str | None:
    """Return the final answer or box that a text states."""
    final = extraction.extract_final_answer(text) or extraction.boxed(text)
    return _shorten(unwrap(final)) if final else None


class _TaskFeatures:
    """The features of answers to one task."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.question_words = frozenset(normalize_words(task.question)[:MAX_WORDS])
        # A reference may be a whole solution: "… #### 72".
        self.references = list(map(_shorten, [*task.references, *stated_answers(task.references)]))
        self.option_words = [f" {normalize(text)} " for text in task.options.values()]
        self.correct: Collection[str] = task.choice.correct if task.options and task.choice else ()
        self.log_references = math.log(len(task.references))

    def compare(self, candidate: str) -> list[float]:
        """Return the features of an answer."""
        answer, q = _shorten(Text(strip_reasoning(candidate) or "")), self.question_words

        def agreement(reference: str) -> tuple[float, ...]:
            contained, recall, trigrams, precision = (
                _OVERLAP_FEATURES[name](reference, answer, q) for name in ("contained", "recall", "trigrams", "precision")
            )
            return _identical(reference, answer), contained, recall + 0.3 * trigrams, precision

        best = max(self.references, key=agreement) if len(self.references) > 1 else self.references[0]
        return [
            *(compute(best, answer, q) for compute in _OVERLAP_FEATURES.values()),
            *_context_features(best, answer),
            *self._extraction_features(best, answer),
            self.log_references,
            *(count_edits(best, answer) if may_be_edited(_vocabulary(best), _vocabulary(answer)) else NO_EDITS),
        ]

    def _extraction_features(self, reference: str, answer: str) -> tuple[float, ...]:
        """Compare the extracted answer with the reference: 1 equal, −1 different, 0 nothing to compare."""
        final, number, options = _final(answer), _value(extraction.extract_last_number(answer)), self.task.options
        letter = choices.extract_choice(answer, options)
        mentioned = sum(words in f" {_joined(answer)} " for words in self.option_words)
        expected = _number(reference)
        return (
            _identical(reference, answer),
            _symbol_agreement(reference, answer),
            0.0 if final is None else _sign(_words(final) == _words(reference)),
            0.0 if final is None else _sign(contains(_words(reference), _words(final))),
            0.0 if number is None or expected is None else _sign(math.isclose(number, expected)),
            0.0 if letter is None or not self.correct else _sign(letter in self.correct),
            mentioned / len(options) if options else 0.0,
            float(bool(options)),
            float(expected is not None),
        )


def truncate_middle(sequence: T, limit: int) -> T:
    """Keep the start, a quarter of the limit, and the end."""
    head = limit // 4
    return sequence if len(sequence) <= limit else sequence[:head] + sequence[len(sequence) - (limit - head) :]


def _fuzzy_recall(words_to_find: Sequence[str], text: str) -> float:
    """Return the mean similarity of words to their closest word in a text, in [0, 1]."""
    vocabulary = _vocabulary(text)
    similarities = {word: 1.0 if word in vocabulary else _best_similarity(word, text) for word in set(words_to_find)}
    return sum(map(similarities.__getitem__, words_to_find)) / len(words_to_find) if words_to_find else 0.0


def _best_similarity(word: str, text: str) -> float:
    """Return 1 for a word with the same stem, above 0.6 for a similar spelling, else 0."""
    if strip_suffix(word) in _stems(text):
        return 1.0
    if len(word) < 5:
        return 0.0
    similar = [entry for entry in _words_by_initial(text).get(word[0], ()) if abs(len(entry) - len(word)) <= 2]
    best = max([_bigram_dice(word, entry) for entry in similar], default=0.0)
    return best if best > 0.6 else 0.0


@lru_cache(maxsize=1 << 16)
def _bigram_dice(first: str, second: str) -> float:
    a, b = _ngrams(first, 2), _ngrams(second, 2)
    return 2 * len(a & b) / (len(a) + len(b))


def _ngrams(text: str, n: int) -> frozenset[str]:
    return frozenset([text[i : i + n] for i in range(max(1, len(text) - n + 1))])


def _novel_words(text: str, question: frozenset[str]) -> list[str]:
    return [word for word in _content(text) if word not in question]


def _trigram_recall(reference: str, answer: str) -> float:
    expected, words = _joined(reference), _joined(answer)
    trigrams = _ngrams(expected, 3)
    if len(trigrams) > MAX_SEARCHED_TRIGRAMS or min(len(expected), len(words)) < 3:
        return len(trigrams & _ngrams(words, 3)) / len(trigrams)
    return sum(trigram in words for trigram in trigrams) / len(trigrams)


def _number_recall(reference: str, answer: str) -> float:
    """Return the share of the reference's numbers in the answer; −1 if the reference has none."""
    return len(_numbers(reference) & _numbers(answer)) / len(_numbers(reference)) if _numbers(reference) else -1.0


def _year_match(reference: str, answer: str) -> float:
    """Compare years: 1 all agree, 0.5 some, −1 only other years, −0.5 none in the answer, 0 none in the reference."""
    reference_years = set(_YEAR.findall(reference))
    if not reference_years:
        return 0.0
    answer_years = set(_YEAR.findall(answer))
    if reference_years <= answer_years:
        return 1.0
    return 0.5 if reference_years & answer_years else (-1.0 if answer_years else -0.5)


def _other_names(reference: str, answer: str, question: frozenset[str]) -> float:
    names = {name.casefold() for name in _CAPITALISED.findall(answer)}
    return math.log1p(len(names - question - _vocabulary(reference)))


# Name → function of reference, answer and the words of the question.
_OVERLAP_FEATURES: Mapping[str, Callable[[str, str, frozenset[str]], float]] = {
    "contained": lambda r, a, q: float(f" {_joined(r)} " in f" {_joined(a)} "),
    "contained_in": lambda r, a, q: float(bool(_words(a)) and f" {_joined(a)} " in f" {_joined(r)} "),
    "same": lambda r, a, q: float(_words(r) == _words(a)),
    "run_together": lambda r, a, q: float(_joined(r).replace(" ", "") in _joined(a).replace(" ", "")),
    "recall": lambda r, a, q: _fuzzy_recall(_content(r), a),
    "novel_recall": lambda r, a, q: _fuzzy_recall(_novel_words(r, q) or _content(r), a),
    "precision": lambda r, a, q: _fuzzy_recall(_novel_words(a, q), r),
    "trigrams": lambda r, a, q: _trigram_recall(r, a),
    "first_sentence": lambda r, a, q: _fuzzy_recall(_content(r), _first_sentence(a)),
    "last_sentence": lambda r, a, q: _fuzzy_recall(_content(r), _last_sentence(a)),
    "numbers": lambda r, a, q: _number_recall(r, a),
    "other_numbers": lambda r, a, q: min(3.0, len(_numbers(a) - _numbers(r) - q)),
    "years": lambda r, a, q: _year_match(r, a),
    "other_names": _other_names,
    "reference_in_question": lambda r, a, q: sum(word in q for word in _words(r)) / max(1, len(_words(r))),
    "negations": lambda r, a, q: _count(_words(a), "negations", 4.0),
    "hedges": lambda r, a, q: _count(_words(a), "hedges", 5.0),
    "reference_length": lambda r, a, q: math.log1p(len(_words(r))),
    "answer_length": lambda r, a, q: math.log1p(len(_words(a))),
}


def _count(text: Sequence[str], name: str, limit: float = 3.0) -> float:
    """Count the words of a text that are in a word list, up to a limit."""
    return min(limit, sum(map(word_list(name).__contains__, text)))


def _context_features(reference: str, answer: str) -> tuple[float, ...]:
    """Describe the context of the reference in the answer: alternatives, retractions, position; zeros if it does not occur."""
    words, reference_words = _words(answer), frozenset(_content(reference))
    positions = [position for position, word in enumerate(words) if word in reference_words]
    if not positions:
        return (0.0,) * len(CONTEXT_FEATURES)
    before, after = words[: positions[0]], words[positions[-1] + 1 :]
    between = words[positions[0] : positions[-1]]
    return (
        _count([*before[-WINDOW:], *after[:WINDOW]], "alternatives", 1.0),
        _count(before[-WINDOW:], "retractions", 1.0),
        _count(after[:WINDOW], "retractions", 1.0),
        _count(before, "retractions"),
        _count([*between, *after], "retractions"),
        math.log1p(len(before)),
        math.log1p(len(after)),
        _count(after[:3], "rejections", 1.0),
        _count(after[: 2 * WINDOW], "corrections"),
        _count([*before, *between, *after], "case_distinctions"),
        _count_other_parts(answer, reference_words),
        _count(words[-1:], "unfinished_endings"),
    )


def _count_other_parts(text: str, reference_words: frozenset[str]) -> float:
    """Count the short parts of a list without a word of the reference, up to a limit."""
    pieces = _PART_SEPARATOR.split(text)
    # Without a separator, the words of the text are known.
    parts = map(normalize_words, pieces if len(pieces) > 1 else [text])
    unmatched = (piece for piece in parts if 0 < len(piece) <= MAX_PART_WORDS and reference_words.isdisjoint(piece))
    return min(float(MAX_OTHER_PARTS), len(list(itertools.islice(unmatched, MAX_OTHER_PARTS))))


def _identical(reference: str, answer: str) -> float:
    written = unwrap(reference)
    return float(written in (unwrap(answer), _final(answer)))


def _symbol_agreement(reference: str, answer: str) -> float:
    """Compare signs, operators and brackets: 1 the same, −1 different, 0 none in both texts; ±0.5 in a long answer."""
    final = _final(answer)
    text = answer if final is None else final
    expected, symbols = _symbols(reference), _symbols(text)
    if len(_words(text)) > len(_words(reference)) + MAX_EXTRA_WORDS + sum(expected.values()):
        return 0.5 * _sign(expected <= symbols) if expected else 0.0
    return _sign(expected == symbols) if expected or symbols else 0.0


def _value(number: str | None) -> float | None:
    """Return the value of an extracted number, such as -1.5, 3/4 or 12%; None for none, or a division by zero."""
    if number is None:
        return None
    numerator, _, denominator = number.rstrip("%").partition("/")
    return float(numerator) / float(denominator or 1) if float(denominator or 1) else None


def _sign(matches: bool | float) -> float:
    return 1.0 if matches else -1.0


FEATURE_NAMES = (
    *_OVERLAP_FEATURES,
    *CONTEXT_FEATURES,
    *("identical", "symbols", "final_answer", "final_contains", "last_number", "choice", "options_mentioned"),
    *("has_options", "numeric", "references"),
    *Edits._fields,
)
