"""What a person sees of a text: a judge that reads more, or other letters, can be led astray by what nobody sees.

A text of ordinary letters is left as it is, but for spaces that markup took.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from bert_judge.runtime.errors import InputError

# Zero-width and direction marks, soft hyphens, fillers, variation selectors and the tags that repeat ASCII unseen.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
# Joiners shape letters of many scripts; beside a Latin letter or a digit they do nothing.
_JOINER = re.compile(r"[\u200c\u200d]+(?=[ -~\u00c0-\u024f]|$)|(?<=[ -~\u00c0-\u024f])[\u200c\u200d]+")
_LINE_COMMENT = re.compile(r"^\[[^\]\n]*\]:[ \t]*(?:#|<>)[ \t]*\([^\n]*\)[ \t]*$", re.MULTILINE)
_MARKUP_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20, 0x2800: 0x20}
# Cyrillic and Greek letters with a Latin twin, after Unicode's list of confusables (UTS 39).
_TWINS = dict(
    zip(
        "аеорсухіјѕԁһԛԝӏАВЕКМНОРСТУХІЈЅԌԚԜο\u03bdιΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϳ",
        "aeopcyxijsdhqwlABEKMHOPCTYXIJSGQWovιABEZHIKMNOPTYXCj",
        strict=True,
    )
)
_TWIN_WORD = re.compile(rf"(?<!\w)(?:[A-Za-z{''.join(_TWINS)}]|(?<=\w)['’-](?=\w))+(?!\w)")
_TWIN_LETTERS = str.maketrans(_TWINS)
_CONTENT = frozenset("LNS")
# Where a link or bold letters were taken out, the space beside them is often gone too: "byMichael Buffer", "of27 episodes".
_AFTER_SMALL_WORD = re.compile(
    r"(?<![^\W_])(as|at|and|are|by|called|for|from|in|is|named|of|on|or|the|to|was|were|with)(?=[A-Z][a-z]|[0-9])"
)
# … and where footnotes were: "born in Munich1."
_BEFORE_FOOTNOTE = re.compile(r"(?<=[a-z]{3})(?=[1-9][0-9]?(?:[.,;)]?\s|[.,;)]?$))")


def seen(text: str) -> str:
    """The text without invisible characters and comments, its backspaces applied, full-width letters as ASCII; Cyrillic and
    Greek letters as their Latin twins in words that hold no other letters of those scripts; and a space where markup took one."""
    if "\b" in text:
        text = _with_backspaces(text)
    if "<!--" in text or "]:" in text:
        text = _LINE_COMMENT.sub("", _MARKUP_COMMENT.sub("", text))
    text = _BEFORE_FOOTNOTE.sub(" ", _AFTER_SMALL_WORD.sub(r"\1 ", text))
    if text.isascii():
        return text
    text = _JOINER.sub("", _INVISIBLE.sub("", text)).translate(_FULL_WIDTH)
    return _TWIN_WORD.sub(lambda word: word[0].translate(_TWIN_LETTERS), text)


def blank(text: str) -> bool:
    """Is there no letter, digit or symbol in a text: nothing, or only space, punctuation and control characters?"""
    return not any(unicodedata.category(character)[0] in _CONTENT for character in text)


def says_nothing(candidate: str, references: Iterable[str]) -> bool:
    """Is a candidate blank where an answer cannot be? Where a reference is blank itself, such as "?", it may be right."""
    return blank(candidate) and not any(reference.strip() and blank(reference) for reference in references)


def as_seen(
    questions: Sequence[str], references: Sequence[str | Sequence[str]], candidates: Sequence[str]
) -> tuple[list[list[str]], list[str]]:
    """References, as lists, and candidates as a person sees them.

    Raises:
        InputError: the lists differ in length, or a row has no reference.
    """
    if not len(questions) == len(references) == len(candidates):
        raise InputError(
            f"predict needs lists of one length; got {len(questions)} questions, {len(references)} references, "
            f"{len(candidates)} candidates"
        )
    listed = [_listed(r) for r in references]
    if empty := [i for i, r in enumerate(listed) if not r]:
        raise InputError(f"row {empty[0]} has no reference; a judge without references is another kind")
    return [[seen(text) for text in texts] for texts in listed], [seen(text) for text in candidates]


def _listed(references: str | Sequence[str]) -> Sequence[str]:
    return [references] if isinstance(references, str) else list(references)


def _with_backspaces(text: str) -> str:
    kept: list[str] = []
    for character in text:
        if character != "\b":
            kept.append(character)
        elif kept:
            kept.pop()
    return "".join(kept)
