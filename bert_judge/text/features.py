"""Lexical features of an answer against its references, the input of the gradient-boosted trees (`stacker.py`).

A small encoder is unsure whether a number, name or letter occurs in an answer; these features count it. Long tables are computed
by several processes, because with early exit the features are most of the work.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, lru_cache
from operator import itemgetter
from typing import TypeVar

import joblib
import numpy as np

from bert_judge.text import choices, extraction
from bert_judge.text.extraction import stated_answers, unwrap
from bert_judge.text.normalization import normalize_words, word_list
from bert_judge.text.options import expected_choice, parse_options
from bert_judge.text.visible_text import strip_reasoning
from bert_judge.text.word_metrics import contains

# Longer texts lose their middle, as for the encoder; this bounds the time per row.
MAX_CHARACTERS, MAX_WORDS = 4_000, 500
# A process takes half a second to start and 0.1 GB, so short tables are computed in this process, and so are the first rows.
SINGLE_PROCESS_ROWS, MIN_PARALLEL_ROWS = 4_096, 256
MAX_PROCESSES = 16
# Rows differ in length, so each process gets several chunks in turn.
CHUNKS_PER_PROCESS = 4
IDLE_SECONDS = 30

_SUFFIXES = ("ing", "ies", "ers", "ed", "es", "er", "ly", "s")
_SENTENCE_BREAK = re.compile(r"(?<=[.!?。！？\n])\s+")
_YEAR = re.compile(r"\b(?:1\d{3}|20\d{2})\b")
_CAPITALISED = re.compile(r"\b[A-Z][a-z]+")
# A word that is a symbol, or has one: "+", "c++", "-5".
_SYMBOL = re.compile(r"[^\w.]")
# In an answer with so many more words than the reference, symbols may belong to an explanation.
MAX_EXTRA_WORDS = 3
_FRACTION_WORDS = frozenset({"frac", "dfrac", "tfrac"})
# Words beside a reference that are its context.
WINDOW = 5
# Parts of a list with more words are sentences.
MAX_PART_WORDS = 6
_PART_SEPARATOR = re.compile(r"[,;/|\n]|\s(?:or|and|vs\.?|versus)\s")
CONTEXT_FEATURES = (
    *("alternative_near", "denied_before", "denied_behind"),
    *("retractions_before", "retractions_behind", "words_before", "words_behind"),
    *("rejected_behind", "corrected_behind", "divided", "parts_beside", "unfinished"),
)


class FeatureExtractor:
    """Computes feature tables, long ones in several processes on at most `cores` cores."""

    def __init__(self, cores: int) -> None:
        self.processes = min(cores, MAX_PROCESSES)
        self._rows_seen = 0

    def extract(self, questions: Sequence[str], references: Sequence[Sequence[str]], candidates: Sequence[str]) -> np.ndarray:
        """See `feature_table`."""
        self._rows_seen += len(candidates)
        if self.processes == 1 or self._rows_seen <= SINGLE_PROCESS_ROWS or len(candidates) < MIN_PARALLEL_ROWS:
            return feature_table(questions, references, candidates)
        # Columns of a data frame cannot be sliced by position.
        columns = list(questions), list(references), list(candidates)
        bounds = np.linspace(0, len(candidates), self.processes * CHUNKS_PER_PROCESS + 1).astype(int).tolist()
        chunks = [[column[start:end] for column in columns] for start, end in itertools.pairwise(bounds)]
        # loky starts its processes without running the caller's script again.
        with joblib.parallel_config("loky", n_jobs=self.processes, inner_max_num_threads=1, idle_worker_timeout=IDLE_SECONDS):
            tables = joblib.Parallel(batch_size=1, pre_dispatch="all")(joblib.delayed(feature_table)(*chunk) for chunk in chunks)
        return np.concatenate(tables)


def feature_table(questions: Sequence[str], references: Sequence[Sequence[str]], candidates: Sequence[str]) -> np.ndarray:
    """Compute the features of each row, shape (n, len(FEATURE_NAMES))."""
    rows = [extract_features(*row) for row in zip(questions, references, candidates, strict=True)]
    return np.array(rows, dtype=float).reshape(len(rows), len(FEATURE_NAMES))


def extract_features(question: str, references: Sequence[str], candidate: str) -> list[float]:
    """Compute the features of one row, in the order of `FEATURE_NAMES`, against the reference that matches best."""
    answer = _Text(strip_reasoning(candidate) or "")
    question_words = frozenset(normalize_words(question)[:MAX_WORDS])
    options, expected = parse_options(question), expected_choice(question, tuple(references))
    correct = expected.correct if options and expected else frozenset()
    rows = []
    # A reference may be a whole solution: "… #### 72".
    for text in map(_Text, [*references, *stated_answers(references)]):
        row = {name: compute(text, answer, question_words) for name, compute in _OVERLAP_FEATURES.items()}
        row |= dict(zip(CONTEXT_FEATURES, _context_features(text, answer), strict=True))
        row |= _extraction_features(options, correct, text, answer)
        agreement = row["choice"], row["identical"], row["contained"], row["recall"] + 0.3 * row["trigrams"], row["precision"]
        rows.append((agreement, row))
    _, best = max(rows, key=itemgetter(0))
    return [*best.values(), math.log(len(references))]


def is_truncated(references: Sequence[str], candidate: str) -> bool:
    """Return whether the features leave out the middle of a text."""
    # A word has at least one character, so short texts need not be split.
    return any(
        len(text) > MAX_CHARACTERS or (len(text) > MAX_WORDS and len(normalize_words(text)) > MAX_WORDS)
        for text in (*references, candidate)
    )


T = TypeVar("T", str, list[str], list[int])


class _Text:
    """A text and its derived forms, computed on first use."""

    def __init__(self, text: str) -> None:
        self.text = truncate_middle(text, MAX_CHARACTERS)
        self.words = truncate_middle(normalize_words(self.text), MAX_WORDS)
        self.vocabulary = frozenset(self.words)

    @cached_property
    def stems(self) -> frozenset[str]:
        return frozenset(map(_stem, self.vocabulary))

    @cached_property
    def content(self) -> list[str]:
        function_words = word_list("function_words")
        return [word for word in self.words if word not in function_words] or self.words

    @cached_property
    def joined(self) -> str:
        return " ".join(self.words)

    @cached_property
    def numbers(self) -> frozenset[str]:
        return frozenset(word for word in self.vocabulary if word[-1].isdigit())

    @cached_property
    def symbols(self) -> Counter[str]:
        return Counter(word for word in self.words if _SYMBOL.search(word))

    @cached_property
    def number(self) -> float | None:
        """The value of a text that is one number, without its unit of percent."""
        words = [word for word in self.words if word not in _FRACTION_WORDS]
        if len(words) > 2 or not words or not all(word[-1].isdigit() for word in words):
            return None
        return _value(extraction.extract_last_number(self.text))

    @cached_property
    def final(self) -> _Text | None:
        """The final answer or box that the text states."""
        final = extraction.extract_final_answer(self.text) or extraction.boxed(self.text)
        return _Text(unwrap(final)) if final else None

    @cached_property
    def sentence_ends(self) -> tuple[_Text, _Text]:
        """The first and the last sentence."""
        sentences = [sentence for sentence in _SENTENCE_BREAK.split(self.text.strip()) if sentence.strip()] or [""]
        first = _Text(sentences[0])
        return first, _Text(sentences[-1]) if len(sentences) > 1 else first


def truncate_middle(sequence: T, limit: int) -> T:
    """Keep the start, a quarter of the limit, and the end."""
    head = limit // 4
    return sequence if len(sequence) <= limit else sequence[:head] + sequence[len(sequence) - (limit - head) :]


def _fuzzy_recall(words_to_find: Sequence[str], text: _Text) -> float:
    """Return the mean similarity of words to their closest word in a text, in [0, 1]."""
    return sum(_best_similarity(word, text) for word in words_to_find) / len(words_to_find) if words_to_find else 0.0


def _best_similarity(word: str, text: _Text) -> float:
    """Return 1 for the same word or stem, above 0.6 for a similar spelling, else 0."""
    if word in text.vocabulary or _stem(word) in text.stems:
        return 1.0
    if len(word) < 5:
        return 0.0
    similar = (entry for entry in text.vocabulary if abs(len(entry) - len(word)) <= 2 and entry[:1] == word[:1])
    best = max((_bigram_dice(word, entry) for entry in similar), default=0.0)
    return best if best > 0.6 else 0.0


@lru_cache(maxsize=1 << 16)
def _bigram_dice(first: str, second: str) -> float:
    a, b = _ngrams(first, 2), _ngrams(second, 2)
    return 2 * len(a & b) / (len(a) + len(b))


@lru_cache(maxsize=1 << 15)
def _ngrams(text: str, n: int) -> frozenset[str]:
    return frozenset(text[i : i + n] for i in range(max(1, len(text) - n + 1)))


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    """Strip one suffix; a wrong stem still matches if both texts get it."""
    return next((word[: -len(s)] for s in _SUFFIXES if word.endswith(s) and len(word) - len(s) >= 3), word)


def _novel_words(text: _Text, question: frozenset[str]) -> list[str]:
    return [word for word in text.content if word not in question]


def _trigram_recall(reference: _Text, answer: _Text) -> float:
    trigrams = _ngrams(reference.joined, 3)
    return len(trigrams & _ngrams(answer.joined, 3)) / len(trigrams)


def _number_recall(reference: _Text, answer: _Text) -> float:
    """Return the share of the reference's numbers in the answer; −1 if the reference has none."""
    return len(reference.numbers & answer.numbers) / len(reference.numbers) if reference.numbers else -1.0


def _year_match(reference: _Text, answer: _Text) -> float:
    """Compare years: 1 all agree, 0.5 some, −1 only other years, −0.5 none in the answer, 0 none in the reference."""
    reference_years, answer_years = set(_YEAR.findall(reference.text)), set(_YEAR.findall(answer.text))
    if not reference_years:
        return 0.0
    if reference_years <= answer_years:
        return 1.0
    return 0.5 if reference_years & answer_years else (-1.0 if answer_years else -0.5)


def _other_names(reference: _Text, answer: _Text, question: frozenset[str]) -> float:
    names = {name.casefold() for name in _CAPITALISED.findall(answer.text)}
    return math.log1p(len(names - question - reference.vocabulary))


# Name → function of reference, answer and the words of the question.
_OVERLAP_FEATURES: Mapping[str, Callable[[_Text, _Text, frozenset[str]], float]] = {
    "contained": lambda r, a, q: float(f" {r.joined} " in f" {a.joined} "),
    "contained_in": lambda r, a, q: float(bool(a.words) and f" {a.joined} " in f" {r.joined} "),
    "same": lambda r, a, q: float(r.words == a.words),
    "run_together": lambda r, a, q: float(r.joined.replace(" ", "") in a.joined.replace(" ", "")),
    "recall": lambda r, a, q: _fuzzy_recall(r.content, a),
    "novel_recall": lambda r, a, q: _fuzzy_recall(_novel_words(r, q) or r.content, a),
    "precision": lambda r, a, q: _fuzzy_recall(_novel_words(a, q), r),
    "trigrams": lambda r, a, q: _trigram_recall(r, a),
    "first_sentence": lambda r, a, q: _fuzzy_recall(r.content, a.sentence_ends[0]),
    "last_sentence": lambda r, a, q: _fuzzy_recall(r.content, a.sentence_ends[1]),
    "numbers": lambda r, a, q: _number_recall(r, a),
    "other_numbers": lambda r, a, q: min(3.0, len(a.numbers - r.numbers - q)),
    "years": lambda r, a, q: _year_match(r, a),
    "other_names": _other_names,
    "reference_in_question": lambda r, a, q: sum(word in q for word in r.words) / max(1, len(r.words)),
    "negations": lambda r, a, q: _count(a.words, "negations", 4.0),
    "hedges": lambda r, a, q: _count(a.words, "hedges", 5.0),
    "reference_length": lambda r, a, q: math.log1p(len(r.words)),
    "answer_length": lambda r, a, q: math.log1p(len(a.words)),
}


def _count(text: Sequence[str], name: str, limit: float = 3.0) -> float:
    """Count the words of a text that are in a word list, up to a limit."""
    vocabulary = word_list(name)
    return min(limit, sum(word in vocabulary for word in text))


def _context_features(reference: _Text, answer: _Text) -> tuple[float, ...]:
    """Describe the context of the reference in the answer: alternatives, retractions, position; zeros if it does not occur."""
    reference_words = frozenset(reference.content)
    positions = [position for position, word in enumerate(answer.words) if word in reference_words]
    if not positions:
        return (0.0,) * len(CONTEXT_FEATURES)
    before, after = answer.words[: positions[0]], answer.words[positions[-1] + 1 :]
    between = answer.words[positions[0] : positions[-1]]
    parts = [normalize_words(part) for part in _PART_SEPARATOR.split(answer.text)]
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
        min(6.0, sum(0 < len(part) <= MAX_PART_WORDS and reference_words.isdisjoint(part) for part in parts)),
        _count(answer.words[-1:], "unfinished_endings"),
    )


def _extraction_features(options: Mapping[str, str], correct: Collection[str], reference: _Text, answer: _Text) -> dict[str, float]:
    """Compare the extracted answer with the reference: 1 equal, −1 different, 0 nothing to compare."""
    final, number = answer.final, _value(extraction.extract_last_number(answer.text))
    letter = choices.extract_choice(answer.text, options)
    mentioned = sum(f" {' '.join(normalize_words(text))} " in f" {answer.joined} " for text in options.values())
    written = unwrap(reference.text)
    return {
        "identical": float(written == unwrap(answer.text) or (final is not None and written == final.text)),
        "symbols": _symbol_agreement(reference, answer),
        "final_answer": 0.0 if final is None else _sign(final.words == reference.words),
        "final_contains": 0.0 if final is None else _sign(contains(reference.words, final.words)),
        "last_number": 0.0 if number is None or reference.number is None else _sign(math.isclose(number, reference.number)),
        "choice": 0.0 if letter is None or not correct else _sign(letter in correct),
        "options_mentioned": mentioned / len(options) if options else 0.0,
        "has_options": float(bool(options)),
        "numeric": float(reference.number is not None),
    }


def _symbol_agreement(reference: _Text, answer: _Text) -> float:
    """Compare signs, operators and brackets: 1 the same, −1 different, 0 none in both texts; ±0.5 in a long answer."""
    text = answer.final or answer
    if len(text.words) > len(reference.words) + MAX_EXTRA_WORDS + sum(reference.symbols.values()):
        return 0.5 * _sign(reference.symbols <= text.symbols) if reference.symbols else 0.0
    return _sign(reference.symbols == text.symbols) if reference.symbols or text.symbols else 0.0


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
)
