"""The answer is a part of the reference: the part that was asked for, or less."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bert_judge.runtime.package_data import read_yaml
from bert_judge.text.extraction import last_sentence, unwrap
from bert_judge.text.normalization import normalize_words
from bert_judge.text.options import parse_options
from bert_judge.text.rules.decision import Decision

_TABLES: Mapping[str, Any] = read_yaml(Path(__file__).parents[1] / "parts.yaml")
_ASKS = {name: re.compile(rf"\b(?:{'|'.join(words)})\b", re.IGNORECASE) for name, words in _TABLES.items()}
_PLACE = re.compile(r"[A-ZÀ-Þ][\w.'’ -]+,\s(?:[A-ZÀ-Þ][\w.'’ -]+)")
_NAME = re.compile(r"[A-ZÀ-Þ][\w.'’-]+(?:\s[A-ZÀ-Þ][\w.'’-]*){1,3}")
_MAX_CHARACTERS = 60


def decide_part(question: str, reference: str, answer: str) -> Decision | None:
    """Decide if the answer is a part of a place (Paris, France) or of a name, or a single character of a longer reference."""
    if not reference or len(reference) > _MAX_CHARACTERS or len(answer) > _MAX_CHARACTERS:
        return None
    expected, given = unwrap(reference), normalize_words(unwrap(answer))
    letter = "".join(given)
    is_letter = len(letter) == 1 and letter.isalpha() and not expected.lower().endswith(letter)
    if is_letter and len(expected) > 3 and not parse_options(question):
        return Decision(False, "part", f"a single character: {answer.strip()}")
    question = last_sentence(question)
    if _PLACE.fullmatch(expected):
        return _decide_place(question, expected, given)
    if _NAME.fullmatch(expected):
        return _decide_name(question, expected, given)
    return None


def _decide_place(question: str, expected: str, given: list[str]) -> Decision | None:
    first, last = (normalize_words(part) for part in (expected.split(",")[0], expected.split(",")[-1]))
    for small, large, asked, reverse in (("town", "land", first, last), ("land", "town", last, first)):
        if _ASKS[small].search(question) and not _ASKS[large].search(question):
            if given == asked:
                return Decision(True, "part", f"the part that was asked for: {' '.join(given)}")
            if given == reverse and small == "town":
                return Decision(False, "part", f"less than was asked for: {' '.join(given)} of {expected}")
    return None


def _decide_name(question: str, expected: str, given: list[str]) -> Decision | None:
    words = normalize_words(expected)
    for asked, word in (("last_name", words[-1:]), ("first_name", words[:1])):
        if _ASKS[asked].search(question) and not _ASKS["full_name"].search(question):
            return Decision(True, "part", f"the part that was asked for: {word[0]}") if given == word else None
    if _ASKS["full_name"].search(question) and given and set(given) < set(words):
        return Decision(False, "part", f"less than was asked for: {' '.join(given)} of {expected}")
    return None
