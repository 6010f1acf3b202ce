"""Recognise texts in a script or language that a judge was not trained on."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from bert_judge.runtime.package_data import read_yaml

UNKNOWN_SCRIPT = "in a script that the judge was not trained on"
UNKNOWN_LANGUAGE = "in a language that the judge was not trained on"
UNREAD = "that the encoder cannot read, so exact comparison decided"
# Why a text is unfamiliar → flag of its label.
UNFAMILIAR_FLAGS = {UNKNOWN_SCRIPT: "unknown_script", UNKNOWN_LANGUAGE: "unknown_language", UNREAD: "unread"}
# Longer texts are recognised by their beginning.
MAX_CHARACTERS = 2_000
# Frequent words of another language in a text, and different ones among them.
MIN_WORDS, MIN_DISTINCT = 3, 2
# Languages in another script than the Latin one, and the first word of its characters' names in Unicode.
SCRIPTS = {"zh": "CJK"}
_WORD = re.compile(r"[^\W\d_]+")
_OPERATORS = tuple("=+*/\\^<>≤≥≈×÷_$|")
_BEFORE_SENTENCES = tuple(".!?¿¡:…\"“„«»([*#-–—'’‘")
_FORMULA = re.compile(r"\$[^$]*\$|\\[A-Za-z]+")
# An exponent or an index is no letter.
_LETTER = r"[^\W\d_²³¹⁰-ₜ]"
_SYMBOL = re.compile(rf"(?<!{_LETTER})[Α-Ωα-ω](?!{_LETTER})")


def unfamiliar_text(text: str, languages: Collection[str]) -> str | None:
    """Return why a judge cannot be trusted with a text; None for a familiar or a very short one.

    `languages`: ISO 639-1 codes of the languages that the judge was trained on, in Latin script or a script of `SCRIPTS`; empty:
    unknown.
    """
    return _unfamiliar_text(text[:MAX_CHARACTERS], tuple(languages)) if languages else None


def unfamiliar_row(question: str, references: Sequence[str], candidate: str, languages: Collection[str]) -> str | None:
    """Return why a judge cannot be trusted with a row: as a text, or as its answer or all its references are in another script."""
    if (reason := unfamiliar_text("\n".join((question, candidate, *references)), languages)) or not languages:
        return reason
    scripts = _known_scripts(tuple(languages))
    is_unknown = _is_unknown_script(candidate, scripts) or all(_is_unknown_script(reference, scripts) for reference in references)
    return UNKNOWN_SCRIPT if is_unknown else None


# The judge and the kind of an answer ask about the same text in turn.
@lru_cache(maxsize=16)
def _unfamiliar_text(text: str, languages: Sequence[str]) -> str | None:
    if _is_unknown_script(text, _known_scripts(languages)):
        return UNKNOWN_SCRIPT
    matches = [(match, _languages_by_word().get(match[0].lower(), frozenset())) for match in _WORD.finditer(text)]
    familiar = sum(not names.isdisjoint(languages) for _, names in matches)
    candidates = [(match, names) for match, names in matches if names.isdisjoint(languages) and (names or not match[0].isascii())]
    unfamiliar = [(match[0], names) for match, names in candidates if not _is_symbol(match)]
    marked = [word for word, names in unfamiliar if not names and _has_marks(word)] if set(languages) == {"en"} else []
    counts = Counter(name for _, names in unfamiliar for name in names)
    distinct = Counter(name for _, name in {(word.lower(), name) for word, names in unfamiliar for name in names})
    count, num_distinct = (max(values.values(), default=0) for values in (counts, distinct))
    # One word, however often, may be an English one, such as "war".
    if num_distinct + len(marked) < MIN_DISTINCT:
        return None
    count += len(marked)
    return UNKNOWN_LANGUAGE if not familiar or (count >= MIN_WORDS and count > 2 * familiar) else None


def _is_symbol(match: re.Match[str]) -> bool:
    """Return whether a word is a symbol, an abbreviation or a name: KE and mv of "KE = 1/2 mv^2", Na, AI, the Kim of "with Kim"."""
    text, word, start, end = match.string, match[0], match.start(), match.end()
    before, after = text[max(0, start - 3) : start], text[end : end + 2]
    in_formula = before.rstrip().endswith(_OPERATORS) or after.lstrip().startswith(_OPERATORS)
    if in_formula or before[-1:].isdigit() or after[:1].isdigit() or (word.isupper() and not text.isupper()):
        return True
    begins = not before or "\n" in before or before.rstrip().endswith(_BEFORE_SENTENCES)
    return word[0].isupper() and not begins and not text.isupper()


def _has_marks(word: str) -> bool:
    """Return whether a word has letters with marks, as English words have none, and is no name."""
    return word[0].islower() and not word.isascii() and all(_script(letter) == "LATIN" for letter in word)


@lru_cache
def _known_scripts(languages: Sequence[str]) -> frozenset[str]:
    return frozenset({"LATIN", *(SCRIPTS[language] for language in languages if language in SCRIPTS)})


def _is_unknown_script(text: str, scripts: Collection[str]) -> bool:
    """Return whether most letters outside formulas are of another script. Greek letters that stand alone are symbols."""
    if text.isascii():
        return False
    prose = _SYMBOL.sub("", _FORMULA.sub("", text))
    is_known = Counter(_script(character) in scripts for character in prose if character.isalpha())
    return is_known[False] > is_known[True]


@lru_cache(maxsize=1)
def function_words() -> frozenset[str]:
    """Return frequent small words of all languages."""
    by_language: Mapping[str, list[str]] = read_yaml(Path(__file__).with_suffix(".yaml"))
    return frozenset(word for words in by_language.values() for word in words)


@lru_cache(maxsize=1 << 14)
def _script(character: str) -> str:
    """Return the first word of a character's name; ª, º and ʰ are Latin."""
    first, *_ = unicodedata.name(character, "UNKNOWN").split()
    return "LATIN" if first in ("FEMININE", "MASCULINE", "MODIFIER") else first


@lru_cache(maxsize=1)
def _languages_by_word() -> Mapping[str, frozenset[str]]:
    by_language: Mapping[str, list[str]] = read_yaml(Path(__file__).with_suffix(".yaml"))
    return {word: frozenset(name for name, words in by_language.items() if word in words) for word in function_words()}
