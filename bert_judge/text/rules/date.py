"""The reference is a date, a year, a decade, a century, a span of years or a time of day."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

from bert_judge.text.dates import Moment, find_moments, is_moment
from bert_judge.text.extraction import unwrap
from bert_judge.text.reading import Task, view
from bert_judge.text.rules.decision import Decision
from bert_judge.text.rules.number import HEDGE

_ASKS_DURATION = re.compile(r"\b(?:how long|duration|how many|how much|how old|what age)\b", re.IGNORECASE)
_ASKS_TIME = re.compile(
    r"\b(?:when|year|date|day|month|born|died|wann|jahr|quand|cuándo|kdy|roce|rok|когда)\b|年|日|何时", re.IGNORECASE
)
_FIELDS = ("year", "month", "day")
# What a question asks for by its name, if it asks for less than the full date.
_QUESTION_PATTERNS = {
    "year": re.compile(
        r"\b(?:which|what|the) years?\b|\bin what year|\bjahr\b|\bannée\b|\baño\b|roce|rok\b|哪一?年", re.IGNORECASE
    ),
    "month": re.compile(r"\b(?:which|what) month\b|\bin what month|\bmonat|\bmois\b|\bmes\b|\bměsíc", re.IGNORECASE),
}
# A footnote mark that has become part of a year.
_FOOTNOTE = re.compile(r"\b[12]\d{4,6}\b|[a-z]{3}\d{1,2}[.,]")
# Characters of an answer around its only date.
_MAX_SENTENCE = 300


read_date = view(lambda reference: is_moment(unwrap(reference)))


def decide_date(task: Task, reference: str, answer: str) -> Decision | None:
    """Decide if the reference is a date or a time, and the answer is one or a short text with one that is not in the question.

    If the answer is only the year or the month of the date that is asked for, which some readers accept, the module of the decision
    is `part_of_date`.
    """
    pair = _read_pair(task, reference, answer)
    same = compare(task.question, *pair, is_whole=is_moment(unwrap(answer)) is not None) if pair else None
    if pair is None or same is None or (not same[0] and _FOOTNOTE.search(answer)):
        return None
    (expected, actual), (is_same, reason) = pair, same
    module = "part_of_date" if reason.startswith("without") else "date"
    return Decision(is_same, module, f"{reason}: {actual.text} {'=' if is_same else '≠'} {expected.text}")


def is_open(task: Task, reference: str, answer: str) -> bool:
    """Return whether both name a date or a time that may be the same: a year of a century, a date without its day."""
    pair = _read_pair(task, reference, answer)
    same = compare(task.question, *pair) if pair else None
    return pair is not None and (same is None or same[1].startswith("without"))


def _read_pair(task: Task, reference: str, answer: str) -> tuple[Moment, Moment] | None:
    expected = read_date(reference)
    if expected is None or _ASKS_DURATION.search(task.question):
        return None
    if expected.text.rstrip("年").isdecimal() and reference.isascii() and not _ASKS_TIME.search(task.question):
        # A plain number, or a name: Showa 5.
        return None
    actual = is_moment(unwrap(answer)) or _only_moment(task.question, answer)
    return (expected, actual) if actual else None


def _only_moment(question: str, answer: str) -> Moment | None:
    """Return the only date or time in a short text, besides those that the question has; None if there are several."""
    if len(answer) > _MAX_SENTENCE or HEDGE.search(answer):
        return None
    question_fields = {moment.fields for moment in find_moments(question)}
    moments = [moment for moment in find_moments(answer) if moment.fields not in question_fields]
    # 2010 is said again by 11 July 2010.
    moments = [moment for moment in moments if not any(moment is not rival and _is_part(moment, rival) for rival in moments)]
    return moments[-1] if moments and len({(moment.kind, moment.fields) for moment in moments}) == 1 else None


def _is_part(first: Moment, second: Moment) -> bool:
    pairs = list(zip_longest(first.fields, second.fields))
    return first.kind == second.kind == "date" and first.fields != second.fields and all(one in (None, two) for one, two in pairs)


def compare(question: str, expected: Moment, actual: Moment, *, is_whole: bool = True) -> tuple[bool, str] | None:
    """Return whether two moments are the same, and why; None where that is open."""
    if {expected.kind, actual.kind} == {"date"}:
        return _compare_dates(question, expected, actual, is_whole)
    if expected.kind != actual.kind:
        is_year = expected.kind == "decade" and actual.kind == "date" and actual.fields == (expected.fields[0], None, None)
        return (False, "a year, not a decade") if is_whole and is_year else None
    if expected.kind == "time":
        return _compare_times(expected, actual)
    first, second = expected.fields[0] or 0, actual.fields[0] or 0
    if expected.kind == "decade" and min(first, second) < 100:
        return (first % 100 == second % 100), f"{'same' if first % 100 == second % 100 else 'another'} decade"
    is_same = expected.fields == actual.fields
    return is_same, f"{'same' if is_same else 'another'} {expected.kind if expected.kind != 'years' else 'span of years'}"


def _compare_dates(question: str, expected: Moment, actual: Moment, is_whole: bool) -> tuple[bool, str] | None:
    readings = [
        (first, second)
        for first in (expected.fields, expected.other)
        for second in (actual.fields, actual.other)
        if first is not None and second is not None and not _differing(first, second)
    ]
    if not readings:
        part = _differing(expected.fields, actual.fields)[0]
        return False, f"another {part}"
    missing = [part for part, first, second in zip(_FIELDS, *readings[0], strict=True) if first is not None and second is None]
    if not missing:
        return True, "same date"
    question_fields = [part for part, pattern in _QUESTION_PATTERNS.items() if pattern.search(question)]
    if question_fields:
        is_enough = not set(question_fields) & set(missing)
        return is_enough, f"same {question_fields[0]}" if is_enough else f"without its {' and '.join(missing)}"
    return (False, f"without its {' and '.join(missing)}") if "year" not in missing and is_whole else None


def _differing(first: Sequence[int | None], second: Sequence[int | None]) -> list[str]:
    """Return the parts that both dates have and that differ."""
    return [part for part, one, two in zip(_FIELDS, first, second, strict=True) if None not in (one, two) and one != two]


def _compare_times(expected: Moment, actual: Moment) -> tuple[bool, str] | None:
    first, second = ([field or 0 for field in moment.fields] for moment in (expected, actual))
    if first == second and (
        (expected.has_half and actual.has_half) or not (expected.has_half or actual.has_half) or first[0] == 12
    ):
        return True, "same time"
    if [first[0] % 12, *first[1:]] == [second[0] % 12, *second[1:]] and not (expected.has_half and actual.has_half):
        return None
    return False, "another time"
