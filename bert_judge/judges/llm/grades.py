"""What a language model's text says about several aspects of an answer: one JSON object with a whole number for each, or nothing.

The reading is strict: what is not exactly that object is no grade, because a grade that is guessed from talk looks like any other
in the table. The last object of the judge's own words counts; fenced code around it does not matter.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from bert_judge.judges.llm import verdicts

GRADED = "grades in JSON"
NO_GRADES = "no JSON object of grades in the judge's text"

# How long an object may be, in characters, and how many places are tried: a text with more of them repeats itself.
LONGEST, PLACES = 4000, 200

# A range is lowest and highest grade.
Scale = tuple[int, int]


class Graded(NamedTuple):
    """A reading of a judge's text: the grades, or why there are none."""

    grades: dict[str, int] | None
    reason: str


def parse(text: str, scales: Mapping[str, Scale], code: str = "", candidate: str = "", finished: bool = True) -> Graded:
    """Read a judge's text.

    Args:
        text: what the judge wrote.
        scales: aspect → its lowest and highest grade.
        code: of the fence around the candidate; what the judge repeats inside such a fence is left out.
        candidate: as the judge saw it; one that holds an object of grades is left out where it is repeated without its fence.
        finished: False when the text stopped at a limit.
    """
    own = verdicts.own_words(verdicts.visible(text), code, "")
    if own is None:
        return Graded(None, verdicts.REASONING_CUT_OFF)
    if claims(candidate):
        own = own.replace(verdicts.visible(candidate).strip(), "\n")
    if not own.strip():
        return Graded(None, verdicts.SAYS_NOTHING)
    last = next(_objects(own), None)
    if last is None:
        return Graded(None, NO_GRADES if finished else verdicts.CUT_OFF)
    return _graded(last, scales)


def claims(candidate: str) -> bool:
    """Whether a candidate holds a JSON object of its own, which a judge may repeat."""
    return next(_objects(verdicts.visible(candidate)), None) is not None


def _graded(found: list[tuple[str, Any]], scales: Mapping[str, Scale]) -> Graded:
    names = [name for name, _ in found]
    if len(set(names)) < len(names):
        return Graded(None, f"the grade of {next(name for name in names if names.count(name) > 1)[:80]!r} is given twice")
    if missing := [name for name in scales if name not in names]:
        return Graded(None, f"no grade for {missing[0]!r}")
    if more := [name for name in names if name not in scales]:
        return Graded(None, f"a grade for {more[0][:80]!r}, which was not asked for")
    for name, value in found:
        low, high = scales[name]
        # True and 4.0 are numbers to Python, and no whole grade of a judge.
        if type(value) is not int or not low <= value <= high:
            return Graded(None, f"the grade of {name!r} is {str(value)[:40]!r} and no whole number from {low} to {high}")
    values = dict(found)
    return Graded({name: values[name] for name in scales}, GRADED)


def _objects(text: str) -> Iterator[list[tuple[str, Any]]]:
    """The innermost JSON objects of a text, from the end, as (key, value) pairs."""
    end = text.rfind("}")
    for _ in range(PLACES):
        start = text.rfind("{", max(0, end - LONGEST), end)
        if end < 0 or start < 0:
            return
        try:
            yield json.loads(text[start : end + 1], object_pairs_hook=list)
            end = text.rfind("}", 0, start)
        except (ValueError, RecursionError):
            end = text.rfind("}", 0, end)
