"""Read dates, years, decades, centuries, spans of years and times of day, in numerals and in words of several languages.

A numeral date is read in both orders where both are possible: 5/7/2023 is May 7 or July 5.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bert_judge.runtime.package_data import read_yaml
from bert_judge.text.normalization import ROMAN, read_number_words
from bert_judge.text.reading import view
from bert_judge.text.visible_text import normalize_text

_TABLES: Mapping[str, Any] = read_yaml(Path(__file__).with_name("dates.yaml"))
_MONTHS = {name: month for month, names in _TABLES["months"].items() for name in names}
# Characters of a text that are searched.
MAX_CHARACTERS = 1_000


@dataclass(frozen=True)
class Moment:
    """A date or a time that a text names.

    Attributes:
        kind: "date", "decade", "century", "years" (a span) or "time" of the day.
        fields: by kind: year, month, day (None if not given; the year of 44 BC is -44); the first year; the number of the century;
            first and last year; hour, minute, second (None if not given).
        other: the fields in the other order of day and month.
        has_half: of a time, whether the half of the day is known.
    """

    kind: str
    fields: tuple[int | None, ...]
    text: str
    start: int
    end: int
    other: tuple[int | None, ...] | None = None
    has_half: bool = True


def _any(words: Iterable[str]) -> str:
    """Return a pattern for any of these words."""
    return "|".join(
        rf"{re.escape(word)}(?![^\W_])" if word[-1].isalnum() else re.escape(word) for word in sorted(words, key=len, reverse=True)
    )


_MONTH = rf"(?<![^\W_])(?P<month>{_any(_MONTHS)})\.?"
_WEEKDAY = rf"(?:(?:{_any(_TABLES['weekdays'])})\.?,?\s+)?"
_DAY = r"(?<![\d.,:/$€£-])(?P<day>[0-3]?\d)(?:st|nd|rd|th|er|º|ª|\.)?"
_ERA = rf"(?:\s?(?:(?P<bc>{_any(_TABLES['before_christ'])})|{_any(_TABLES['anno_domini'])}))?"
_ANY_ERA = _any([*_TABLES["before_christ"], *_TABLES["anno_domini"]])
_YEAR = rf"(?P<year>[12]\d{{3}}|\d{{3}}(?=\s?(?:{_ANY_ERA})))(?![\d%]|[.,:/]\d|[-–]\d|['’]?s\b){_ERA}"
_OF = rf"(?:\s?(?:{_any(_TABLES['of'])}))?"
_CHINESE = r"(?P<year>\d{3,4})\s?年(?:\s?(?P<month>\d{1,2})\s?月(?:\s?(?P<day>\d{1,2})\s?[日号])?)?"
_HALF = _any([*_TABLES["morning"], *_TABLES["afternoon"]])
_CLOCK = _any(_TABLES["clock"])
_TO = r"(?:[-–—]|to|until|till|through|and|bis|à|a|do)"
_NOT_NUMBER = r"(?<![\d.,:/$€£%-])"
_WORD_START = r"(?<![^\W_])"
_PATTERNS = [
    ("date", rf"{_WEEKDAY}{_DAY}{_OF}\s?(?<=[\s.a-z]){_MONTH},?{_OF}(?:\s?{_YEAR})?"),
    ("date", rf"{_WEEKDAY}{_MONTH}\s(?:the\s)?{_DAY}(?!\d)(?:(?:,\s?|\s|\sof\s){_YEAR})?"),
    ("date", rf"{_MONTH},?{_OF}\s{_YEAR}"),
    ("date", r"(?<![\d./-])(?P<year>\d{4})(?P<mark>[-/.])(?P<month>\d{1,2})(?P=mark)(?P<day>\d{1,2})(?!\d|[./-]\d)"),
    ("numerals", r"(?<![\d./-])(?P<first>\d{1,2})(?P<mark>[-/.])\s?(?P<second>\d{1,2})(?P=mark)\s?(?P<year>\d{4})(?!\d|[./-]\d)"),
    ("date", _CHINESE),
    ("decade", r"(?<![\d.,$-])(?P<decade>1\d|20)?(?P<tens>\d)0['’]?s\b"),
    ("decade", rf"{_WORD_START}(?P<name>{_any(_TABLES['decades'])})"),
    ("century", rf"{_WORD_START}(?P<number>\d{{1,2}})(?:st|nd|rd|th|\.|e|º)?[\s-]{{1,2}}(?:{_any(_TABLES['century'])}){_ERA}"),
    ("years", rf"(?<![\d.,$/-])(?P<from>[12]\d{{3}})\s?{_TO}\s?(?P<to>[12]\d{{3}}|\d\d)(?![\d%]|[-–.,/]\d)"),
    (
        "worded",
        rf"{_WORD_START}(?P<part>half|quarter|\d{{1,2}})\s(?:minutes\s)?(?P<side>past|to)\s(?P<hour>1?\d)(?!\d|:)"
        rf"(?:\s(?P<half>{_HALF}))?",
    ),
    (
        "time",
        r"(?<![\d.,:-])(?P<hour>[0-2]?\d)(?P<mark>[:.h])(?P<minute>[0-5]\d)(?:(?P=mark)(?P<second>[0-5]\d))?(?![\d:])"
        rf"(?:\s?(?P<half>{_HALF})|\s(?P<clock>{_CLOCK}))?",
    ),
    (
        "time",
        rf"(?<![\d.,:$€£-])(?P<hour>1?\d|2[0-4])(?:\s?(?P<half>{_HALF})"
        rf"|\s(?:{_any(_TABLES['clock'][:3])})(?:\s(?P<later>{_HALF}))?)",
    ),
    ("named", rf"{_WORD_START}(?:(?P<noon>{_any(_TABLES['noon'])})|(?P<midnight>{_any(_TABLES['midnight'])}))"),
    ("date", rf"{_NOT_NUMBER}{_YEAR}(?!\s?[-–]\s?\d|\s?%)"),
    (
        "date",
        rf"{_NOT_NUMBER}(?P<year>\d{{1,4}})\s?"
        rf"(?:(?P<bc>{_any(_TABLES['before_christ'])})|{_any(_TABLES['anno_domini'])})",
    ),
]
_COMPILED = [(kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _PATTERNS]
_AFTERNOON = {word.lower() for word in _TABLES["afternoon"]}
_HINT_WORDS = [*_TABLES["decades"], *_TABLES["noon"], *_TABLES["midnight"], *_TABLES["century"], "past"]
_HINT = re.compile(rf"\d|{_any(_HINT_WORDS)}", re.IGNORECASE)
_ERAS = {name: (era["first"], era["last"]) for era in _TABLES["eras"] for name in era["names"]}
_ERA_YEAR = re.compile(rf"(?<![A-Za-z])({'|'.join(map(re.escape, _ERAS))})\s?(\d{{1,4}}|元|gannen)(?!\d)\s?年?", re.IGNORECASE)
# In capitals; in small letters, it is a verb.
_BUDDHIST_YEAR = re.compile(r"\b(?:BE|Buddhist (?:year|era))\s(2[3-6]\d\d)\b|\b(2[3-6]\d\d)\s(?:BE\b|B\.\s?E\.|Buddhist [Ee]ra)")
_SPAN_PREFIX = re.compile(rf"\b(?:from|between|von|de|od)\s(?=[12]\d{{3}}\s?{_TO}\s?\d)", re.IGNORECASE)
_ROMAN_CENTURY = re.compile(rf"\b([IVX]+)(?:th|e|\.)?(?=\s(?:{_any(_TABLES['century'])}))")
_IDLE = re.compile(rf"(?:\W|(?<![^\W_])(?:{_any([*_TABLES['about'], *_TABLES['weekdays']])}))*", re.IGNORECASE)


@view
def find_moments(text: str) -> tuple[Moment, ...]:
    """Return the dates and times of a text in order; of overlapping readings, the most complete."""
    text = prepare_text(text)
    if not _HINT.search(text):
        return ()
    moments: list[Moment] = []
    for kind, pattern in _COMPILED:
        for match in pattern.finditer(text):
            is_free = all(match.end() <= moment.start or moment.end <= match.start() for moment in moments)
            if is_free and (moment := _read_moment(kind, match)):
                moments.append(moment)
    return tuple(sorted(moments, key=lambda moment: moment.start))


@view
def prepare_text(text: str) -> str:
    """Write ordinals of centuries, hours in words and years of eras as numbers, and restore spaces that were lost with markup."""
    text = normalize_text(text[:MAX_CHARACTERS])
    text = _SPAN_PREFIX.sub("", _ROMAN_CENTURY.sub(lambda match: ROMAN.get(match[1], match[1]), text))
    text = _ERA_YEAR.sub(_write_era, _BUDDHIST_YEAR.sub(lambda match: f"B.E. {match[1] or match[2]}", text))
    if not any(map(str.isdigit, text)):
        words = re.findall(r"[^\W\d_]+(?:['’.][^\W\d_]+)*\.?|[^\w\s]", text.lower().replace("-", " "))
        return " ".join(read_number_words(words, {}))
    return text


def _write_era(match: re.Match[str]) -> str:
    first, last = _ERAS[match[1].lower()]
    year = first - 1 + (int(match[2]) if match[2].isdecimal() else 1)
    return f"{year}年" if first <= year <= last else match[0]


@view
def is_moment(text: str) -> Moment | None:
    """Return the only date or time of a text that consists of it, with a weekday or a preposition around it at most."""
    if len(text) > MAX_CHARACTERS // 10 or len(moments := find_moments(text)) != 1:
        return None
    prepared, moment = prepare_text(text), moments[0]
    is_whole = _IDLE.fullmatch(prepared[: moment.start]) and _IDLE.fullmatch(prepared[moment.end :])
    return moment if is_whole else None


def _read_moment(kind: str, match: re.Match[str]) -> Moment | None:
    """Return the moment of a match; None if it is no date: a 13th month, 25 o'clock."""
    groups, text, start, end = match.groupdict(), match[0].strip(), match.start(), match.end()
    if kind == "numerals":
        first, second, year = int(groups["first"]), int(groups["second"]), int(groups["year"])
        orders = [(year, month, day) for month, day in ((second, first), (first, second)) if 1 <= month <= 12 and 1 <= day <= 31]
        return Moment("date", orders[0], text, start, end, orders[1] if len(orders) > 1 else None) if orders else None
    if kind == "date":
        month = groups.get("month")
        numbers = [groups.get("year"), str(_MONTHS.get(month.lower(), month)) if month else None, groups.get("day")]
        values = tuple(int(number) if number else None for number in numbers)
        if not 1 <= (values[1] or 1) <= 12 or not 1 <= (values[2] or 1) <= 31:
            return None
        era = -1 if groups.get("bc") else 1
        return Moment("date", (values[0] and era * values[0], *values[1:]), text, start, end)
    if kind == "decade":
        if groups.get("name"):
            return Moment("decade", (_TABLES["decades"][groups["name"].lower()],), text, start, end)
        return Moment("decade", (int(f"{groups['decade'] or ''}{groups['tens']}0"),), text, start, end)
    if kind == "century":
        return Moment("century", (-int(groups["number"]) if groups["bc"] else int(groups["number"]),), text, start, end)
    if kind == "years":
        last = groups["to"] if len(groups["to"]) == 4 else groups["from"][:2] + groups["to"]
        return Moment("years", (int(groups["from"]), int(last)), text, start, end)
    if kind == "named":
        return Moment("time", (12 if groups["noon"] else 0, 0, None), text, start, end)
    return _read_time(kind, groups, text, start, end)


def _read_time(kind: str, groups: Mapping[str, str | None], text: str, start: int, end: int) -> Moment | None:
    hour, minute = int(groups["hour"] or 0), int(groups.get("minute") or 0)
    half = groups.get("half") or groups.get("later")
    if kind == "worded":
        minutes = {"half": 30, "quarter": 15}.get((groups["part"] or "").lower(), int(re.sub(r"\D", "", groups["part"] or "") or 0))
        minute = minutes if (groups["side"] or "").lower() == "past" else 60 - minutes
        hour -= (groups["side"] or "").lower() == "to"
    # 3.30 alone is a decimal.
    is_decimal = groups.get("mark") == "." and not (half or groups.get("clock"))
    if is_decimal or hour > 24 or minute > 59 or (half and not 1 <= hour <= 12):
        return None
    if half:
        hour = hour % 12 + (12 if half.lower() in _AFTERNOON else 0)
    second = int(groups["second"]) if groups.get("second") else None  # type: ignore[arg-type]
    # Without a mark of the half, hours below 13 are of either.
    is_known = bool(half) or hour >= 13 or hour == 0 or text.startswith("0")
    return Moment("time", (hour % 24, minute, second), text, start, end, has_half=is_known)
