r"""Read quantities: a number with its scale, its unit or currency, and what is counted.

Digits of every script, thousands separators, powers of ten (1.2e-3, 1.2 × 10⁻³), vulgar fractions and LaTeX, number words, scales
(5k, 1.5 million), percent, currencies, and units with their products and powers, so that 5 km is 5000 m and 36 km/h is 10 m/s.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from bert_judge.runtime.package_data import read_yaml
from bert_judge.text.normalization import read_number_words
from bert_judge.text.reading import view
from bert_judge.text.visible_text import normalize_text

_TABLES: Mapping[str, Any] = read_yaml(Path(__file__).with_name("quantities.yaml"))
# A text with more characters is searched up to here.
MAX_CHARACTERS = 4_000
_MAX_EXPONENT = 300


class Unit(NamedTuple):
    """A unit: `value * factor + offset` in base units; `dimension` holds the powers of these."""

    dimension: tuple[tuple[str, int], ...]
    factor: Fraction
    offset: Fraction
    name: str


class Quantity(NamedTuple):
    """A number as it stands in a text.

    Attributes:
        value: the number, with its sign and its scale, but not divided by 100 for percent.
        step: the value of its last digit; 0 for a fraction, which is exact.
        digits: significant digits as written.
        kind: "", "percent", "points" (percentage points), "currency" or "unit".
        currencies: codes of currencies of which it is one; "cent" is part of several.
        noun: the plural that follows a number without unit: "bananas".
        scale: what a word or letter multiplies it by: 1000 of 5k.
        is_ambiguous: whether the digits have another reading: 1.234 is 1234 in German.
        is_converted: whether the number was calculated from one in another unit.
        start, end: its place in the prepared text.
    """

    value: Fraction
    step: Fraction
    digits: int
    start: int
    end: int
    kind: str = ""
    unit: Unit | None = None
    currencies: frozenset[str] = frozenset()
    noun: str = ""
    scale: int = 1
    is_ambiguous: bool = False
    is_converted: bool = False
    text: str = ""


def _alternatives(forms: Iterable[str]) -> str:
    """Return a pattern for any of these forms, the longest first; a word ends where its letters end."""
    ordered = sorted(set(forms), key=len, reverse=True)
    return "|".join(re.escape(form) + (r"(?![^\W\d_])" if form[-1].isalpha() else "") for form in ordered)


def _read_dimension(text: str) -> dict[str, int]:
    powers = {}
    for word in text.split():
        name, power = re.fullmatch(r"([A-Za-z]+|1)(-?\d)?", word).groups()  # type: ignore[union-attr]
        if name != "1":
            powers[name] = int(power or 1)
    return powers


def _read_units() -> tuple[dict[str, Unit], dict[str, Unit]]:
    """Return units by symbol, in their case, and by name in lower case."""
    symbols: dict[str, Unit] = {}
    names: dict[str, Unit] = {}
    for symbol, entry in _TABLES["units"].items():
        dimension = tuple(sorted(_read_dimension(entry["is"]).items()))
        unit = Unit(dimension, Fraction(str(entry["factor"])), Fraction(str(entry.get("offset", 0))), symbol)
        _add_unit(symbols, names, unit, [symbol, *(name for name in entry["names"] if len(name) < 3)], entry["names"])
    # Last, as dB is no tenth of a byte.
    for symbol, entry in _TABLES["units"].items():
        for prefix, exponent in _TABLES["prefixes"].items() if entry.get("prefixes") else ():
            is_letter = len(prefix) < 3
            unit = symbols[symbol]
            prefixed = unit._replace(factor=unit.factor * Fraction(10) ** exponent, name=f"{prefix}{symbol}")
            short = [f"{prefix}{symbol}"] + ([f"{prefix}l"] if symbol == "L" else [])
            long = [f"{prefix}{name}" for name in entry["names"] if len(name) > 3 and name.isascii()]
            _add_unit(symbols, names, prefixed, short if is_letter else [], [] if is_letter else long)
    # Most who write so mean millilitres.
    del symbols["ML"], symbols["Ml"]
    for kilo in ("kilo", "kilos", "kgs"):
        names[kilo] = symbols["kg"]
    return symbols, names


def _add_unit(symbols: dict[str, Unit], names: dict[str, Unit], unit: Unit, short: list[str], long: list[str]) -> None:
    for symbol in short:
        symbols.setdefault(symbol, unit)
    for name in long:
        if len(name) > 2:
            names.setdefault(name.lower(), unit)
            names.setdefault(f"{name.lower()}s", unit)


UNIT_SYMBOLS, _UNIT_NAMES = _read_units()
_CURRENCY_FORMS: dict[str, frozenset[str]] = {}
for _code, _forms in _TABLES["currencies"].items():
    for _form in (_code, *_forms):
        _CURRENCY_FORMS[_form.lower()] = frozenset([_code])
_CURRENCY_FORMS |= {sign: frozenset(codes) for sign, codes in _TABLES["shared_signs"].items()}
_CURRENCY_FORMS["dollar"] = _CURRENCY_FORMS["dollars"] = _CURRENCY_FORMS["$"]
_CURRENCY_FORMS |= {form.lower(): frozenset(["cent"]) for form in _TABLES["cents"]}
_WITH_CENTS = frozenset({"USD", "EUR", "CAD", "AUD", "GBP"})
_SIGNS = [form for form in _CURRENCY_FORMS if not form[-1].isalnum() and form != "rs."] + ["rs.", "rs"]

_SUPERSCRIPTS = re.compile(r"[⁰¹²³⁴-⁹⁺⁻]+")
_ORDINAL_SIGN = re.compile(r"º(?=\s?[CF]\b)")
_VULGAR = re.compile(r"(?:(\d)\s?)?([¼-¾⅐-⅞])")
# Dollars of a country: HK$5, NZ$5.
_COUNTRY = re.compile(r"(?<![A-Za-z])[A-Z]{1,3}\Z")
_FOREIGN_DIGIT = re.compile(r"[^\x00-\x7f]")
_LATEX, _HALVES = ([(re.compile(pattern), text) for pattern, text in _TABLES[name]] for name in ("latex", "halves"))
_DOLLARS = re.compile(r"\$\$?([^$\n]{1,200}?)\$\$?(?!\d)")
_PLAIN_NUMBER = r"\d{1,3}(?:,\d{3})*(?:\.\d+)?|\d+(?:\.\d+)?"
_ACCOUNTING = re.compile(
    rf"\((?P<sign>\$|€|£)?\s?({_PLAIN_NUMBER})\)(?=\s?%|\s(?:{_alternatives(_TABLES['scales'])})|\s?\Z)", re.IGNORECASE
)
# W/(m² K) and W/m²K: every factor below the line is divided by.
_DENOMINATOR = re.compile(r"(?<=[^\W\d_])\s?/\s?(?:\(([^\W\d_][^()\s]{0,9}(?:[ ·*⋅][^()\s]{1,5})?)\)|([^\W\d_]{1,2}\^\d[A-Z]))")
_FACTORS = re.compile(r"\s?[·⋅*\s]\s?|(?<=\d)(?=[^\W\d_])")
_MINUS_WORD = re.compile(r"\b(?:negative|minus)\s(?=[$€£]?\.?\d)", re.IGNORECASE)
_SIGNED_ACCOUNTING = re.compile(rf"([$€£])\s?\(({_PLAIN_NUMBER})\)")
_MIXED = [
    (re.compile(rf"(?<![\w.,/])(\d+) and (?:an?|1|one) {name}(?![\w-])", re.IGNORECASE), rf"\1{digits}")
    for name, digits in (("half", ".5"), ("quarter", ".25"))
]
_FOREIGN = {word: value for value, words in _TABLES["number_words"].items() for word in words}
_DIGIT_WORDS, _ONES, _TENS, _NUMBER_WORDS = (
    "|".join(sorted((word for word, value in _FOREIGN.items() if low <= value < high), key=len, reverse=True))
    for low, high in ((1, 10), (2, 20), (20, 100), (2, 101))
)
_FOREIGN_WORD = re.compile(
    rf"(?<!\w)(?:({_DIGIT_WORDS})(?:und|en|ën|a| )({_TENS})s?"
    rf"|({_TENS})(?: y | e | et | )?({_DIGIT_WORDS}|{_ONES})|({_NUMBER_WORDS}))(?!\w)"
)
# A number beside words that make it longer and are not read: cent 20, 3 100, 2 cents.
_HUNDREDS = "|".join(_TABLES["hundreds"])
_LONGER = re.compile(
    rf"(?<!\w)(?:{_HUNDREDS}|{_alternatives(_TABLES['scales'])})(?: y| e| et)? \d"
    rf"|\d(?: y| e| et| und| en| a)? (?:\d|(?:{_HUNDREDS})(?!\w))"
)
# Of France, as one word, which it is in Switzerland.
_EIGHTY = re.compile(r"\bquatre vingts?\b")
# A numeral of several signs, or one before a word that counts: 一 is a part of many words.
_HAN = "〇零一二三四五六七八九十百千两兩"
_HAN_NUMBER = re.compile(rf"[{_HAN}]{{2,}}|(?<![^\W\d])[{_HAN}](?=[个個人年天名位次岁歳つ本枚台匹只隻万亿億萬]|\W*\Z)")
# Two 3rds, as number words have become digits by then; 1 in 4.
_FRACTIONS = {name: number for number, names in _TABLES["parts"].items() for name in names}
_WORDED_FRACTION = re.compile(rf"\b(\d+) (?:({'|'.join(_FRACTIONS)})|(\d{{1,2}})(?:rd|th)s?)\b(?! \w)")
_SHARE = re.compile(r"\A\W*(\d+) (?:in|out of)(?: every)? (\d+)\W*\Z")
_WORDS = re.compile(r"\d+\.\d+|[^\W_]+(?:['’]\w+)?|[^\w\s]")

_DIGITS = (
    r"[1-9]\d{0,2}(?:,\d{3})+(?:\.\d+)?(?![\d,]\d)|\d{1,2}(?:,\d\d)+,\d{3}(?:\.\d+)?(?!\d)|\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?(?!\d)"
    r"|\d{1,3}(?:['’]\d{3})+(?:\.\d+)?(?!\d)|\d{1,3}(?:[\u00a0\u2009\u202f]\d{3})+(?!\d)"
    r"|\d{1,3}(?: \d{3}){2,}(?!\d)|\d{1,3}(?: 000)+(?!\d)"
    r"|\d{1,3}(?:\.\d{3})+,\d{1,2}(?!\d)"
    r"|(?P<comma>0,\d+|\d+,\d{1,2})(?![\d,])|\d+(?:\.\d+)?|\.\d+"
)
_NUMBER = re.compile(
    rf"(?:(?P<minus>[-−–])\s?)?(?:(?P<sign>{_alternatives(_SIGNS)}|(?:{_alternatives(_TABLES['currencies'])})\b)\s?(?P<late>[-−])?\s?)?"
    rf"(?:(?P<power>10\s?\^\s?\{{?\s?[-−+]?\d{{1,3}}\}}?)|(?P<mixed>\d+)[ -](?P<above>\d+)/(?P<under>\d+)(?![\d/])"
    rf"|(?P<digits>{_DIGITS})"
    r"(?:\s?[/⁄]\s?(?P<below>[1-9]\d*)(?![\d/.,]\d|\d))?"
    r"(?:[eE](?P<e>[-−+]?\d{1,3})(?!\w)"
    r"|\s?[×xX*·⋅]\s?10(?:\s?(?:\^|\*\*)\s?\{?\s?(?P<exponent>[-−+]?\d{1,3})\}?|(?P<lost>[-−]\d{1,2}))(?!\d))?)",
    re.IGNORECASE,
)
# A minus, a currency and spaces may stand before the first digit.
_DIGIT, _MAX_BEFORE_DIGIT = re.compile(r"\d"), max(map(len, _SIGNS)) + 6
# Digits inside a name or a chain (CO2, FY2021, 1.2.3, 12:30, a_1) are no number.
_BEFORE = re.compile(r"(?:[A-Za-z\u00c0-\u024f\u0370-\u04ff\d_#^{\\]|\d[.,:/]|\.)\Z")
_BRACKETS = ("(", "[", "{")
_AFTER = re.compile(r"(?:[:/]\d|-\d|\.\d|_|(?:st|nd|rd|th|['’]?s)\b|[^\W\d_]*\d)", re.IGNORECASE)
# Behind these marks, no unit belongs to the number before them.
_ENDS_ALONE = re.compile(r"\Z|[.,;:!?)\]}=+]| [=+(\[<>|*×·/]")
_SCALE = re.compile(rf"\s?-?(?P<word>{_alternatives(_TABLES['scales'])})\.?", re.IGNORECASE)
_LETTER = re.compile(rf"(?P<letter>{'|'.join(sorted(_TABLES['letters'], key=len, reverse=True))})(?![^\W_]|[·/^])")
_POINTS = re.compile(rf"\s?-?(?:{_alternatives(_TABLES['percentage_points'])})", re.IGNORECASE)
_PERCENT = re.compile(rf"\s?-?(?:{_alternatives(_TABLES['percent'])})", re.IGNORECASE)
_PER_MILLE = re.compile(rf"\s?-?(?:{_alternatives(_TABLES['per_mille'])})", re.IGNORECASE)
_CURRENCY = re.compile(rf"\s?-?(?P<form>{_alternatives(_CURRENCY_FORMS)})", re.IGNORECASE)
_UNIT_PART = re.compile(
    r"(?P<operator>\s?/\s?|\s?[·⋅*×]\s?|\sper\s|\s|-)?(?P<before>square |sq\.? |cubic |cu\.? )?"
    r"(?P<words>°\s?[CF](?![^\W\d_])|[℃℉°Ω]|[^\W\d_]+(?:[ -][^\W\d_]+){0,2})",
    re.IGNORECASE,
)
_UNIT_POWER = re.compile(r"(?:\s?\^\s?\{?)?(?P<power>[-−]?[1-4])\}?(?![\w.,]\d|\w)|(?P<squared> squared| cubed)")
# Beside another mass, mg/kg is no number: 15 mg/kg is 15 mg of each kg.
_RATIO = re.compile(r"/|\sper\s")
# 5 a day, but 5 A.
_ARTICLE = re.compile(r"[aIy]|A(?!\s?(?:[.,;)/·]|\Z))")
_FEET = re.compile(r"(\d+)\s?['′’]\s?(?:(\d+(?:\.\d+)?)\s?(?:[\"″”]|''|’’))?(?!\w)")
_NOUN = re.compile(r" (?:[a-z]{2,} )?(?P<noun>[a-z]{3,})(?![\w])")
_AMBIGUOUS, _DECIMAL_COMMA = re.compile(r"[1-9]\d{0,2}\.\d{3}|\d{1,3},\d{1,2}"), re.compile(r"[\d.]+,\d{1,2}")
_NO_DIGIT = re.compile(r"[^\d.]")
_ZEROS = re.compile(r"\A0*\.?0*")


@view
def find_quantities(text: str) -> tuple[Quantity, ...]:
    """Return the quantities of a text in order; parts of one, as in 2 hours 30 minutes and 2 dollars and 50 cents, are added."""
    prepared = prepare_text(text if len(text) <= MAX_CHARACTERS else text[:MAX_CHARACTERS])
    quantities: list[Quantity] = []
    position = 0
    # Most of a text has no digits, so that looking for the next one is much faster.
    while digit := _DIGIT.search(prepared, position):
        match = _NUMBER.search(prepared, max(position, digit.start() - _MAX_BEFORE_DIGIT))
        if match is None:
            break
        quantity = _read_feet(prepared, match) or _read_quantity(prepared, match)
        position = max(match.end(), quantity.end if quantity else 0)
        if quantity is None:
            continue
        if quantities and (total := _add_part(quantities[-1], quantity, prepared[quantities[-1].end : quantity.start])):
            quantities[-1] = total
        else:
            quantities.append(quantity)
    return tuple(quantities)


@view
def prepare_text(text: str) -> str:
    """Write digits, powers, fractions, LaTeX and number words in one notation."""
    text = normalize_text(text)
    if not text.isascii():
        # An ordinal sign in place of the sign of degrees.
        text = _ORDINAL_SIGN.sub("°", text)
        text = _SUPERSCRIPTS.sub(lambda match: f"^{unicodedata.normalize('NFKD', match[0]).replace('−', '-')}", text)
        text = _VULGAR.sub(_write_vulgar, text)
        text = _FOREIGN_DIGIT.sub(_to_ascii, text)
    if "\\" in text or "~" in text or text.count("$") > 1:
        for pattern, replacement in _LATEX:
            text = pattern.sub(replacement, text)
        text = _DOLLARS.sub(lambda match: match[1] if not re.search(r"\d .*[^\W\d_]{3}", match[1]) else match[0], text)
    text = _DENOMINATOR.sub(lambda match: "/" + _FACTORS.sub("/", match[1] or match[2]), text)
    text = _MINUS_WORD.sub("-", text)
    if "(" in text:
        text = _SIGNED_ACCOUNTING.sub(r"-\1\2", text)
        text = _ACCOUNTING.sub(lambda match: f"-{match['sign'] or ''}{match[2]}", text)
    if not any(map(str.isdigit, text)):
        words = text.lower().replace("-", " ")
        if not text.isascii() and _HAN_NUMBER.search(words):
            return _HAN_NUMBER.sub(lambda match: str(_read_han(match[0])), words)
        read = _FOREIGN_WORD.sub(_write_foreign, _EIGHTY.sub("huitante", words))
        words = words if _LONGER.search(read) else read
        for pattern, replacement in _HALVES:
            words = pattern.sub(replacement, words)
        text = _WORDED_FRACTION.sub(_write_fraction, _write_mixed(" ".join(read_number_words(_WORDS.findall(words)))))
    elif " and " in text.lower():
        text = _write_mixed(text)
    return _SHARE.sub(r"\1/\2", text)


def is_quantity(text: str, *, with_noun: bool = False) -> Quantity | None:
    """Return the only quantity of a text that consists of it, with words as "about" and "in total" around it at most.

    `with_noun` allows what is counted: 72 cards.
    """
    if len(text) > _MAX_QUANTITY:
        return None
    quantities = find_quantities(text)
    if len(quantities) != 1:
        return None
    prepared = prepare_text(text)
    before, after = prepared[: quantities[0].start], prepared[quantities[0].end :]
    if with_noun or quantities[0].noun:
        after = _COUNTED.sub("", after)
    return quantities[0] if _IDLE_BEFORE.fullmatch(before) and _IDLE_AFTER.fullmatch(after) else None


def find_unit(word: str) -> Unit | None:
    """Return the unit that a word names or abbreviates."""
    return UNIT_SYMBOLS.get(word) or _UNIT_NAMES.get(word.lower())


def direction_of(text: str) -> int:
    """Return -1 for a text about a decrease, 1 for one about an increase, and 0 for neither or both."""
    falls, rises = (bool(pattern.search(text)) for pattern in (_DECREASE, _INCREASE))
    return rises - falls


# Characters of a quantity with the words around it.
_MAX_QUANTITY = 100
_COUNTED = re.compile(r"\A [a-z]{3,}(?: [a-z]{4,})?(?=\W*\Z)")
# Words of change, in one spelling.
CHANGES = {word: name for name, kind in (("up", "increase"), ("down", "decrease")) for word in _TABLES[kind]}
SPELLINGS = [(re.compile(pattern, re.IGNORECASE), text) for pattern, text in _TABLES["spellings"]]
_DECREASE, _INCREASE = (re.compile(rf"\b(?:{'|'.join(_TABLES[name])})\b", re.IGNORECASE) for name in ("decrease", "increase"))
_IDLE_MARKS = r"[^\w()\[\]{}<>±√|^!+*/=≤≥∞∪]*"
_IDLE_BEFORE = re.compile(
    rf"{_IDLE_MARKS}(?:(?:{_alternatives(_TABLES['about'])}|the|a total of|it(?: is|'s)|=|[a-z]\s?=){_IDLE_MARKS})*", re.IGNORECASE
)
_IDLE_AFTER = re.compile(
    r"(?:\s(?:in total|total|altogether|or so|each|long|tall|high|wide|deep|old))?" + _IDLE_MARKS, re.IGNORECASE
)


def _write_vulgar(match: re.Match[str]) -> str:
    upper, _, lower = unicodedata.normalize("NFKD", match[2]).partition("⁄")
    return f"{match[1]} {upper}/{lower}" if match[1] else f"{upper}/{lower}"


def _write_mixed(text: str) -> str:
    """Write 3 and a half as 3.5."""
    for pattern, replacement in _MIXED:
        text = pattern.sub(replacement, text)
    return text


def _write_foreign(match: re.Match[str]) -> str:
    """Return a number of two words, tens before or behind ones, in digits: dreiundzwanzig, treinta y dos, soixante dix."""
    return str(sum(_FOREIGN[word] for word in match.groups() if word))


def _read_han(text: str) -> int:
    """Return the value of a Chinese numeral below 10,000."""
    total = number = 0
    for sign in text:
        value = 2 if sign in "两兩" else int(unicodedata.numeric(sign))
        total, number = (total + max(number, 1) * value, 0) if value >= 10 else (total, value)
    return total + number


def _write_fraction(match: re.Match[str]) -> str:
    return f"{match[1]}/{_FRACTIONS[match[2]] if match[2] else match[3]}"


def _to_ascii(match: re.Match[str]) -> str:
    digit = unicodedata.digit(match[0], None)
    if digit is not None:
        return str(digit)
    return unicodedata.normalize("NFKC", match[0]) if "\uff01" <= match[0] <= "\uff5e" else match[0]


def _read_feet(text: str, match: re.Match[str]) -> Quantity | None:
    feet = _FEET.match(text, match.start("digits")) if match["digits"] else None
    before = text[max(0, match.start("digits") - 2) : match.start("digits")]
    if feet is None or _BEFORE.search(before) or before[-1:] in ("'", '"', "‘", "“"):
        return None
    inches = Fraction(feet[1]) * 12 + Fraction(feet[2] or 0)
    return Quantity(inches, Fraction(1), len(feet[1]), feet.start(), feet.end(), "unit", UNIT_SYMBOLS["in"], text=feet[0])


def _read_quantity(text: str, match: re.Match[str]) -> Quantity | None:
    start, end = match.span()
    before = text[max(0, start - 2) : start]
    if match["comma"] and before[-1:] in _BRACKETS:
        # The interval (1,4] and the point (1,4).
        return None
    is_inside_name = bool(_BEFORE.search(before)) and not (match["sign"] and not match["minus"])
    if is_inside_name or (match["minus"] and before[-1:] == ")") or _AFTER.match(text, end):
        return None
    number = _read_number(match)
    if number is None:
        return None
    value, step, digits = number
    currencies = _CURRENCY_FORMS.get((match["sign"] or "").lower(), frozenset())
    if match["sign"] == "$" and (country := _COUNTRY.search(text[max(0, start - 4) : start])):
        currencies, start = frozenset([f"{country[0]}$"]), start - len(country[0])
    scale = 1
    is_alone = _ENDS_ALONE.match(text, end) is not None
    if is_alone or match["below"]:
        pass
    elif word := _SCALE.match(text, end):
        scale, end = 10 ** _TABLES["scales"][word["word"].lower()], word.end()
    elif letter := _LETTER.match(text, end):
        scale, end = 10 ** _TABLES["letters"][letter["letter"]], letter.end()
    quantity = Quantity(
        value * scale if scale != 1 else value,
        step * scale if scale != 1 else step,
        digits,
        start,
        end,
        scale=scale,
        is_ambiguous=bool(match["digits"] and _AMBIGUOUS.fullmatch(match["digits"])),
        currencies=currencies,
        kind="currency" if currencies else "",
    )
    if is_alone:
        return quantity._replace(text=text[start:end].strip())
    quantity = _with_unit(text, quantity)
    if quantity.end == end and scale == 1 and text[end : end + 1].isalpha() and text[end].isascii():
        # 49ers, 80D
        return None
    return quantity._replace(text=text[quantity.start : quantity.end].strip())


def _with_unit(text: str, quantity: Quantity) -> Quantity:
    """Return the quantity with the percent sign, currency, unit or noun that follows it."""
    end = quantity.end
    if sign := _PER_MILLE.match(text, end):
        return quantity._replace(kind="percent", value=quantity.value / 10, step=quantity.step / 10, end=sign.end())
    for pattern, kind in ((_POINTS, "points"), (_PERCENT, "percent")):
        if sign := pattern.match(text, end):
            return quantity._replace(kind=kind, end=sign.end())
    if form := _CURRENCY.match(text, end):
        currencies = _CURRENCY_FORMS[form["form"].lower()]
        currencies = (quantity.currencies & currencies or currencies) if quantity.currencies else currencies
        if "cent" in currencies:
            quantity = quantity._replace(value=quantity.value / 100, step=quantity.step / 100)
        return quantity._replace(kind="currency", currencies=currencies, end=form.end())
    if quantity.currencies:
        return quantity
    if match := _read_unit(text, end):
        unit, end = match
        if not unit.dimension and not _RATIO.search(unit.name):
            return quantity._replace(value=quantity.value * unit.factor, step=quantity.step * unit.factor, end=end)
        return quantity._replace(kind="unit", unit=unit, end=end)
    noun = _NOUN.match(text, end)
    if noun and noun["noun"] not in _TABLES["not_counted"]:
        word = noun["noun"]
        if word in _TABLES["counted"] or (word.endswith("s") and not word.endswith(("ss", "us", "is"))):
            return quantity._replace(noun=word)
    return quantity


@cache
def _power_of_ten(exponent: int) -> Fraction:
    return Fraction(10) ** exponent


def _read_number(match: re.Match[str]) -> tuple[Fraction, Fraction, int] | None:
    """Return value, value of the last digit, and number of significant digits."""
    sign = -1 if match["minus"] or match["late"] else 1
    if match["power"]:
        exponent = int(re.sub(r"[^\d-]", "", match["power"].partition("^")[2].replace("−", "-")))
        return (sign * _power_of_ten(exponent), Fraction(0), 1) if abs(exponent) <= _MAX_EXPONENT else None
    if match["mixed"]:
        if int(match["under"]) == 0:
            return None
        return sign * (int(match["mixed"]) + Fraction(int(match["above"]), int(match["under"]))), Fraction(0), 3
    digits = match["digits"]
    if match["comma"] or ("." in digits and _DECIMAL_COMMA.fullmatch(digits)):
        digits = digits.replace(".", "").replace(",", ".")
    elif digits.count(".") > 1:
        digits = digits.replace(".", "")
    digits = _NO_DIGIT.sub("", digits)
    if len(digits) > 60:
        return None
    integer, _, decimals = digits.partition(".")
    step = _power_of_ten(-len(decimals))
    value = int(integer + decimals) * step if decimals else Fraction(int(integer))
    significant = len(_ZEROS.sub("", digits).replace(".", "")) or 1
    exponent_text = match["e"] or match["exponent"] or match["lost"]
    if exponent_text:
        exponent = int(exponent_text.replace("−", "-"))
        if abs(exponent) > _MAX_EXPONENT:
            return None
        value, step = value * _power_of_ten(exponent), step * _power_of_ten(exponent)
    if match["below"]:
        value, step = value / int(match["below"]), Fraction(0)
    return -value if sign < 0 else value, step, significant


def _read_unit(text: str, position: int) -> tuple[Unit, int] | None:
    """Return the unit that starts here, a product of powers, and its end."""
    powers: dict[str, int] = {}
    factor, offset, sign, start = Fraction(1), Fraction(0), 1, position
    while match := _UNIT_PART.match(text, position):
        operator = (match["operator"] or "").strip()
        if position == start and operator and operator != "-":
            break
        if position > start and not operator and not match["operator"]:
            break
        atom = _find_unit(match["words"], is_first=position == start)
        if atom is None or (position > start and not operator and not _is_symbol(text, match, atom)):
            break
        unit, length = atom
        is_article = position == start and length == 1 and bool(_ARTICLE.match(text, match.start("words")))
        if is_article or (unit.name == "in" and match["words"][:2] == "in" and re.match(r" \w", text[match.start("words") + 2 :])):
            break
        sign = -1 if operator in ("/", "per") else sign
        end = match.start("words") + length
        power = {"sq": 2, "cu": 3}.get((match["before"] or "").lower()[:2], 1)
        if exponent := _UNIT_POWER.match(text, end):
            squared = {"squared": 2, "cubed": 3}.get((exponent["squared"] or "").strip())
            power, end = squared or int(exponent["power"].replace("−", "-")), exponent.end()
        if power < 0 < sign and length > 1 and not match["before"] and (first := UNIT_SYMBOLS.get(match["words"][: length - 1])):
            # 9.8 ms⁻² are metres, not milliseconds.
            for name, of_unit in first.dimension:
                powers[name] = powers.get(name, 0) + of_unit
            factor, unit = factor * first.factor, UNIT_SYMBOLS.get(match["words"][length - 1], unit)
        for name, of_unit in unit.dimension:
            powers[name] = powers.get(name, 0) + sign * power * of_unit
        factor, offset, position = factor * unit.factor ** (sign * power), offset + unit.offset, end
    if position == start:
        return None
    dimension = tuple(sorted((name, power) for name, power in powers.items() if power))
    return Unit(dimension, factor, offset, text[start:position].strip(" -")), position


def _find_unit(words: str, *, is_first: bool) -> tuple[Unit, int] | None:
    """Return the unit that the longest beginning of these words names, and its length."""
    if words[0] in "°℃℉":
        name = {"℃": "°C", "℉": "°F"}.get(words, re.sub(r"\s", "", words).upper())
        return UNIT_SYMBOLS[name], len(words)
    number_words = re.findall(r"[ -]?[^\W\d_]+", words)
    for number in range(len(number_words), 0, -1):
        name = "".join(number_words[:number])
        unit = find_unit(name) if len(name) > 2 or is_first else UNIT_SYMBOLS.get(name)
        if unit:
            return unit, len(name)
    return None


def _is_symbol(text: str, match: re.Match[str], atom: tuple[Unit, int]) -> bool:
    """Return whether a space before this unit is a product: T m/A, but not 5 m a day."""
    end = match.start("words") + atom[1]
    return (
        atom[1] <= 3
        and bool(re.match(r"\s?(?:[/·^]|\Z|[.,;)]\s?|\w{1,2}\s?\^)", text[end:]))
        and match["words"][: atom[1]] in UNIT_SYMBOLS
    )


def _add_part(first: Quantity, second: Quantity, between: str) -> Quantity | None:
    """Return the sum of 2 hours and 30 minutes, 6 ft 2 in, 2 dollars and 50 cents; None for other quantities."""
    if not re.fullmatch(r"\s?,?\s?(?:and|und|et|y|e|a|&)?\s?", between):
        return None
    is_money = "cent" in second.currencies and first.currencies & _WITH_CENTS and second.value < 1
    is_finer = (
        first.unit
        and second.unit
        and first.unit.dimension == second.unit.dimension
        and not first.unit.offset
        and second.unit.factor < first.unit.factor
        and second.value * second.unit.factor < first.unit.factor
    )
    if is_money:
        return first._replace(
            value=first.value + second.value,
            step=second.step,
            end=second.end,
            digits=first.digits + 2,
            text=f"{first.text} {second.text}",
        )
    if is_finer:
        assert first.unit is not None and second.unit is not None
        ratio = second.unit.factor / first.unit.factor
        return first._replace(
            value=first.value + second.value * ratio,
            step=second.step * ratio,
            end=second.end,
            digits=first.digits + second.digits,
            text=f"{first.text} {second.text}",
        )
    return None
