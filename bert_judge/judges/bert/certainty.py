"""Which verdicts a judge is certain of: scores of a kind of answers whose verdicts were wrong in at most 10%.

The scores are selected on labelled answers that the judge was not trained on. For each kind and verdict, the answers are taken in
the order of their scores, the surest first, as long as the lower 95% bound of the share of right verdicts is at least 90% (fixed-
sequence testing; Bauer, 1991; "learn then test", Angelopoulos et al., 2021). The bound is Clopper and Pearson's for the effective
number of answers: those of one source (or to one question) err together, so they count less than as many independent ones. What
the rules leave open, and refusals of what may be a reference in other words, is never certain, and no score is selected on it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike
from rapidfuzz.fuzz import ratio

from bert_judge.encoder.checkpoint import CertainScores
from bert_judge.statistics.intervals import proportion_lower_bound
from bert_judge.text.answer_kinds import answer_kind
from bert_judge.text.dates import find_moments
from bert_judge.text.normalization import CARDINALS, normalize_words, word_list
from bert_judge.text.rules import is_open
from bert_judge.text.rules.number import HEDGE, mentions_quantity
from bert_judge.text.rules.yes_no import is_yes_or_no, read_polarity

MAX_ERROR = 0.1
# The surest answers of a kind that are tested first in a judge of a user's labels, and the step to the next test.
FIRST_ROWS, STEP_ROWS = 60, 10
# A kind with fewer rows shares the scores of `ANY_KIND`, in a judge that is trained on a user's labels.
MIN_KIND_ROWS = 150
# In place of a kind: for kinds of answers without scores of their own.
ANY_KIND = "any"
# Of answers with so few words, 52% of the refusals that are spelled like a reference, and 80% of what is accepted without a word of
# it, are right.
MAX_SHORT_WORDS, MIN_SIMILARITY = 8, 60
_SIGN = re.compile(r"(?<![\w)])[-−–+±~¬!](?=[\w(\\])|[<>≤≥=^*√|]")
_SEVERAL = re.compile(r"\b(?:and|or)\b|[,;/&]")
# Words that may turn a sentence of so many words into the opposite.
MAX_SENTENCE_WORDS = 25
_CONTRAST = re.compile(
    r"\b(?:while|whereas|but|although|though|unlike|instead|rather|after|before|until|lost|not|never|than|however|nor|without)\b"
    r"|n['’]t\b",
    re.IGNORECASE,
)
_ALTERNATIVES = re.compile(r"([\w'-]+),? or (?:an? |the )?([\w'-]+)", re.IGNORECASE)
_NAME = re.compile(r"[A-Z][\w'-]+")
_ASKS_AGENT = re.compile(r"\s*(?:who|which|what)\b(?!\s+(?:is|was|are|were|did|does|do)\b)", re.IGNORECASE)
_IS_OR_BY = re.compile(r"\b(?:is|was|are|were|by)\b|:")
_NAME_OR_NUMBER = re.compile(r"[A-Z0-9]")
# Of the refusals of short facts and names by answers with so many words and without a name or number, 80% are right.
MIN_DESCRIPTION_WORDS = 3
# Formulas, initials and abbreviations: CaCO3, B/L, FS, OS.
_NOTATION = re.compile(r"[a-z]?[A-Z][\w/.+-]*[A-Z\d][\w/.+-]*|[A-Z]/[\w/]+|[a-z](?:\.[a-z])+")
_WORD = re.compile(r"[a-zà-ÿ]{3,}")
# Letters at the beginning of two words that are forms of one.
MIN_STEM = 5
_SHORT_DATE = re.compile(r"\d[/.]\d|['’]\d\d|\bC\.?\s?\d")
_SPOKEN = {*CARDINALS, "in", "at", "oh", "o", "and", "hundred", "thousand", "point", "half", "past"}
_LETTERS = re.compile(r"[^\W_]+")
_ABBREVIATION = re.compile(r"(?=(?:.*[A-Z]){2})[A-Za-z]{2,6}")


def fit_certain_scores(
    kinds: Sequence[str],
    scores: ArrayLike,
    labels: ArrayLike,
    clusters: ArrayLike,
    threshold: float = 0.5,
    first_rows: int = FIRST_ROWS,
) -> dict[str, CertainScores]:
    """Select the scores per kind whose verdicts are certain.

    Args:
        kinds: of the answers (`text.answer_kinds.KINDS`), shape (n,).
        scores: in [0, 1], of answers that the judge was not trained on, shape (n,).
        labels: at least 0.5 for a correct answer, shape (n,).
        clusters: answers with equal values may err together, such as those of a source, shape (n,).
        threshold: lowest score of a correct answer.
        first_rows: the surest answers of a kind and verdict, which are tested first; of few, two wrong labels end the selection.

    Returns:
        Kind → scores, for the kinds that occur; without certain verdicts both are None.
    """
    kind, score, groups = np.asarray(kinds, object), np.asarray(scores, float), np.asarray(clusters, object)
    is_correct = np.asarray(labels, float) >= 0.5
    certain = {}
    for name in dict.fromkeys(kind.tolist()):
        low, high = (kind == name) & (score < threshold), (kind == name) & (score >= threshold)
        certain[name] = CertainScores(
            _last_certain(-score[low], ~is_correct[low], groups[low], -1, first_rows),
            _last_certain(score[high], is_correct[high], groups[high], 1, first_rows),
        )
    return certain


def fit_own_certain_scores(
    texts: Iterable[tuple[str, Sequence[str], str]],
    scores: ArrayLike,
    labels: ArrayLike,
    questions: Sequence[str],
    threshold: float,
) -> dict[str, CertainScores]:
    """Select the scores on the held-out rows of a training: per kind with enough of them, and over all rows as `ANY_KIND`.

    Args:
        texts: question, references and answer of each row, of length n; the other arguments as `fit_certain_scores`.
        questions: rows with equal ones may err together, shape (n,).
    """
    rows = list(texts)
    kinds = [answer_kind(*row) for row in rows]
    counts = Counter(kinds)
    score = np.asarray(scores, float)
    pairs = zip(kinds, rows, score >= threshold, strict=True)
    kept = np.flatnonzero([not is_doubtful(kind, *row, is_correct=is_correct) for kind, row, is_correct in pairs])
    columns = score[kept], np.asarray(labels, float)[kept], np.asarray(questions, object)[kept], threshold
    by_kind = fit_certain_scores([kinds[row] for row in kept], *columns)
    pooled = fit_certain_scores([ANY_KIND] * len(kept), *columns)
    return {kind: value for kind, value in by_kind.items() if counts[kind] >= MIN_KIND_ROWS} | pooled


def _last_certain(sureness: np.ndarray, right: np.ndarray, clusters: np.ndarray, sign: int, first_rows: int) -> float | None:
    """Return `sign` times the lowest sureness down to which the verdicts are certain; None if no verdict is."""
    order = np.argsort(-sureness, kind="stable")
    lowest = None
    for size in [*range(first_rows, len(order), STEP_ROWS), len(order)] if len(order) >= first_rows else []:
        rows = order[:size]
        # Equal scores have the same verdict.
        rows = order[: np.searchsorted(-sureness[order], -sureness[rows[-1]], side="right")]
        _, bound = proportion_lower_bound(right[rows], clusters[rows])
        if bound < 1 - MAX_ERROR:
            break
        lowest = sign * float(sureness[rows[-1]])
    return lowest


def is_doubtful(kind: str, question: str, references: Sequence[str], candidate: str, *, is_correct: bool) -> bool:
    """Return whether a verdict is never certain, whatever its score.

    That is a number or a date that the rules leave open (18.02 for 18.015); an accepted short answer that lacks a word of the
    reference (Manchester City for Manchester United) or has a sign, a bound or one more name (-cos x for cos x, fewer than 100 for
    100); and the refusal of an answer that has all words of a reference, or the last one of a name ("Lister, the British surgeon"),
    that is spelled like it (Kiev for Kyiv), abbreviates it (HCl), has another notation or form of the word (CaCO3, 03/2011,
    Panamanian), or describes what it could name ("the red planet").
    """
    if is_open(question, references, candidate):
        return True
    is_short = len(candidate.split()) <= MAX_SHORT_WORDS
    if not is_correct:
        says_neither = any(is_yes_or_no(text.partition(",")[0]) for text in references) and read_polarity(candidate) is None
        describes = kind in ("short facts", "names") and _describes(candidate)
        is_alike = is_short and any(_is_spelled_alike(text, candidate) for text in references)
        return says_neither or describes or is_alike or _has_reference(kind, references, candidate)
    if len(candidate.split()) <= MAX_SENTENCE_WORDS and _may_turn(question, references, candidate):
        return True
    return is_short and not any(_says_the_same(kind, text, candidate, is_only=len(references) == 1) for text in references)


def _may_turn(question: str, references: Sequence[str], candidate: str) -> bool:
    """Return whether a sentence that has the reference may say the opposite: it compares, contrasts, or begins with what is asked
    about ("Flamsteed succeeded Halley" to "Who succeeded Flamsteed?")."""
    if _CONTRAST.search(candidate) and not any(map(_CONTRAST.search, references)):
        return True
    words = set(normalize_words(candidate))
    if any(words.issuperset(normalize_words(" ".join(pair))) for pair in _ALTERNATIVES.findall(question)):
        return True
    text = candidate.casefold()
    places = [text.find(reference.casefold()) for reference in references if reference.casefold() in text]
    names = [text.find(name.casefold()) for name in _NAME.findall(question)[1:]]
    between = [text[name:place] for place in places for name in names if 0 <= name < place]
    return bool(between) and _ASKS_AGENT.match(question) is not None and not any(map(_IS_OR_BY.search, between))


def _says_the_same(kind: str, reference: str, candidate: str, *, is_only: bool) -> bool:
    words = word_list("function_words").union(normalize_words(candidate))
    marks = [_SIGN, HEDGE, *([_SEVERAL] if kind == "names" and is_only else [])]
    return words.issuperset(normalize_words(reference)) and all(
        len(mark.findall(candidate)) == len(mark.findall(reference)) for mark in marks
    )


def _has_reference(kind: str, references: Sequence[str], candidate: str) -> bool:
    words = set(normalize_words(candidate))
    expected = [normalize_words(text) for text in references]
    has_words = any(words.issuperset(text[-1:] if kind == "names" else text) for text in expected if text)
    return has_words or any(
        mentions_quantity(text, candidate, is_whole=False) or _abbreviates(text, candidate) or _abbreviates(candidate, text)
        for text in references
    )


def _describes(candidate: str) -> bool:
    words = candidate.split()
    return len(words) >= MIN_DESCRIPTION_WORDS and not _NAME_OR_NUMBER.search(" ".join(words[1:]))


def _is_spelled_alike(reference: str, candidate: str) -> bool:
    """Return whether both may be spellings of one thing: Kiev and Kyiv, Panama and the Panamanian flag, March 2011 and 03/2011,
    1906 and nineteen oh six, or words and a notation."""
    if ratio(reference.casefold(), candidate.casefold()) >= MIN_SIMILARITY:
        return True
    if _SHORT_DATE.search(candidate) and find_moments(reference):
        return True
    # Nineteen oh six, ten sixty-six, twelve ninety-nine: each has several readings.
    words = _LETTERS.findall(candidate.casefold())
    if words and _SPOKEN.issuperset(words) and any(map(str.isdigit, reference)):
        return True
    if any(_is_notation(short) and _WORD.search(long) for short, long in ((reference, candidate), (candidate, reference))):
        return True
    stems = {word[:MIN_STEM] for word in normalize_words(reference) if len(word) >= MIN_STEM}
    return not stems.isdisjoint(word[:MIN_STEM] for word in normalize_words(candidate))


def _is_notation(text: str) -> bool:
    return all(_NOTATION.fullmatch(word) for word in re.split(r"[,;\s]+", text.strip(" .")))


def _abbreviates(short: str, long: str) -> bool:
    """Return whether a text of capitals has its letters in order in a longer one (HCl), or a text its initials (the JWST)."""
    initials = "".join(re.findall(r"\b[A-Z]", long))
    if len(initials) > 2 and re.search(rf"\b{initials}\b", short):
        return True
    short, long = short.strip(" ."), long.strip().casefold()
    if not _ABBREVIATION.fullmatch(short) or len(long) <= 2 * len(short) or long[0] != short[0].casefold():
        return False
    letters = iter(long)
    return all(letter in letters for letter in short.casefold())


def is_certain(certain_scores: Mapping[str, CertainScores], kind: str, score: float, *, is_correct: bool) -> bool | None:
    """Return whether a verdict is certain; None if that was not measured."""
    if not certain_scores:
        return None
    scores = certain_scores.get(kind) or certain_scores.get(ANY_KIND) or CertainScores()
    if is_correct:
        return scores.high is not None and score >= scores.high
    return scores.low is not None and score <= scores.low
