"""Stems of words: those of the package `rouge-score` for ROUGE and token F1, one suffix less for features, regular forms for rules.

`rouge_score` imports NLTK with everything in it, which takes 1 to 3 s of processor time, so only the metrics pay for it.
"""

from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rouge_score.tokenizers import DefaultTokenizer

_SUFFIXES = ("ing", "ies", "ers", "ed", "es", "er", "ly", "s")


def stem_words(words: list[str]) -> list[str]:
    return [_stem(word) for word in words]


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    """Return one stem for the forms of a regular word: time and times, battery and batteries, charge, charged and charging."""
    if len(word) < 4 or not word.isascii():
        return word
    if word.endswith("ies"):
        word = f"{word[:-3]}y"
    elif word.endswith(("ses", "xes", "zes", "ches", "shes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    word = strip_suffix(word)
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "aeioulsz":
        # running, run
        return word[:-1]
    return word[:-1] if len(word) > 3 and word.endswith("e") else word


@lru_cache(maxsize=1 << 16)
def strip_suffix(word: str) -> str:
    """Strip one suffix; a wrong stem still matches if both texts get it."""
    if not word.endswith(_SUFFIXES):
        return word
    return next((word[: -len(s)] for s in _SUFFIXES if word.endswith(s) and len(word) - len(s) >= 3), word)


def rouge_stems(words: list[str]) -> list[str]:
    """Return the stems of ASCII words above three letters, in small letters, as `rouge-score` does, and other words unchanged."""
    return [_rouge_stem(word) if len(word) > 3 and word.isascii() else word for word in words]


@lru_cache(maxsize=1 << 16)
def _rouge_stem(word: str) -> str:
    # The tokenizer drops signs, without which 3.5 would be 35.
    return rouge_tokenizer().tokenize(word)[0] if word.isalnum() else word.lower()


@cache
def rouge_tokenizer() -> "DefaultTokenizer":
    """Return the tokenizer of `rouge-score`, with its stemmer. Raises ModuleNotFoundError without the extra `rouge`."""
    from rouge_score.tokenizers import DefaultTokenizer

    return DefaultTokenizer(use_stemmer=True)
