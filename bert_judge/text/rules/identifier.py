"""The reference is an identifier: a code, version, address, number of a standard, or a name with a number, numeral or initials.

One more digit or letter is another one; hyphens and spaces, and the spelling of a numeral, are not.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

from bert_judge.text.dates import is_moment
from bert_judge.text.extraction import unwrap
from bert_judge.text.normalization import NUMBER_WORDS, ORDINALS, ROMAN, normalize_words, word_list
from bert_judge.text.reading import Task, view
from bert_judge.text.rules.decision import Decision
from bert_judge.text.rules.number import read_range, read_reference

# Characters of a reference or an answer.
_MAX_CHARACTERS = 80
_MAY_BE = re.compile(
    r"\d|[@#/_+♭♯§]|\b[IVXL]+\b|[A-Za-z]\.[A-Za-z]|\b[A-Z]-[A-Z]\b|\b[A-Z]\.?\s|\A[^\w\s]+\Z|\b(?:sharp|flat)\b"
    rf"|\b(?:{'|'.join(word.capitalize() for word in (*NUMBER_WORDS, *ORDINALS))})\b"
)
# In one spelling: 12 for No. 12, § 19, O+, F♯, version 1.2.
_SPELLINGS: list[tuple[re.Pattern[str], str | Callable[[re.Match[str]], str]]] = [
    (re.compile(r"\b(?:no|nr|num|number)\b\.?\s?(?=\d)|(?:[#№]|\bn[°º])\s?(?=\d)", re.IGNORECASE), ""),
    (re.compile(r"\b(?:section|sect?\.)\s?(?=\d)", re.IGNORECASE), "§"),
    (re.compile(r"(?<=\b[ABO])\s(?:rh\s)?pos(?:itive|\.)?|(?<=\bAB)\spos(?:itive|\.)?", re.IGNORECASE), "+"),
    (re.compile(r"(?<=\b[ABO])\s(?:rh\s)?neg(?:ative|\.)?|(?<=\bAB)\sneg(?:ative|\.)?", re.IGNORECASE), "-"),
    (re.compile(r"(?<=\b[A-G])[\s-]sharp\b", re.IGNORECASE), "♯"),
    (re.compile(r"(?<=\b[A-G])[\s-]flat\b", re.IGNORECASE), "♭"),
    *[
        (re.compile(rf"\b(?:the )?(?:{word}|{number}(?:st|nd|rd|th)) quarter(?: of)?\b", re.IGNORECASE), f"Q{number}")
        for number, word in enumerate(("first", "second", "third", "fourth"), start=1)
    ],
    (re.compile(r"\b(?:version|ver\.|v\.?)\s?(?=\d)", re.IGNORECASE), ""),
    (re.compile(r"#(?=[A-G](?![^\W_]))|(?<=\b[A-G])#"), "♯"),
    # B12 for "B-12" and "B twelve"; A and I may be words.
    (
        re.compile(rf"(?<=\b[B-HJ-Z])[\s-](?:(?=\d)|({'|'.join(NUMBER_WORDS)})\b(?![\s-]\w))", re.IGNORECASE),
        lambda match: str(NUMBER_WORDS[match[1].lower()]) if match[1] else "",
    ),
]
# Of an isotope: ²³⁵₉₂U.
_ATOMIC_NUMBER = re.compile(r"(?<=[⁰¹²³⁴-⁹])[₀-₉]+(?=[A-Z])")
_FORMULA = re.compile(r"[\\^=√<>*|]|^[(\[{].*[)\]}]$|\d\s?[+]\s?\d")
# Letters that a name has more than its symbol.
_MIN_NAME = 3
# Words of a name whose number may stand in any place.
_MAX_FREE_WORDS = 3
# Scripts without spaces, in which a sentence is one token.
_SPACELESS = re.compile("[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]")
_SINGLE = re.compile(r"\S+")
_CHAIN = re.compile(r"[A-Za-z](?:-[A-Za-z])+")
# No zero of a version is idle: 1.2 and 1.20.
_VERSION = re.compile(r"\d\.\d")
_NOTE = re.compile(r"[A-G][♯♭]?")
_DIGITS = re.compile(r"\+?[\d\s()./-]+")
_INITIAL = re.compile(r"[a-z]{1,3}")
_INITIALS = re.compile(r"(?:\b[A-Z]\.\s?)+(?=[A-Z][a-z])")
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)")
_STREETS = {"st": "street", "ave": "avenue", "rd": "road", "blvd": "boulevard", "ln": "lane", "str": "strasse"}
_ADDRESS = re.compile(r"\S+@\S+|\w+://\S+|(?:[\w.-]+/)+[\w.-]+|[\w-]+\.[a-z]{1,4}", re.IGNORECASE)


def decide_identifier(task: Task, reference: str, answer: str) -> Decision | None:
    """Decide if the reference is an identifier and the answer is nothing but another one, or the same."""
    if len(answer) > _MAX_CHARACTERS or not is_identifier(reference):
        return None
    first, second = unwrap(reference), unwrap(answer)
    # What stands in brackets explains the same one: Super Bowl XLII (42).
    if not (first and second) or _FORMULA.search(first) or second.startswith(f"{first} ("):
        return None
    is_version = any(_VERSION.search(text) for text in (first, second))
    if (is_same := _expand(first, second)) is not None:
        return Decision(is_same, "identifier", f"{'same' if is_same else 'another'} identifier: {second}, {first}")
    if _key(first) == _key(second) or (_order(_words(first)) == _order(_words(second)) != () and not is_version):
        return (
            Decision(True, "identifier", f"same identifier: {second} = {first}") if _is_code(first) or _has_number(first) else None
        )
    return Decision(False, "identifier", f"another identifier: {second}, {first}") if _differ(first, second) else None


@view
def is_identifier(text: str) -> bool:
    """Return whether a text may be an identifier: it has a digit, a sign, a numeral or initials, and is no quantity or date."""
    if len(text) > _MAX_CHARACTERS or not _MAY_BE.search(text):
        return False
    return not (read_reference(text) or read_range(text) or is_moment(unwrap(text)))


def _spell(text: str) -> str:
    text = unicodedata.normalize("NFKC", _ATOMIC_NUMBER.sub("", text))
    for pattern, replacement in _SPELLINGS:
        text = pattern.sub(replacement, text)
    return text.strip()


@view
def _key(text: str) -> str:
    """Return a code without hyphens and spaces, where these are optional: B-12, ISBN and telephone numbers."""
    text = _spell(text)
    if _DIGITS.fullmatch(text):
        text = re.sub(r"(?<=\.)\s+", "", text)
        digits = re.sub(r"[\s()+-]", "", text)
        return digits if len(re.sub(r"\D", "", digits)) >= 7 else text
    has_both = any(map(str.isdigit, text)) and any(map(str.isalpha, text))
    return re.sub(r"[\s-]", "", text) if has_both and not _ADDRESS.fullmatch(text) else " ".join(text.split())


@view
def _words(text: str) -> tuple[str, ...]:
    """Return the words of a name, with ordinals as numbers and the abbreviations of streets written out."""
    words = [_ORDINAL.sub(r"\1", word) for word in normalize_words(_spell(text))]
    words = [re.sub(r"(?<=[a-z]{3})str\Z", "strasse", word) for word in words]
    return tuple(words[:1] + [_STREETS.get(word, word) for word in words[1:]])


def _order(words: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words in one order if there is only one number: the Fifth Symphony, Symphony No. 5."""
    return tuple(sorted(words)) if len(words) <= _MAX_FREE_WORDS and sum(map(_has_digit, words)) == 1 else words


def _expand(first: str, second: str) -> bool | None:
    """Return whether initials with a number, WW2 or WWII, stand for a name; None for any other text."""
    words = [word for word in _words(first) if word not in word_list("function_words")]
    numbers, initials = (
        [word for word in words if _has_digit(word)],
        "".join(word[0] for word in words if not _has_digit(word)).upper(),
    )
    if len(numbers) != 1 or len(initials) < 2 or not second.startswith(initials) or " " in second.removeprefix(initials).strip():
        return None
    rest = second.removeprefix(initials).strip("- ")
    return ROMAN.get(rest, rest) == numbers[0] if rest.isalnum() else None


def _has_number(text: str) -> bool:
    return any(map(_has_digit, _words(text)))


def _is_code(text: str) -> bool:
    """Return whether a text is one token with a digit or a sign, or consists of digits or signs only."""
    text = _spell(text)
    if _SPACELESS.search(text):
        return False
    if _DIGITS.fullmatch(text) or _CHAIN.fullmatch(text) or _ADDRESS.fullmatch(text):
        return True
    is_signs = not any(map(str.isalnum, text)) and all(unicodedata.category(sign)[0] in "SMC" for sign in text)
    has_sign = any(map(str.isdigit, text)) or (len(text) < 8 and text[-1:] in "+-♯♭")
    return is_signs or bool(_SINGLE.fullmatch(text) and (has_sign or (text[:1] == "#" and len(text) > 1)))


def _differ(first: str, second: str) -> bool:
    """Return whether both texts are identifiers of one kind: codes, notes, or the same words with another number or initial."""
    one, two = _spell(first), _spell(second)
    if _is_code(first) and _is_code(second):
        return _is_alike(one, two)
    if _is_code(first) and _SINGLE.fullmatch(two) and (_NOTE.fullmatch(one) or len(two) < 8) and not two.islower():
        # CO for CO2, A for A♭.
        return one.startswith(two)
    before, after = _words(first), _words(second)
    has_two_initials = bool(_INITIALS.search(one) and _INITIALS.search(two))
    return _differ_in(before, after, _has_digit) or (has_two_initials and _differ_in(before, after, _is_initial))


def _is_alike(first: str, second: str) -> bool:
    """Return whether two codes are of one form: both addresses, both digits, both signs, or both with letters and digits."""
    letters, digits = ([re.sub(pattern, "", text) for text in (first, second)] for pattern in (r"[\W\d_]", r"\D"))
    if digits[0] == digits[1] != "" and abs(len(letters[0]) - len(letters[1])) >= _MIN_NAME:
        # U-235 may be short for uranium-235.
        return False
    if first.startswith("+") != second.startswith("+") and all(map(_DIGITS.fullmatch, (first, second))):
        # A telephone number may lack the code of its country.
        return False
    forms = [
        (bool(_ADDRESS.fullmatch(text)), bool(_DIGITS.fullmatch(text)), bool(_CHAIN.fullmatch(text)), any(map(str.isalnum, text)))
        for text in (first, second)
    ]
    return forms[0] == forms[1]


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


def _is_initial(word: str) -> bool:
    return bool(_INITIAL.fullmatch(word))


def _differ_in(first: tuple[str, ...], second: tuple[str, ...], is_mark: Callable[[str], bool]) -> bool:
    """Return whether two names have the same words besides their marks, and both have marks, but others."""
    marks = [[word for word in words if is_mark(word)] for words in (first, second)]
    names = [[word for word in words if not is_mark(word)] for words in (first, second)]
    are_same = names[0] == names[1] or (len(marks[0]) == len(marks[1]) == 1 and sorted(names[0]) == sorted(names[1]))
    # Boeing seven forty-seven, for 747, is 7 47 by words.
    is_split = len(marks[0]) == 1 < len(marks[1]) and marks[0][0] == "".join(marks[1])
    return bool(names[0]) and are_same and all(marks) and marks[0] != marks[1] and not is_split
