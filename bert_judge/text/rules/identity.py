"""The answer repeats the reference."""

import re

from bert_judge.text.extraction import is_same_text, strip_markup
from bert_judge.text.normalization import normalize
from bert_judge.text.rules.decision import Decision

# Only letters: symbols and digits have rules of their own.
_WORDS = re.compile(r"[^\W\d_]{2,}(?:[\s_.'’-]+[^\W\d_]+){0,9}")
ASKS_WORDING = re.compile(r"\b(?:exact|literal|verbatim|word for word|wording|wortlaut|textuel)", re.IGNORECASE)


def decide_identical(question: str, reference: str, answer: str) -> Decision | None:
    """Decide if both texts are the same up to white space, wrapping and, of words, case and articles: **the female** and Female."""
    if is_same_text(reference, answer):
        return Decision(True, "identical", "repeats the reference")
    if len(answer) > 2 * len(reference) + 10 or ASKS_WORDING.search(question):
        return None
    texts = [strip_markup(text) for text in (reference, answer)]
    if all(map(_WORDS.fullmatch, texts)) and _fold(texts[0]) == _fold(texts[1]):
        return Decision(True, "identical", "the same words")
    return None


def _fold(text: str) -> str:
    return normalize(text.replace("_", " "))
