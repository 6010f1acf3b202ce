"""Normalise answers for comparison.

SQuAD's normalisation (lower case, no punctuation, no articles, single spaces), extended to numbers and to every script: the
original turns 3.5 into 35, and ROUGE's tokenizer keeps ASCII only. Punctuation is dropped; a symbol that distinguishes answers is
kept: C++ and C, x + 1 and x - 1, (2, 5) and [2, 5], p ∧ q and p ∨ q, n! and n.
"""

import itertools
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from bert_judge.runtime.package_data import read_yaml
from bert_judge.text.reading import view
from bert_judge.text.visible_text import strip_invisible

# English words of the numbers from 0 to 99, for the judges that read them and the simulated models that write them.
_SMALL_NUMBERS = (
    "zero one two three four five six seven eight nine ten "
    "eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen"
)
UNITS = tuple(_SMALL_NUMBERS.split())
TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
ARTICLES = frozenset({"a", "an", "the"})
NUMBER_WORDS = {word: str(number) for number, word in enumerate((*UNITS, "twenty"))}
_TENS = {word: 10 * tens for tens, word in enumerate(TENS) if word}
_SCALES = {"thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_SCALES |= {"千": 1000, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
_SMALL_ORDINALS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth "
    "eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
)
ORDINALS = {word: number for number, word in enumerate(_SMALL_ORDINALS.split(), 1)} | {
    f"{word[:-1]}ieth": number for word, number in _TENS.items()
}
_MONTH_NAMES = "january february march april may june july august september october november december"
# Abbreviation → name.
_MONTHS = {word: name for name in _MONTH_NAMES.split() for word in (name, name[:3])} | {"sept": "september"}
CARDINALS = {word: Decimal(number) for word, number in (NUMBER_WORDS | _TENS).items()}
_SIGN_WORDS = frozenset({"negative", "minus"})
_SPELLED = frozenset({*CARDINALS, "hundred", *ORDINALS, *_SIGN_WORDS})
_PERCENT_WORDS = frozenset({"percent", "pct", "cent"})
_PERCENT = re.compile(r"(\d) (?:percent|per cent|pct)(?!\S)")
_ORDINAL_SUFFIXES = frozenset({"st", "nd", "rd", "th"})
_ORDINAL = re.compile(r"(\d{1,2})(?:st|nd|rd|th)")
_NUMERAL = re.compile(r"\d{1,15}(?:\.\d{1,15})?")

# Control characters of one byte, which texts do not have, stand for the punctuation that is kept until the rest is gone.
_PRESERVED = ".-/+#*!'()[]{}^"
_PROTECTED = {ord(mark): 0x86 + position for position, mark in enumerate(_PRESERVED)}
_POINT, _SIGN, _SLASH, *_ = map(chr, _PROTECTED.values())
# Stands for the letter A where it is not an article; itself a letter, of no modern alphabet.
_LETTER_A = "\uab30"

# The star of a pointer (*p, **kwargs): not an operator after a number, and no later star closes it as Markdown.
POINTER = re.compile(r"\*(?<![\w)\]}*].)(?<![\d)\]}] .)\*?(?=[a-z_])(?![^*\n]*[^\s*(\[{,]\*)")
# Roman numerals below 90.
ROMAN = {
    tens + ones: str(10 * ten + number)
    for ten, tens in enumerate(("", "X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX"))
    for number, ones in enumerate(("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"))
}
# In scripts without spaces between words, and in Hangul, whose particles are suffixes, every character is a word.
_SPACELESS = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u1950-\u19df\u1a20-\u1aad\u3005-\u3007\u3041-\u30ff\u3105-\u312f\u31a0-\u31bf"
    "\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua48c\ua980-\ua9df\uaa60-\uaa7f\uac00-\ud7af\U00020000-\U0003ffff])"
)

# One spelling of the signs that the rules below look for, and Latin letters that Unicode does not decompose: Łódź is typed Lodz.
_SPELLINGS = {"−": "-", "’": "'", "‘": "'", "′": "'", "ʼ": "'", "♯": "#"}
_UNIFY = str.maketrans(_SPELLINGS | {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ı": "i", "æ": "ae", "œ": "oe"})

# One spelling of the units after numbers: km and kilometers, °C and degrees Celsius, mph and miles per hour.
_UNIT_NAMES: Mapping[str, list[str]] = read_yaml(Path(__file__).with_name("units.yaml"))
_UNIT_SYMBOLS = {form: symbol for symbol, names in _UNIT_NAMES.items() for name in names for form in (name, f"{name}s")}
_UNIT_SYMBOLS |= {symbol: symbol for symbol in _UNIT_NAMES}
# Normalisation has read a second as an ordinal.
_UNIT_SYMBOLS_AFTER_PER = _UNIT_SYMBOLS | {"2nd": "s"}
_SPEEDS = {"mph": "mi h", "kph": "km h", "kmh": "km h"}
_POWERS = {"square": "2", "sq": "2", "cubic": "3", "cu": "3"}
_UNIT_WORDS = frozenset({*_UNIT_SYMBOLS, *_SPEEDS, *_POWERS, "degree", "degrees"}) - _UNIT_NAMES.keys()
_ANY_UNIT = "|".join(sorted(_UNIT_SYMBOLS, key=len, reverse=True))
_NUMBER_WITH_UNIT = re.compile(
    rf"[0-9] (?:(?P<speed>{'|'.join(_SPEEDS)})|(?:(?P<power>{'|'.join(_POWERS)}) )?(?:degrees? )?(?P<unit>{_ANY_UNIT})"
    rf"(?: per (?P<per>{_ANY_UNIT}|2nd))?|degrees?)(?!\S)"
)


class _Separators(dict[int, str]):
    """Translation table that keeps letters, marks, digits (as 0 to 9) and symbols, and turns everything else into a space."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        category = unicodedata.category(character)
        if category == "Nd":
            self[code] = str(unicodedata.digit(character))
        elif (category == "Sm" and character != "∞") or character in "♀♂♠♡♢♣♤♥♦♧♭♮‰":
            self[code] = f" {character} "
        else:
            self[code] = character if category[0] in "LMN" or character == "∞" else " "
        return self[code]


_SEPARATORS = _Separators({code: mark for mark, code in zip(_PRESERVED, _PROTECTED.values(), strict=True)})
_SEPARATORS |= {ord(mark): f" {word} " for mark, word in zip("&×⋅∙÷⁄∕", ["and", *"***///"], strict=True)} | {ord("~"): " "}
# Characters of one byte: those that become a word, and what each of the others becomes.
_WIDENED = {chr(code): words.translate(_PROTECTED) for code in range(256) if len(words := _SEPARATORS[code]) > 1}
_BYTE_SEPARATORS = bytes(code if chr(code) in _WIDENED else ord(_SEPARATORS[code]) for code in range(256))


_PLAIN = re.compile(r"[a-z\s]*")
_ANY_SYMBOL = re.compile(r"[+#*!/^'\[{()}\]-]")
_FORMULA = re.compile(r"(?!.*(?:[^\W\d_]{3}|['\"])).*(?:[,;+=<>≤≥≠×^*]|[\x87\x88] |[\x89-\x94])", re.DOTALL)
_TYPED_OPERATORS = {"!=": "≠", "<=": "≤", ">=": "≥", "->": "→", "-->": "→", "<->": "↔", "=>": "⇒", "<=>": "⇔"}
# A power of a longer word, or of metres, is a unit (km², 10 m²) or a footnote mark.
_NOT_UNIT = r"(?<![^\W\d_]{2}.)(?<!\dm.)(?<!\d m.)"


def _write_regnal_number(match: re.Match[str]) -> str:
    number = str(ORDINALS[match["word"].lower()]) if match["word"] else match["number"]
    return next((roman for roman, digits in ROMAN.items() if digits == number and roman), match[0])


def is_pointer(match: re.Match[str]) -> bool:
    """Return whether stars before a word are not the end of bold text: "**Answer: **yes"."""
    return len(match[0]) == 1 or match.string.count("**", match.string.rfind("\n", 0, match.start()) + 1, match.end()) == 1


def _canonical_decimal(match: re.Match[str]) -> str:
    integer, fraction = match[1] or "0", match[2].rstrip("0")
    return f"{integer}{_POINT}{fraction}" if fraction else integer


def _protect(match: re.Match[str]) -> str:
    return match[0].translate(_PROTECTED)


def _protect_brackets(match: re.Match[str]) -> str:
    """Keep the brackets of a tuple, an interval or a term, but not those around a remark."""
    if not _FORMULA.match(match[1]):
        return match[0]
    return f" {match[0][0].translate(_PROTECTED)} {match[1]} {match[0][-1].translate(_PROTECTED)} "


def _between_operands(space: str) -> str:
    """Return a condition on the operator before it: both operands are numbers, single letters or brackets."""
    before = rf"(?:(?<=[)\]}}\d]{space}.)|(?<=[^\W\d_]{space}.)(?<![^\W_][^\W\d_]{space}.))"
    return rf"{before}(?={space}(?:[(\[{{\\\d]|[^\W\d_](?![^\W_])))"


def _is_foreign(text: str) -> bool:
    return not text.isascii() and not text.replace(_LETTER_A, "").isascii()


def _write_visible(text: str) -> str:
    text = strip_invisible(text).replace("´", "'")
    return re.sub(f"[{''.join(map(chr, _PROTECTED.values()))}]", "\ue000", text)


def _separate(text: str) -> str:
    """Translate by `_SEPARATORS`; texts of one byte per character, which most are, several times faster."""
    widened = text
    for mark, words in _WIDENED.items():
        widened = widened.replace(mark, words)
    try:
        return widened.encode("latin-1").translate(_BYTE_SEPARATORS).decode("latin-1")
    except UnicodeEncodeError:
        return text.translate(_SEPARATORS)


class NormalizationPass(NamedTuple):
    """A step on texts for which `condition` holds; alone, it turns the text `example` into `result`."""

    name: str
    example: str
    result: str
    apply: Callable[[str], str]
    condition: Callable[[str], object] | None = None


def _replace(pattern: str | re.Pattern[str], replacement: str | Callable[[re.Match[str]], str]) -> Callable[[str], str]:
    return partial(re.compile(pattern).sub, replacement)


# The passes run in this order; a comment says why a pass has its place. Patterns start with a character class, not with a condition
# on what is before it: the search is several times faster.
CASED_PASSES = (
    # First, as invisible characters separate what the other patterns look for. NFKD would write the accent ´ as a space.
    NormalizationPass("invisible", "O´N\u200beill", "O'Neill", _write_visible, _is_foreign),
    # Before case and punctuation are gone: A before punctuation or at the end; a capital between a word and a word in lower case
    # ("type A blood"), or in a key.
    NormalizationPass(
        "letter A",
        "a type A blood",
        f"a type {_LETTER_A} blood",
        _replace(
            r"[Aa](?!\w)(?<![\w'’.-].)(?:(?=\s*(?:$|[^\w\s:\"“‘'’(\[{$*_`\\—–-]))|(?<=[^\W_]\sA)(?=\s+[a-z(])"
            r"|(?<=A)(?=[ -](?:flat|sharp)\b| (?:major|minor)\s*(?:$|[.,;])))",
            _LETTER_A,
        ),
    ),
    NormalizationPass(
        "pointers",
        "int *p",
        "int *p",
        _replace(POINTER, lambda match: _protect(match) if is_pointer(match) else match[0]),
        re.compile(r"\*").search,
    ),
    NormalizationPass(
        "spaced initials",
        "J R R Tolkien",
        "JRR Tolkien",
        _replace(r" (?<=[A-Z] )(?<![\w'’.-][A-Z] )(?=(?:[A-Z] ){1,3}[A-Z][a-z])", ""),
        re.compile(r"[A-Z] [A-Z] ").search,
    ),
    # Before Roman numerals, which these become, and before number words, which would make "the 8th".
    NormalizationPass(
        "regnal numbers",
        "Henry the Eighth",
        "Henry VIII",
        _replace(
            rf"[Tt]he (?<=[a-z] .{{4}})"
            rf"(?:(?P<word>{'|'.join(map(str.capitalize, ORDINALS))})|(?P<number>\d{{1,2}})(?:st|nd|rd|th))"
            r"(?=\W*$|[,.;)]|\s(?:of|was|is|had|ruled|reigned|became|and)\b)",
            _write_regnal_number,
        ),
        # All ordinals have these endings.
        re.compile(r"he (?:[A-Z][a-z]+(?<=st|nd|rd|th)|\d{1,2}(?:st|nd|rd|th))").search,
    ),
    # Single capitals are numerals after three words only; vi and xi are also words.
    NormalizationPass(
        "Roman numerals",
        "World War II",
        "World War 2",
        _replace(
            r"[IVXLivx](?<!\w.)(?:(?<=[IVXL])(?:[IVXL]{1,7}|(?<=War [IV])|(?<=Type [IV])|(?<=Part [IV]))"
            r"|(?<=i)[ivx]{1,4}|(?<=v)ii{1,2}|(?<=\w v)i|(?<=x)(?!i\b)[ivx]{1,5})\b",
            lambda match: ROMAN.get(match[0].upper(), match[0]),
        ),
    ),
    # The next three before NFKD, which writes these spaces as plain ones, 2½ as 21/2 and 10² as 102.
    NormalizationPass(
        "spaces in numbers", "12\u202f000", "12000", _replace(r"[\u00a0\u2009\u202f](?<=\d.)(?=\d{3}(?!\d))", ""), _is_foreign
    ),
    NormalizationPass("mixed numbers", "2½", "2 ½", _replace(r"[¼-¾⅐-⅞](?<=\d.)", r" \g<0>"), _is_foreign),
    NormalizationPass(
        "superscripts",
        "10²",
        "10^²",
        _replace(rf"[⁰¹²³⁴-⁹⁺⁻ⁿ](?<=[\w)\]}}].){_NOT_UNIT}(?<![⁰¹²³⁴-⁹⁺⁻ⁿ].)", r"^\g<0>"),
        _is_foreign,
    ),
    NormalizationPass("case and width", "ÉCOLE２", "e\u0301cole2", lambda text: unicodedata.normalize("NFKD", text.casefold())),
    # NFKD has split é into e and an accent. Accents are removed after Latin letters; elsewhere they distinguish letters (и, й), so
    # NFC joins them. The overlay of ≠ stays.
    NormalizationPass(
        "Latin accents",
        "e\u0301cole и\u0306",
        "ecole й",
        lambda text: unicodedata.normalize("NFC", re.sub(r"(?<=[a-z])[\u0300-\u0337\u0339-\u036f]+", "", text)),
        _is_foreign,
    ),
    # Vowel signs and the tatweel are optional in writing.
    NormalizationPass("Arabic signs", "مُحَمَّد", "محمد", _replace(r"[\u0640\u064b-\u0652\u0670]+", ""), _is_foreign),
    # One spelling of the signs that the passes below look for, and Latin letters that Unicode does not decompose.
    NormalizationPass("spellings", "łodz −5", "lodz -5", lambda text: text.translate(_UNIFY), _is_foreign),
)

# Symbols that distinguish answers are protected, each before a later pass takes it for another one.
SYMBOL_PASSES = (
    # Symbols that belong to the letters before them.
    NormalizationPass(
        "suffixes",
        "C++, A+, Fe3+, F#, A-, A*, n!, f'",
        "C++, A+, Fe3+, F#, A-, A*, n!, f'",
        _replace(
            r"[-+#*!'](?:(?<=[+#])(?:(?<=[^\W\d_].)|(?<=[^\W\d_]\d.))(?<![^\W_]{4}.)\+?(?![\w+#(\[{\\])"
            r"|(?<=-)(?:(?<=[^\W\d_].)|(?<=[^\W\d_]\d.))(?<![^\W_]{3}.)(?![\w-])"
            r"|(?<=[^\W\d_]\*)(?<![^\W_]{3}.)(?<!\*[^\W\d_].)(?<!\*[^\W_]{2}.)(?![\w*])"
            r"|(?<=[^\W\d_]!)(?<![^\W_]{2}.)!*(?!\w)"
            r"|(?<=[^\W\d_]')(?<![\w'\"“][^\W\d_].)(?!(?<=n.) \w)'{0,2}(?!\w))",
            _protect,
        ),
    ),
    NormalizationPass("plus signs", "x = +5", "x = 5", _replace(r"\+(?=\.?\d)(?:(?<=[(\[,=<>:].)|(?<=[(\[,=<>:] .)|(?<!.\+))", "")),
    # km^2 is written km2 too; the other powers are operators.
    NormalizationPass("powers of units", "km^2", "km2", _replace(r"\^(?:(?<=[^\W\d_]{2}.)|(?<=\dm.)|(?<=\d m.))(?=\d)", "")),
    NormalizationPass(
        "powers", "x^2", "x ^ 2", _replace(r"\^|\*\*(?:(?<=\d..)|(?<=\d ..)) ?(?=-?\d)", f" {'^'.translate(_PROTECTED)} ")
    ),
    # In longer words these characters are markup or punctuation, and a dash between two numbers is that of a range.
    NormalizationPass(
        "operators",
        "x-1",
        "x - 1",
        _replace(
            rf"[-*/!](?:(?<=[*/])(?:{_between_operands('')}|{_between_operands(' ')})"
            rf"|(?<=-)(?:(?!(?<=\d.)\d){_between_operands('')}|(?!(?<=\d .) \d){_between_operands(' ')})"
            r"|(?<=[\d)\]}]!)!*(?!\w))",
            lambda match: f" {match[0].strip()} ".translate(_PROTECTED),
        ),
    ),
    NormalizationPass(
        "empty brackets",
        "( )",
        "()",
        _replace(r"[()\[\]{}](?<!\S.)(?:\s?[()\[\]{}])+(?!\S)", lambda match: re.sub(r"\s", "", match[0]).translate(_PROTECTED)),
    ),
    # After the operators, which tell a formula from a remark.
    NormalizationPass("brackets", "[2, 5]", " [ 2, 5 ] ", _replace(r"[(\[{]([^()\[\]{}\n]{1,80})[)\]}]", _protect_brackets)),
)


def _apply(passes: Sequence[NormalizationPass], text: str) -> str:
    for _, _, _, apply, condition in passes:
        if condition is None or condition(text):
            text = apply(text)
    return text


# What texts with more than letters and spaces need: no punctuation, and spaces around symbols.
SEPARATING_PASSES = (
    # Before decimals, so that 1,234.50 has one point.
    NormalizationPass(
        "thousands",
        "1,234,567",
        "1234567",
        _replace(
            r"(?<![\d.,])(?:\d{1,3}(?:(?:[,'’]|\{,\}|\\[,!])\d{3})+|\d{1,2}(?:,\d\d)+,\d{3}"
            r"|\d{1,3}(?: 000)+|\d{1,3}(?: \d{3}){2,})(?!\d)",
            lambda match: re.sub(r"\D", "", match[0]),
        ),
        re.compile(r"[,'’ \\{](?<=\d.)(?:\d\d|[,!]\d|,\}\d)").search,
    ),
    NormalizationPass(
        "decimals", ".50", "0.5", _replace(r"(?<![\d.])(\d*)\.(\d+)(?!\.?\d)", _canonical_decimal), re.compile(r"\.\d").search
    ),
    NormalizationPass("fractions", "1 / 2", "1/2", _replace(r"(?<=\d)\s?[/⁄]\s?(?=\d)", _SLASH), re.compile("[/⁄]").search),
    # Before signs and negations, which -> and != would become.
    NormalizationPass(
        "typed operators",
        "x != y",
        "x  ≠  y",
        _replace(r"<--?>|--?>|<=>?|>=|!=|=>", lambda match: f" {_TYPED_OPERATORS.get(match[0], match[0])} "),
        re.compile("[=>]").search,
    ),
    # The negation of a single letter.
    NormalizationPass("negations", "~p", "¬p", _replace(r"[~!](?<![\w)\]}~!].)(?=[^\W\d_](?!\w))", "¬"), re.compile("[~!]").search),
    # Not after a decimal point, which is a control character by now: 0.05 is not 0.5.
    NormalizationPass("leading zeros", "007", "7", _replace(rf"0(?<![\w.,{_POINT}].)0*(?=\d)", "")),
    NormalizationPass(
        "minus signs",
        "–5",
        "-5",
        _replace(r"[-−–](?<![\w)\]}.*-].)(?:[$€£¥]?(?=\.?\d)|(?=[(\[{√∞π]|[^\W\d_](?![^\W_]))|\\(?=[a-z]))", _SIGN),
    ),
    # Not in B2C or C2H.
    NormalizationPass(
        "units",
        "5km",
        "5 km",
        _replace(
            r"\d(?=[a-z])"
            r"(?:(?=(?:[kcmn]?m|k?g|mg|lbs?|oz|mph|kph|ft|[kmg]w|[kmg]?hz|[kmgt]b|ml|[ap]m|mins?|hrs?|secs?|million|billion)(?!\w))"
            r"|(?<![^\W\d_].)(?<![^\W\d_]\d.)(?=[cfhlvw](?!\w)))",
            r"\g<0> ",
        ),
    ),
    # After signs and units, which look for the characters that these protect or surround with spaces.
    NormalizationPass("symbols", "x-1", "x - 1", partial(_apply, SYMBOL_PASSES), _ANY_SYMBOL.search),
    # Before the points of abbreviations, by which it finds initials.
    NormalizationPass(
        "initials",
        "j. r. tolkien",
        "jr. tolkien",
        _replace(r"\.(?<=[^\W\d_]\.)(?<![^\W_][^\W\d_]\.)\s+(?=[^\W\d_](?:\.|\s*$))", ""),
    ),
    NormalizationPass(
        "marks inside words",
        "u.s. it's",
        "us. its",
        _replace(r"['’‘ʼ`´.](?:(?<!\.)(?!(?<=\d.)\d)|(?<=[^\W\d_]\.)(?=[^\W\d_]\b))", ""),
    ),
    # Nearly last: it writes the protected symbols as themselves and everything else that is no letter as a space.
    NormalizationPass("separators", "yes, & no", "yes   and  no", _separate),
    NormalizationPass("scripts without spaces", "北京", " 北  京 ", _replace(_SPACELESS, r" \1 "), _is_foreign),
)


def normalize_words(text: str) -> list[str]:
    """Split a text into words without case, punctuation, articles and Latin accents, in linear time.

    Numbers written as words or as Roman numerals become digits; numbers lose thousands separators and superfluous zeros, and the
    units after them become symbols (`units.yaml`). Symbols that distinguish answers are words, or part of one (C++). Articles and
    punctuation are kept if there is nothing else.
    """
    return list(_normalize(text))


@view
def _normalize(text: str) -> tuple[str, ...]:
    text = _apply(CASED_PASSES, text)
    words = (text if _PLAIN.fullmatch(text) else _apply(SEPARATING_PASSES, text)).split()
    if not _SPELLED.isdisjoint(words):
        words = read_number_words(words, {})
    # After number words, as the twenty-first of May has to be the 21st.
    if not _MONTHS.keys().isdisjoint(words):
        words = _normalize_days(words)
    words = write_unit_symbols(words)
    words = [word for word in words if word not in ARTICLES] or words or text.split()
    return tuple([word.replace(_LETTER_A, "a") for word in words] if _LETTER_A in text else words)


@view
def normalize(text: str) -> str:
    return " ".join(normalize_words(text))


def split_words(text: str) -> list[str]:
    """Split a text at white space, and into characters in scripts without spaces."""
    return (text if text.isascii() else _SPACELESS.sub(r" \1 ", text)).split()


def join_scales(words: list[str]) -> list[str]:
    """Multiply numbers by the scale after them: 1.5 million becomes 1500000, 1 thousand and 1 becomes 1001."""
    return words if _SCALES.keys().isdisjoint(words) else read_number_words(words, _SCALES)


def drop_percent(words: list[str]) -> list[str]:
    """Remove "percent", "per cent" and "pct" after a number, as normalisation removes %."""
    if _PERCENT_WORDS.isdisjoint(words):
        return words
    spelled = _PERCENT.sub(r"\1", " ".join(words))
    return spelled.split()


# 3 point 1 4, and a year: 19 84, in 19 84. 10 66 and 19 oh 6 may be prices, scores and times.
_SPOKEN = re.compile(r"(?:(-?\d+) )?point((?: \d)+)|(?:in )?(1[6-9]|20) ([1-9]\d)")
_MAX_SPOKEN = 8


def read_number_words(words: Sequence[str], scales: Mapping[str, int] = _SCALES) -> list[str]:
    """Replace number words by digits: twenty five, two hundred and six, minus five, twenty first (21st), three point one four."""
    starts = [
        start
        for start, (word, next_word) in enumerate(itertools.pairwise([*words, ""]))
        if word in _SPELLED or word in scales or next_word in scales
    ]
    numbers: list[str] = []
    position = 0
    for start in starts:
        if start < position:
            continue
        numbers.extend(words[position:start])
        word = words[start]
        sign = "-" if word in _SIGN_WORDS and not (numbers and numbers[-1][-1].isdigit()) else ""
        number, position = _read_number(words, start + len(sign), scales)
        if number is None or (sign and not number[-1].isdigit()):
            number, position, sign = word, start + 1, ""
        numbers.append(sign + number)
    numbers.extend(words[position:])
    # Only as the whole text.
    if (
        1 < len(numbers) <= _MAX_SPOKEN
        and not any(map(str.isdigit, "".join(words)))
        and (spoken := _SPOKEN.fullmatch(" ".join(numbers)))
    ):
        return [f"{spoken[3]}{spoken[4]}" if spoken[3] else f"{spoken[1] or 0}.{spoken[2].replace(' ', '')}"]
    return numbers


def _read_number(words: Sequence[str], position: int, scales: Mapping[str, int]) -> tuple[str | None, int]:
    """Return the number that starts at a word, in digits, and the position after it; None if there is none."""
    start = position
    total = Decimal(0)
    value: Decimal | None = None
    scale: int | None = None
    while position < len(words):
        word = words[position]
        next_word = words[position + 1] if position + 1 < len(words) else ""
        if word in scales and (scale is None or scales[word] < scale):
            scale = scales[word]
            total, value = total + (1 if value is None else value) * scale, None
        elif word == "hundred" and (value is None or value < 100):
            value = 100 * (Decimal(1) if value is None else value)
        elif (
            word == "and"
            and position > start
            and not (value or 0) % 100
            and (next_word in CARDINALS or (value is None and next_word.isdecimal()))
        ):
            pass
        elif word in ORDINALS or (word in _TENS and ORDINALS.get(next_word, 99) < 10):
            if position > start:
                break
            number = _TENS[word] + ORDINALS[next_word] if word in _TENS else ORDINALS[word]
            suffix = "th" if number in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
            return f"{number}{suffix}", position + 1 + (word in _TENS)
        elif word in CARDINALS and (value is None or (value and not value % 100)):
            value = (value or Decimal(0)) + CARDINALS[word]
            if word in _TENS and 0 < CARDINALS.get(next_word, 0) < 10:
                value, position = value + CARDINALS[next_word], position + 1
        elif value is None and _NUMERAL.fullmatch(word) and (scale is None or Decimal(word) < scale):
            value = Decimal(word)
        else:
            break
        position += 1
    return (format((total + (value or 0)).normalize(), "f"), position) if position > start else (None, start)


def _normalize_days(words: list[str]) -> list[str]:
    """Write Jan 17th, 17 Jan and the 17th of January as January 17 and 17 January."""
    days: list[str] = []
    for position, word in enumerate(words):
        before, after = days[-1:], words[position + 1 : position + 2]
        if word == "of" and before and before[0].isdecimal() and after and after[0] in _MONTHS:
            continue
        if word[-2:] in _ORDINAL_SUFFIXES and (day := _ORDINAL.fullmatch(word)):
            following = [following for following in words[position + 1 : position + 4] if following not in ("of", *ARTICLES)]
            if not _MONTHS.keys().isdisjoint([*before, *following[:1]]):
                word = day[1]
        elif word in _MONTHS and (word == "sept" or len(words) == 1 or any(near[0].isdigit() for near in (*before, *after))):
            word = _MONTHS[word]
        days.append(word)
    return days


def write_unit_symbols(words: list[str]) -> list[str]:
    """Write the units after numbers as symbols, and speeds as normalisation splits m/s and km/h.

    >>> write_unit_symbols("5 kilometers in 3 hours and 10 square meters at 60 miles per hour".split())
    ['5', 'km', 'in', '3', 'h', 'and', '10', 'm2', 'at', '60', 'mi', 'h']
    """
    if _UNIT_WORDS.isdisjoint(words):
        return words
    text = " ".join(words)
    with_symbols = _NUMBER_WITH_UNIT.sub(lambda match: f"{match[0][0]} {_unit_symbol(match)}", text)
    return with_symbols.split() if with_symbols != text else words


def _unit_symbol(match: re.Match[str]) -> str:
    """Return the symbol of the unit behind a digit; a degree alone has none, as normalisation drops °."""
    if match["speed"]:
        return _SPEEDS[match["speed"]]
    if not match["unit"]:
        return ""
    unit = _UNIT_SYMBOLS[match["unit"]] + _POWERS.get(match["power"], "")
    if not match["per"]:
        return unit
    per = _UNIT_SYMBOLS_AFTER_PER[match["per"]]
    return f"{unit} / {per}" if len(unit) == len(per) == 1 else f"{unit} {per}"


@cache
def word_list(name: str) -> frozenset[str]:
    """Return one of the lists of `words.yaml`, normalised."""
    lists = read_yaml(Path(__file__).with_name("words.yaml"))
    return frozenset(normalize_words(lists[name]))
