"""Texts made comparable: what the spellings of one answer have in common.

SQuAD's normalisation (lower case, no punctuation, no articles, single spaces), made fit for numbers and for every script: the
original turns 3.5 into 35, and ROUGE's usual tokenizer, which keeps ASCII only, leaves nothing of a Chinese answer.
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

# NFKD splits é into e and an accent. After a Latin letter the accent goes (Beyonce is Beyoncé); elsewhere it tells letters apart
# (и, й).
_LATIN_ACCENT = re.compile(r"(?<=[a-z])[\u0300-\u036f]+")
# Arabic vowel signs and the stretching stroke are optional in writing.
_ARABIC_OPTIONAL = re.compile(r"[\u0640\u064b-\u0652\u0670]+")
_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:(?:,|\{,\}|\\[,!])\d{3})+(?!\d)")
_NUMBER = re.compile(r"(?<![\d.])(\d*)\.(\d+)(?!\.?\d)")
_MINUS = re.compile(r"(?<![\w)\]}.])[-−–](?=\.?\d)")
_FRACTION = re.compile(r"(?<=\d)\s?[/⁄]\s?(?=\d)")
# It's, O'Neill, U.S.: the marks stand inside one word.
_INSIDE_WORD = re.compile(r"['’‘ʼ`´]|(?<=[^\W\d_])\.(?=[^\W\d_]\b)")
# Scripts without spaces between words, and Hangul, whose particles stick to the word: every character counts as a word.
_SPACELESS = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\U00020000-\U0003ffff])"
)
# Stand-ins that carry a number's own marks past the removal of punctuation.
_POINT, _SIGN, _SLASH = "\ue000", "\ue001", "\ue002"


class _Separators(dict[int, str]):
    """Translation table: letters, marks and digits stay, digits as 0 to 9; all else becomes a space."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Nd":
            character = str(unicodedata.digit(character))
        self[code] = character if category[0] in "LMN" else " "
        return self[code]


_SEPARATORS = _Separators({ord(_POINT): ".", ord(_SIGN): "-", ord(_SLASH): "/"})


def words(text: str) -> list[str]:
    """The words of a text without case, punctuation, articles and Latin accents.

    Numbers up to twenty become digits; digits lose thousands separators and idle zeros. Articles stay when there is nothing else,
    so that the answer "A" is not empty. Works in time linear in the text.
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
    found = [NUMBER_WORDS.get(word, word) for word in text.split()]
    return [word for word in found if word not in ARTICLES] or found


def normalize(text: str) -> str:
    """`words` joined by single spaces: equal for texts that say the same in the same words."""
    return " ".join(words(text))


def _canonical_decimal(match: re.Match[str]) -> str:
    whole, fraction = match[1] or "0", match[2].rstrip("0")
    return f"{whole}{_POINT}{fraction}" if fraction else whole
