"""Stem English words as NLTK and `rouge-score` do: Porter's algorithm (1980) with NLTK's extensions.

The stems decide which words of a reference and an answer are the same. Snowball's Porter stemmer separates words that these rules
join (enjoy and enjoyment, possible and possibly), and `import nltk` takes more than a CPU second.
"""

from collections.abc import Mapping
from functools import lru_cache

_IRREGULAR = {
    **{word: word for word in ("sky", "news", "inning", "outing", "canning", "howe", "proceed", "exceed", "succeed")},
    **{"skies": "sky", "dying": "die", "lying": "lie", "tying": "tie"},
    **{"innings": "inning", "outings": "outing", "cannings": "canning"},
}
# Suffix → replacement of steps 2 to 4; the first suffix that a word ends with counts, so longer ones stand first.
_STEP_2 = {
    **{"ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "bli": "ble", "alli": "al"},
    **{"entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al"},
    **{"iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble", "fulli": "ful"},
}
_STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
_ENDINGS_OF_STEP_4 = "al ance ence er ic able ible ant ement ment ent ou ism ate iti ous ive ize"
_STEP_4 = dict.fromkeys(_ENDINGS_OF_STEP_4.split(), "")


def stem_words(words: list[str]) -> list[str]:
    """Return the stems of ASCII words above three letters, as `rouge-score` does, and other words unchanged."""
    return [_stem(word) if len(word) > 3 and word.isascii() else word for word in words]


@lru_cache(maxsize=1 << 16)
def _stem(word: str) -> str:
    word = word.lower()
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    word = _join_suffixes(_replace_y(_remove_tense(_remove_plural(word))))
    word = _remove_last_suffix(_replace_suffix(word, _STEP_3, 1))
    if word.endswith("e") and ((measure := _measure(word[:-1])) > 1 or (measure == 1 and not _is_short(word[:-1]))):
        word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


def _shape(text: str) -> str:
    """Return a text with v for vowels, y after a consonant included, and c for everything else."""
    shape = ""
    for letter in text:
        shape += "v" if letter in "aeiou" or (letter == "y" and shape.endswith("c")) else "c"
    return shape


def _measure(stem: str) -> int:
    """Count the vowels before consonants, about the syllables: 0 in tree, 1 in trees, 2 in private."""
    return _shape(stem).count("vc")


def _is_short(stem: str) -> bool:
    """Return whether a stem ends like "fil" and "hop", which lost an e before -ing."""
    shape = _shape(stem)
    return shape == "vc" or (shape.endswith("cvc") and stem[-1] not in "wxy")


def _replace_suffix(word: str, replacements: Mapping[str, str], measure: int) -> str:
    for suffix, replacement in replacements.items():
        if word.endswith(suffix):
            stem = word.removesuffix(suffix)
            return stem + replacement if _measure(stem) >= measure else word
    return word


def _remove_plural(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _remove_tense(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) else word
    stem = word.removesuffix("ed") if word.endswith("ed") else word.removesuffix("ing")
    shape = _shape(stem)
    if stem == word or "v" not in shape:
        return word
    if stem.endswith(("at", "bl", "iz")):
        return f"{stem}e"
    if stem[-2:-1] == stem[-1] and shape[-1] == "c":
        return stem if stem[-1] in "lsz" else stem[:-1]
    return f"{stem}e" if shape.count("vc") == 1 and _is_short(stem) else stem


def _replace_y(word: str) -> str:
    return f"{word[:-1]}i" if word.endswith("y") and len(word) > 2 and _shape(word[:-1]).endswith("c") else word


def _join_suffixes(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]):
        word = word[:-2]
    # The l belongs to the stem, so that short ones count too: geology.
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) else word
    return _replace_suffix(word, _STEP_2, 1)


def _remove_last_suffix(word: str) -> str:
    if word.endswith("ion"):
        return word[:-3] if word[:-3].endswith(("s", "t")) and _measure(word[:-3]) > 1 else word
    return _replace_suffix(word, _STEP_4, 2)
