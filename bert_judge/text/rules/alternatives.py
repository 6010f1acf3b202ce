"""An answer that is nothing but a list of candidates, one of which is the reference: whoever names everything has not answered."""

import re
from collections.abc import Sequence

from bert_judge.text.extraction import extract_final_answer, strip_markup, unwrap
from bert_judge.text.normalization import normalize
from bert_judge.text.rules.decision import Decision
from bert_judge.text.rules.members import SENTENCE_WORD, asks_several

MAX_CHARACTERS = 300
MIN_CANDIDATES = 3
# Candidates look alike: parts of a sentence between commas do not.
MAX_EXTRA_WORDS = 2
_LEAD_IN = re.compile(r"\A.{0,80}?:\s+|\A\W*(?:(?:it )?(?:could|may|might) be |(?:either|one|any) of )", re.IGNORECASE | re.DOTALL)
_SEPARATOR = re.compile(r"\s*[;|\n]\s*|,\s+(?:(?:or|and)\s)?|\s/\s|\s(?:or|and)\s", re.IGNORECASE)
_MARKS_ALTERNATIVES = re.compile(r"[;|]|\s/\s|\sor\s", re.IGNORECASE)
# Between these, only one can be meant, also where the question may have several answers.
_EXCLUDES = re.compile(r"\s/\s|\sor\s", re.IGNORECASE)
# "April 5, 2011" and "Paris, Texas" have commas within one answer.
_MONTH = re.compile(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\b", re.IGNORECASE)


def decide_alternatives(question: str, references: Sequence[str], text: str) -> Decision | None:
    """Decide against a list of at least three short candidates, of which a reference is one.

    With commas and "and" alone, the first one may be the answer and the others its place or its helpers ("Springfield, Illinois,
    USA"), so the reference must not stand first, or there must be more of them.
    """
    answer = strip_markup(extract_final_answer(text) or text).strip().rstrip(".")
    if (
        len(answer) > MAX_CHARACTERS
        or (asks_several(question) and not _EXCLUDES.search(answer))
        or any(_SEPARATOR.search(unwrap(reference)) for reference in references)
    ):
        return None
    listed = _LEAD_IN.sub("", answer)
    if SENTENCE_WORD.search(_SEPARATOR.sub(" ", listed)) or (_MONTH.search(listed) and re.search(r"\d", listed)):
        return None
    pieces = [piece.strip() for piece in _SEPARATOR.split(listed) if piece.strip()]
    parts = list(map(normalize, pieces))
    lengths = [len(part.split()) for part in parts]
    if len(set(parts)) < MIN_CANDIDATES or not all(parts) or max(lengths) - min(lengths) > MAX_EXTRA_WORDS:
        return None
    expected = {normalize(unwrap(reference)) for reference in references}
    matches, others = [part for part in parts if part in expected], [part for part in parts if part not in expected]
    if len(matches) != 1 or any(
        _has_words(part, reference) or _has_words(reference, part) for part in others for reference in expected
    ):
        return None
    if len({(_is_number(part), piece[0].isupper()) for part, piece in zip(parts, pieces, strict=True)}) > 1:
        return None
    if not _MARKS_ALTERNATIVES.search(listed) and parts[0] == matches[0] and len(parts) <= MIN_CANDIDATES:
        return None
    return Decision(False, "alternatives", f"one of {len(parts)} candidates that it names")


def _has_words(text: str, words: str) -> bool:
    return f" {words} " in f" {text} "


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()
