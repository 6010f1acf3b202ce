"""Normalise answers for comparison.

SQuAD's normalisation (lower case, no punctuation, no articles, single spaces), extended to numbers and to every script: the
original turns 3.5 into 35, and ROUGE's tokenizer keeps ASCII only.
"""

from __future__ import annotations

import re
import unicodedata

ARTICLES = frozenset({"a", "an", "the"})
_NUMBER_WORDS = (
    "zero one two three four five six seven eight nine ten "
    "eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"
)
NUMBER_WORDS = {word: str(number) for number, word in enumerate(_NUMBER_WORDS.split())}

# NFKD splits é into e and an accent. Accents are removed after Latin letters (Beyonce, Beyoncé); elsewhere they distinguish
# letters (и, й).
_LATIN_ACCENT = re.compile(r"(?<=[a-z])[\u0300-\u036f]+")
# Arabic vowel signs and the tatweel are optional in writing.
_ARABIC_OPTIONAL = re.compile(r"[\u0640\u064b-\u0652\u0670]+")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:(?:,|\{,\}|\\[,!])\d{3})+(?!\d)")
_NUMBER = re.compile(r"(?<![\d.])(\d*)\.(\d+)(?!\.?\d)")
_MINUS = re.compile(r"(?<![\w)\]}.])[-−–](?=\.?\d)")
_FRACTION = re.compile(r"(?<=\d)\s?[/⁄]\s?(?=\d)")
# Punctuation inside one word: it's, O'Neill, U.S.
_INSIDE_WORD = re.compile(r"['’‘ʼ`´]|(?<=[^\W\d_])\.(?=[^\W\d_]\b)")
# In scripts without spaces between words, and in Hangul, whose particles are suffixes, every character is a word.
_SPACELESS = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff])"
)
# Placeholders that protect the punctuation of numbers.
_POINT, _SIGN, _SLASH = "\ue000", "\ue001", "\ue002"


class _Separators(dict[int, str]):
    """Translation table that keeps letters, marks and digits (as 0 to 9) and turns everything else into a space."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Nd":
            character = str(unicodedata.digit(character))
        self[code] = character if category[0] in "LMN" else " "
        return self[code]


_SEPARATORS = _Separators({ord(_POINT): ".", ord(_SIGN): "-", ord(_SLASH): "/"})


def normalize_words(text: str) -> list[str]:
    """Split a text into words without case, punctuation, articles and Latin accents, in linear time.

    Numbers up to twenty become digits; numbers lose thousands separators and trailing zeros. Articles are kept if there is nothing
    else, so that the answer "A" is not empty.
    """
    text = unicodedata.normalize("NFKD", text.casefold())
    if not text.isascii():
        text = _ARABIC_OPTIONAL.sub("", unicodedata.normalize("NFC", _LATIN_ACCENT.sub("", text)))
    text = _THOUSANDS.sub(lambda match: re.sub(r"\D", "", match[0]), text)
    text = _NUMBER.sub(_canonical_decimal, text)
    text = _FRACTION.sub(_SLASH, _MINUS.sub(_SIGN, text))
    text = _INSIDE_WORD.sub("", text).translate(_SEPARATORS)
    if not text.isascii():
        text = _SPACELESS.sub(r" \1 ", text)
    words = [NUMBER_WORDS.get(word, word) for word in text.split()]
    return [word for word in words if word not in ARTICLES] or words


def normalize(text: str) -> str:
    """Return the normalised words of a text, joined by single spaces."""
    return " ".join(normalize_words(text))


def _canonical_decimal(match: re.Match[str]) -> str:
    integer, fraction = match[1] or "0", match[2].rstrip("0")
    return f"{integer}{_POINT}{fraction}" if fraction else integer
