"""Made-up answers that are right: a reference without what a person does not miss.

Rules want the whole reference. The people who judged NQ-open accepted 82 to 97 in 100 of the answers that hold a reference only
in one of these shorter forms; a surname alone, which they accepted in 74, is not among them (docs/log.md).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from bert_judge.datasets.augmentation.rows import ASKS_FOR_A_PERSON, MONTHS, Made, Others, Row, said
from bert_judge.runtime.keyed_random import KeyedRandom

_WHEN = re.compile(r"\bwhen\b", re.IGNORECASE)
_MONTH = "|".join(MONTHS)
_DATE = re.compile(rf"(?:\d{{1,2}} (?P<month>{_MONTH})|(?P<first>{_MONTH}) \d{{1,2}}),? (?P<year>\d{{4}})")
_BRACKETS = re.compile(r"\s*\([^()]*\)")
_TITLE = re.compile(r"^(?:Dr|Mr|Mrs|Ms|Prof|Professor|Sir|President)\.? (?=[^\W\d_])")
_OPENING = re.compile(r"^(?:the|an?|in|on|at|by|from) (?=\w)", re.IGNORECASE)
# Capitalised words alone: in "Bank of America" none is to spare, nor in "New Jersey Devils".
_NAME = re.compile(
    r"(?!(?:New|North|South|Vice|United|Great|San|Los) )(?P<first>[^\W\d_]+) (?:[A-Z][\w'’.-]* )+(?P<last>[A-Z][\w'’-]+)(?<!s)"
)


def shortened(row: Row, rng: KeyedRandom, others: Others) -> Made | None:
    """A reference without the day of its date, a middle name, a title, a bracket, an article, or the other of two that would do."""
    if row.options:
        return None
    forms = [form for reference in row.short_references for form in shorter(reference, row.question)]
    return Made(row.references, said(rng.choose(forms, "form"), rng), True) if forms else None


def shorter(reference: str, question: str) -> list[str]:
    """The shorter forms of a reference that answer the question, without the reference itself; maybe none."""
    ways: list[Callable[[str], Iterable[str]]] = [_less, _alternatives]
    if _WHEN.search(question):
        ways.append(_coarser)
    if ASKS_FOR_A_PERSON.search(question):
        ways.append(_name)
    # A year that the question has says nothing.
    return [form for way in ways for form in way(reference) if form and form != reference and form not in question]


def _less(text: str) -> Iterable[str]:
    return [pattern.sub("", text).strip() for pattern in (_BRACKETS, _OPENING)]


def _alternatives(text: str) -> Iterable[str]:
    parts = [part.strip() for part in text.split(" or ")]
    return parts if len(parts) == 2 else []


def _coarser(text: str) -> Iterable[str]:
    date = _DATE.fullmatch(text)
    return [f"{date['month'] or date['first']} {date['year']}", date["year"]] if date else []


def _name(text: str) -> Iterable[str]:
    bare = _TITLE.sub("", text)
    name = _NAME.fullmatch(bare)
    return [bare, f"{name['first']} {name['last']}"] if name and name["first"][0].isupper() else [bare]
