"""Remarks of an answer about what is not the answer: "Paris (not Lyon).", "Unlike Lyon, …", "Lyon would be wrong."

Without them, the answer says the same. With them, a rule finds two answers, and an encoder the words of a wrong one.
"""

import re
from collections.abc import Sequence
from functools import cache

from bert_judge.text.extraction import phrase_pattern

# In longer answers, what one sentence dismisses is one step of many; against longer references, every clause counts.
MAX_CHARACTERS, MAX_REFERENCE_CHARACTERS = 600, 100
# What is dismissed: a few words without the end of a sentence or markup; initials have full stops.
_WHAT = r"[^\s.!?;:,*>](?:[^.!?;\n*>]|\.(?=\w)|(?<=\b[A-Z])\.\s){0,60}?"
_WHAT_SHORT = r"[^\s.!?;:,*>](?:[^.!?;:,\n*>]|\.(?=\w)|(?<=\b[A-Z])\.\s){0,40}?"
_START = r"(?:(?<=[.!?;\n])\s*|(?<=\*\*)\s+|\A\s*)"
_STOP = r"(?<!\b[A-Z])[.!;]+(?=\s|\Z)"
_END = rf"(?:{_STOP}|(?=\n)|\s*\Z)"
_WORD = re.compile(r"\w")


def strip_dismissals(references: Sequence[str], text: str) -> str:
    """Remove sentences, clauses and brackets that only dismiss another answer.

    The text stays as it is if nothing else is left, or if a reference dismisses something itself ("not guilty").
    """
    if len(text) > MAX_CHARACTERS or max(map(len, references), default=0) > MAX_REFERENCE_CHARACTERS:
        return text
    if not _trigger().search(text) or any(map(_trigger().search, references)):
        return text
    shorter = _dismissal().sub(lambda match: match["before"] or "", text)
    return shorter if _WORD.search(shorter) else text


@cache
def _trigger() -> re.Pattern[str]:
    names = ("bracket", "tail", "clause", "opener", "end")
    return re.compile(phrase_pattern(*(f"dismissing_{name}" for name in names)), re.IGNORECASE)


@cache
def _dismissal() -> re.Pattern[str]:
    names = ("bracket", "tail", "clause", "opener", "end")
    bracket, tail, clause, opener, end = (phrase_pattern(f"dismissing_{name}") for name in names)
    return re.compile(
        rf"\s?\((?:and |but )?{bracket}\s[^()\n]{{1,60}}\)"
        rf"|(?P<before>{_START}){clause}\s{_WHAT},\s"
        rf"|{_START}{opener}\s{_WHAT}{_END}"
        rf"|{_START}(?:\(?[A-Za-z]\)\s)?{_WHAT}\s{end}{_END}"
        rf"|(?<=[\w*)])(?:(?:,|\s[-–—])\s(?:and\s|but\s)?{bracket}|,?\s{tail})\s{_WHAT_SHORT}(?={_STOP}|\n|\s*\Z)",
        re.IGNORECASE,
    )
