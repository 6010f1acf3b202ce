"""Compare texts as written: identity up to wrapping, and the answer that a reference states."""

from __future__ import annotations

import re
from collections.abc import Iterable

from bert_judge.judges.lexical import extraction
from bert_judge.tasks.latex import find_boxes

# Pairs around a whole text; a mark at one end only is part of the answer: A*, f', ~p.
_WRAPPED = re.compile(
    r"(?P<mark>\*{1,3}|_{1,3}|`{1,3}|\$\$?|\"|')(?P<text>.+)(?P=mark)|“([^“”]+)”|‘([^‘’]+)’|«([^«»]+)»|「([^「」]+)」"
    r"|\\\((.+)\\\)|\\\[(.+)\\\]|\\(?:text|textbf|textit|textrm|mathrm|mathbf|mbox)\s*\{((?:[^{}]|\{[^{}]*\})*)\}"
    r"|<(?P<tag>b|i|em|strong|u|code|p)>(?P<marked>.+)</(?P=tag)>",
    re.DOTALL,
)
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_CURRENCY = re.compile(r"[$€£¥₹₽₩](?=\s?[-−]?\.?\d)|(?<=\d)\s?[€£¥₹₽₩]")


def unwrap(text: str) -> str:
    r"""Remove what surrounds a text: white space, quotes, bold, code, `$…$`, `\boxed{…}`, `\text{…}`, a tag, a final full stop."""
    text = " ".join(text.split())
    for _ in range(5):
        inner = text.rstrip(".,;:。").rstrip() or text
        wrapped = _WRAPPED.fullmatch(inner)
        if wrapped and not (wrapped["mark"] and wrapped["mark"] in _APOSTROPHE.sub("", wrapped["text"])):
            inner = (wrapped["text"] or wrapped["marked"] or next(filter(None, wrapped.groups()[2:]))).strip()
        elif (boxes := find_boxes(inner)) and (boxes[0].start, boxes[0].end) == (0, len(inner)):
            inner = boxes[0].content
        if not inner or inner == text:
            break
        text = inner
    return text


def is_same_text(first: str, second: str) -> bool:
    """Return whether two texts are identical up to white space and wrapping. Case and every symbol count."""
    return first.split() == second.split() or unwrap(first) == unwrap(second)


def stated_answers(references: Iterable[str]) -> list[str]:
    """Return the answers that references state which are sentences or solutions: "The answer is 5.", "… #### 72", `\\boxed{42}`."""
    return [answer for text in references if (answer := extraction.extract_reference(text)) != text]


def names_another_currency(reference: str, answer: str) -> bool:
    """Return whether both texts state amounts, in currencies of which none is common."""
    currencies = {mark.strip() for mark in _CURRENCY.findall(reference)}
    return (
        bool(currencies) and bool(others := {mark.strip() for mark in _CURRENCY.findall(answer)}) and currencies.isdisjoint(others)
    )
