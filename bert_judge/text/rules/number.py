"""The reference is a quantity: a number, with or without scale, unit or currency.

Two quantities are the same if the answer, in the reference's unit and scale, rounds to the digits that the reference gives. A
reference without scale has the one that the question asks for. A rounded answer to an exact reference is left open.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import NamedTuple

from bert_judge.text.extraction import unwrap
from bert_judge.text.latex import find_boxes
from bert_judge.text.normalization import NUMBER_WORDS, normalize_words, word_list
from bert_judge.text.quantities import UNIT_SYMBOLS, Quantity, Unit, direction_of, find_quantities, is_quantity, prepare_text
from bert_judge.text.reading import Task, view
from bert_judge.text.rules.decision import Decision
from bert_judge.text.rules.quantity_phrase import CALENDAR, are_rivals, asked_quantity, asked_units, lacks_words, units_below

# Currencies whose hundredth is a cent or a penny.
_WITH_CENTS = frozenset({"USD", "EUR", "CAD", "AUD", "GBP"})
_SCALE_NAMES = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_QUESTION_SCALE = re.compile(
    rf"\b(?:in|nearest|unit|units|usd|dollars?)\b\W{{0,3}}(?:\w+\W{{1,3}}){{0,3}}?({'|'.join(_SCALE_NAMES)})s?\b", re.IGNORECASE
)
_ASKS_ROUNDED = re.compile(r"\bround|\bnearest\b|approximate|\bdecimal place|significant (?:digit|figure)", re.IGNORECASE)
_THOUSANDS = {Fraction(10) ** (sign * exponent) for exponent in (3, 6, 9) for sign in (1, -1)}
_ASKS_PERCENT = re.compile(r"%|\bper\s?cent|\bpct\b|percentage|prozent", re.IGNORECASE)
_ASKS_LOSS = re.compile(r"\b(?:decreas|declin|drop|fall|fell|lose|loss|lower|reduc|shrink|shrank|below)", re.IGNORECASE)
# With one of these words around a number, the answer states no single value.
HEDGE = re.compile(
    r"\b(?:not|no|nor|or|either|between|maybe|perhaps|possibly|except|without|another|cannot|unknown|unsure)\b|n['’]t\b|[<>≤≥±?]"
    r"|\b(?:at least|at most|(?:more|less|fewer|greater|higher|lower) than|over|under|up to|from|until|every|each)\s\S{0,3}\d",
    re.IGNORECASE,
)
# A calculation or a formula, of which a number is a part.
_CALCULATION = re.compile(r"\\[a-z]|[√π^*+=]|\d\s?[/×]\s?\d|\b(?:ln|log|lg|exp|sqrt|sin|cos|tan)\s?\(?\d")
_FACTORIAL = re.compile(r"\d+!{1,2}")
_CONCLUSION = re.compile(r"(?s:.*)(?:[=≈]|\b(?:so|therefore|thus|hence|which is|equals)\b)([^=≈]{1,100})\Z", re.IGNORECASE)
_RANGE = re.compile(
    r"(?:(?:pp?\.?|pages?) )?(?P<between>between |from )?([$€£]?[\d.,]*\d)\s?(?:[-–—]|to|(?P<and>and)|bis|à|until)\s?([$€£]?\d.*)",
    re.IGNORECASE,
)
# A decimal or two numbers.
_PAIR = re.compile(r"-?[1-9]\d*,\d{1,2}")
_ASKS_RATE = re.compile(r"\b(?:speed|velocity|rate|throughput|flow|fast)\b", re.IGNORECASE)
# Written like a symbol: 5 Mb.
_UNKNOWN_UNIT = re.compile(r"\s?(?![A-Z][a-z]{2})(?=[^\W\d_]{0,4}[A-Z])[^\W\d_]{1,5}(?![^\W_])")
# Years of a planet, and what else stands before a unit of time.
_YEARS_OF = re.compile(r"\s[A-Z][a-z]+\s(?:year|month|day)s?\b")
_ABOUT = re.compile(
    r"\b(?:about|approximately|approx|around|roughly|nearly|almost|circa|etwa|rund|ungefähr|environ|unos)\b|[~≈]", re.IGNORECASE
)
# Kilobytes have 1000 or 1024 bytes.
_BYTES = {Fraction(1024, 1000) ** exponent for exponent in range(-4, 5)}
_PER = re.compile(r"\s?/\s?(?!\d)|\sper\s")
_FOOTNOTE = re.compile(r"[a-z]{3}\d{1,2}[.,]")
_CAPITAL = re.compile(r"[A-Z][a-z]{2}")
# A word of three letters or more that may be a number besides "one", or the tens of one: twenty-four.
_COUNT = re.compile(r"(?<![\w-])(?:(?!one\b)[a-z]{3,9}(?![\w-])|[a-z]{3,5}ty(?=-[a-z]))")
# Bold text is no calculation.
_BOLD = re.compile(r"(?<![\w*])\*\*(?=\S)([^*\n]{1,200})(?<=\S)\*\*(?![\w*])")
_OUT_OF = re.compile(r"(\d[\d.,]*)\sout\sof\s(\d[\d.,]*)")
# The number of a provision, the "one" of "the second one", a year without its century.
_NO_QUANTITY = re.compile(
    r"\b(rule|article|section|clause|chapter|paragraph|page|figure|table|annex|step)s?\s(?:\w+\s)?\d"
    r"|\b(?:the|this|that|first|second|third|fourth|fifth|last|next|other|right|same|only)\sone\b|['’]\d\d\b",
    re.IGNORECASE,
)
_NANOMETRES = re.compile(r"\d\s?nm\b", re.IGNORECASE)
# Characters of an answer around its only number.
_MAX_SENTENCE = 200
_MAX_REFERENCE = 60
# Of a number.
_MAX_NUMBER_WORDS = 5
# 25 degrees may be degrees Celsius.
_DEGREES = {(("angle", 1),), (("temperature", 1),)}
# Units that a text may mean by its last letters beside one of the same kind.
_HOMONYMS = [
    (re.compile(ending), UNIT_SYMBOLS[symbol]) for ending, symbol in ((r"pounds?\Z", "lb"), (r"C\Z", "°C"), (r"F\Z", "°F"))
]
# Seconds of an average month.
_MONTH = 2_629_746
_NEARLY = Fraction(3, 1000)
_DENSITY = (*UNIT_SYMBOLS["g"].dimension, ("m", -3))
# In kg/m³: 1% of water; and how far a solution may be from water.
_DENSITY_OF_PERCENT, _NEARLY_WATER = 10, Fraction(1, 10)


class _Pair(NamedTuple):
    """The quantities of reference and answer, and whether that of the answer is all of it, or stands in its conclusion."""

    expected: Quantity
    actual: Quantity
    is_whole: bool
    is_conclusion: bool


def is_number(reference: str) -> bool:
    return read_reference(reference) is not None or read_range(reference) is not None


def decide_number(task: Task, reference: str, answer: str) -> Decision | None:
    """Decide if the reference is a quantity, and the answer is one or a short sentence with one that the question does not have."""
    if expected_range := read_range(reference):
        # Spans of years are of the module of dates.
        return None if all(map(is_year, expected_range)) else _decide_range(task.question, expected_range, answer)
    if (pair := _read_pair(task.question, reference, answer)) is None:
        return None
    expected, actual, is_whole, is_conclusion = pair
    equal = _compare_pair(task.question, pair, answer)
    # An incorrect answer may follow from the last number of a longer text, or a correct one from another.
    if equal is None or (not equal[1] and (is_conclusion or _FOOTNOTE.search(answer))):
        return None
    if not equal[1] and (_FACTORIAL.fullmatch(unwrap(answer)) or _has_no_quantity(task.question, reference, answer)):
        return None
    if not equal[1] and expected.value == -actual.value and "(" in reference:
        # (2,085) of a table of expenses.
        return None
    if not (equal[1] or is_whole) and is_year(expected) != is_year(actual) and not (expected.kind or actual.kind):
        # The year of an event, and the number of things is in words: "won once, in 2010".
        return None
    reason, is_same = equal
    if is_same and lacks_words(reference, answer):
        return None
    return Decision(is_same, "number", f"{reason}: {actual.text} {'=' if is_same else '≠'} {expected.text}")


def _has_no_quantity(question: str, reference: str, answer: str) -> bool:
    """Return whether a number of an answer may be none, or in another unit: rule 6, "the second one", '20, nm for nautical
    miles."""
    if "nautical" in reference and _NANOMETRES.search(answer):
        return True
    match = _NO_QUANTITY.search(answer)
    return match is not None and (match[1] is None or match[1].casefold() not in question.casefold())


def is_open(question: str, reference: str, answer: str) -> bool:
    """Return whether both are quantities that may mean the same: rounded further, of another scale, or "per day" on one side."""
    if expected := read_range(reference):
        return bool(read_range(answer) or is_quantity(unwrap(answer))) and _decide_range(question, expected, answer) is None
    if read_reference(reference) is None:
        return False
    pair = _read_pair(question, reference, answer)
    is_unread = _may_be_number(answer) if pair is None else _compare_pair(question, pair, answer) is None
    return is_unread or _has_no_quantity(question, reference, answer)


def _may_be_number(answer: str) -> bool:
    """Return whether a few words without a digit answer a question about a number: in words that are not read, "quinientos"."""
    words = normalize_words(answer)
    is_short = len(words) <= _MAX_NUMBER_WORDS and not any(map(str.isdigit, answer)) and not find_quantities(answer)
    return is_short and word_list("negations").isdisjoint(words)


def _read_pair(question: str, reference: str, answer: str) -> _Pair | None:
    expected, answer = read_reference(reference), _BOLD.sub(r"\1", answer)
    if expected is None or read_range(answer):
        return None
    if fraction := _OUT_OF.fullmatch(unwrap(answer)):
        is_share = expected.kind in ("percent", "points") or expected.value < 1 or not expected.step
        answer = f"{fraction[1]}/{fraction[2]}" if is_share else fraction[1]
    if actual := is_quantity(unwrap(answer)):
        return _Pair(expected, actual, is_whole=True, is_conclusion=False)
    if actual := _only_quantity(question, answer):
        return _Pair(expected, actual, is_whole=False, is_conclusion=False)
    conclusion = _CONCLUSION.search(answer[-_MAX_SENTENCE:])
    actual = _only_quantity(question, conclusion[1]) if conclusion else None
    return _Pair(expected, actual, is_whole=False, is_conclusion=True) if actual else None


def _compare_pair(question: str, pair: _Pair, answer: str) -> tuple[str, bool] | None:
    if pair.expected.kind == "unit" and not pair.actual.kind:
        behind = prepare_text(answer)[pair.actual.end :]
        if _UNKNOWN_UNIT.match(behind) or _YEARS_OF.match(behind):
            return None
    expected = _take_asked_unit(question, pair.expected, pair.actual)
    if expected is None:
        return None
    direction = direction_of(answer) if pair.actual.value >= 0 else 0
    actual = _round_off(pair.actual) if _ABOUT.search(answer) else pair.actual
    equal = compare(question, expected, actual, direction)
    if equal is None:
        return None
    asked = asked_units(question)
    below, is_repeated = units_below(answer, pair.actual.text)
    if asked and is_repeated:
        # 4 g four times a day, of a question about a day.
        return None
    if not below or _PER.search(pair.actual.text):
        return equal
    if pair.expected.unit and not pair.actual.unit and not below & units_below(pair.expected.text, pair.expected.text)[0]:
        # 60 beats per second, of 60 bpm.
        return None
    # $3000 per year, of a question about a month.
    if not asked or asked & below:
        return equal
    is_other = equal[1] and are_rivals(asked, below)
    return (f"another unit: per {', '.join(sorted(below))}, not per {', '.join(sorted(asked))}", False) if is_other else None


def _take_asked_unit(question: str, expected: Quantity, actual: Quantity) -> Quantity | None:
    """Return a reference without unit in the one that the question asks for; None if the answer has a unit of another kind."""
    asked = asked_quantity(question) if not (expected.kind or expected.noun) and actual.kind in ("unit", "currency") else None
    if asked is None or (asked.value == 1 and asked.currencies == actual.currencies and _dimension(asked) == _dimension(actual)):
        return expected
    if names_another_unit(asked, actual):
        # 40 hours, of hours per week.
        amounts, _ = _amounts(asked, actual)
        if amounts is None:
            return None
        asked = amounts[0]
    return expected._replace(
        value=expected.value * asked.value,
        step=expected.step * asked.value,
        kind=asked.kind,
        unit=asked.unit,
        currencies=asked.currencies,
    )


def _dimension(quantity: Quantity) -> tuple[object, ...] | None:
    return quantity.unit and quantity.unit[:3]


def _round_off(quantity: Quantity) -> Quantity:
    """Return a number that is said to be about right with its last zeros as rounded: about 384000."""
    while quantity.digits > 1 and quantity.step and (quantity.value / (quantity.step * 10)).denominator == 1:
        quantity = quantity._replace(step=quantity.step * 10, digits=quantity.digits - 1)
    return quantity


@view
def read_range(text: str) -> tuple[Quantity, Quantity] | None:
    """Return both ends of a range, of which the first has the unit and the scale of the second: 10-20, 10 to 20 km."""
    if len(text) > _MAX_REFERENCE:
        return None
    text = unwrap(text)
    match = _RANGE.fullmatch(text if any(map(str.isdigit, text)) else prepare_text(text))
    ends = [end for side in match.group(2, 4) if (end := is_quantity(side))] if match else []
    if match is None or len(ends) < 2 or bool(match["and"]) > bool(match["between"]):
        return None
    first, last = ends
    return (first, _take_unit(last, first)) if first.kind else (_take_unit(first, last), last)


def _take_unit(quantity: Quantity, other: Quantity) -> Quantity:
    """Return a quantity without unit in that of the other end of its range."""
    return quantity if quantity.kind else quantity._replace(kind=other.kind, unit=other.unit, currencies=other.currencies)


def _decide_range(question: str, expected: tuple[Quantity, Quantity], answer: str) -> Decision | None:
    if actual := read_range(answer):
        ends = [compare(question, first, second) for first, second in zip(expected, actual, strict=True)]
        different = next((end for end in ends if end and not end[1]), None)
        if different is None and None in ends:
            return None
        reason = "same range" if different is None else different[0].replace("number", "range")
        return Decision(different is None, "number", reason)
    if re.fullmatch(r"\d[\d.,]* and \d[\d.,]*", unwrap(answer)):
        return Decision(False, "number", f"two numbers, not a range: {unwrap(answer)}")
    number = is_quantity(unwrap(answer))
    if number is None:
        return None
    low, high = (_convert_to(number, end).value for end in expected)
    # About a number inside the range: its middle.
    is_inside = low < number.value < high and _ABOUT.search(answer) and not names_another_unit(expected[1], number)
    return None if is_inside else Decision(False, "number", f"a number, not a range: {number.text}")


def mentions_quantity(reference: str, answer: str, *, is_whole: bool) -> bool | None:
    """Return whether an answer has a reference's quantity; False if its number has another unit; None if the number is not there.

    With `is_whole`, the quantity is the whole answer. Values are equal without rounding.
    """
    expected = read_reference(reference)
    if expected is None:
        return None
    whole = is_quantity(unwrap(answer))
    quantities = ((whole,) if whole else ()) if is_whole else find_quantities(answer)
    results = []
    for quantity in quantities:
        actual = _resolve_unit(quantity, expected)
        is_other = bool(names_another_unit(expected, actual))
        if (actual if is_other else _convert_to(expected, actual)).value == expected.value:
            results.append(not is_other)
    return any(results) if results else None


@view
def read_reference(reference: str) -> Quantity | None:
    """Return the quantity that a reference consists of; None for any other text, as a code (007) or a name (the Four Seasons)."""
    if len(reference) > _MAX_REFERENCE or not any(map(str.isalnum, reference)) or len(find_boxes(reference)) > 1:
        return None
    text = unwrap(reference)
    quantity = None if re.match(r"0\d", text) else is_quantity(text, with_noun=True)
    if quantity is None:
        return None
    is_worded = not any(map(str.isdigit, text))
    return None if _CAPITAL.search(text, 1 if is_worded else quantity.end) and not quantity.kind else quantity


def _only_quantity(question: str, answer: str) -> Quantity | None:
    """Return the only value in a short text, besides those that the question has; None if the text restricts or denies it."""
    if len(answer) > _MAX_SENTENCE or HEDGE.search(answer) or _CALCULATION.search(answer):
        return None
    quantities = find_quantities(answer)
    if quantities and any(map(str.isdigit, answer)) and not NUMBER_WORDS.keys().isdisjoint(_COUNT.findall(answer.lower())):
        # Five seasons with 77 episodes.
        return None
    if len({_key(quantity) for quantity in quantities}) > 1:
        question_values = {quantity.value for quantity in find_quantities(question)}
        quantities = tuple(quantity for quantity in quantities if quantity.value not in question_values)
    return quantities[-1] if len({_key(quantity) for quantity in quantities}) == 1 else None


def _key(quantity: Quantity) -> tuple[Fraction, str, str]:
    return quantity.value, quantity.kind, quantity.unit.name if quantity.unit else ""


def compare(question: str, expected: Quantity, actual: Quantity, direction: int = 0) -> tuple[str, bool] | None:
    """Return why two quantities are the same or not, and whether they are; None where that is open.

    `direction` is that of the words around the given number: -1 for "a decrease of 1.9".
    """
    expected, actual = _resolve_unit(expected, actual), _resolve_unit(actual, expected)
    either_unit = expected.unit or actual.unit
    if {expected.kind, actual.kind} == {"unit", "percent"} and either_unit and either_unit.dimension == _DENSITY:
        # 9 g/L of salt is written as 0.9%, and 35 g/L of sea water is nearly 3.5%.
        first, second = (one.value * (one.unit.factor if one.unit else _DENSITY_OF_PERCENT) for one in (expected, actual))
        if first == second:
            return "same number", True
        return None if abs(first - second) < _NEARLY_WATER * abs(first) else ("another number", False)
    if unit := names_another_unit(expected, actual):
        amounts, below = _amounts(expected, actual)
        asked_below = asked_units(question)
        if amounts is None or not below <= asked_below:
            # A question about a speed says nothing of its unit, and grams of a litre may be percent.
            is_share = asked_below and {expected.kind, actual.kind} == {"unit", "percent"}
            is_left_out = bool(is_share or (below and (below <= CALENDAR or _ASKS_RATE.search(question))))
            if amounts and are_rivals(asked_below, below):
                # Per week, 14 g of 2 g a day may be right, and 2 g cannot.
                is_left_out = _convert_to(*amounts).value != amounts[0].value
            return None if is_left_out else (f"another unit: {unit}", False)
        expected, actual = amounts
    if {expected.kind, actual.kind} == {"percent", "points"} and expected.value == actual.value:
        return None
    asked = _QUESTION_SCALE.search(question)
    readings = [expected]
    if asked and expected.scale == 1 and expected.kind in ("", "currency"):
        scale = _SCALE_NAMES[asked[1].lower()]
        scaled = _scale(expected, Fraction(scale))._replace(scale=scale)
        readings = [scaled] if actual.scale > 1 else [expected, scaled]
    results = [
        _is_rounded(question, reading, value) for reading in readings for value in _readings(question, reading, actual, direction)
    ]
    # 12.500 is 12500 in many languages, as nobody writes a decimal with idle zeros.
    is_grouped = expected.is_ambiguous and expected.text.endswith("0") and actual.value == 1000 * expected.value
    if True in results or is_grouped:
        return "same number", True
    return None if None in results or _is_open(question, expected, actual, asked is not None) else ("another number", False)


def _amounts(expected: Quantity, actual: Quantity) -> tuple[tuple[Quantity, Quantity] | None, frozenset[str]]:
    """Return both quantities without the units below the line that one has more, and these: 4 g and 4 g of "4 g per day"."""
    for rate, other in ((actual, expected), (expected, actual)):
        text = rate.text.replace("bps", "bit/s")
        amount, *below = _PER.split(text)
        quantity = is_quantity(amount) if below else None
        if quantity and not names_another_unit(other, quantity):
            return ((other, quantity) if rate is actual else (quantity, other)), units_below(text, text)[0]
    return None, frozenset()


def _is_open(question: str, expected: Quantity, actual: Quantity, has_scale: bool) -> bool:
    """Return whether two different numbers may mean the same."""
    ratio = actual.value / expected.value if expected.value else Fraction(0)
    # Tables are in thousands or millions, of which some questions do not tell; 1.234 is 1234 in German.
    lacks_scale = not has_scale and (actual.scale == 1) != (expected.scale == 1) and abs(expected.value) >= 100
    has_other_point = (expected.is_ambiguous and ratio == 1000) or (actual.is_ambiguous and ratio == Fraction(1, 1000))
    are_pairs = all(_PAIR.fullmatch(quantity.text) for quantity in (expected, actual))
    # A loss is a negative number.
    has_other_sign = ratio == -1 and bool(_ASKS_LOSS.search(question))
    return (
        (lacks_scale and abs(ratio) in _THOUSANDS)
        or has_other_point
        or are_pairs
        or has_other_sign
        or ratio in (12, Fraction(1, 12))
        # 5 mg/L of water are 5 ppm.
        or (expected.kind == "unit" and actual.text.endswith(("ppm", "ppb")))
        or (_is_bytes(expected) and _is_bytes(actual) and _convert_to(expected, actual).value / expected.value in _BYTES)
    )


def _is_bytes(quantity: Quantity) -> bool:
    return quantity.unit is not None and quantity.unit.dimension == (("B", 1),) and quantity.value != 0


def is_year(quantity: Quantity) -> bool:
    return quantity.value.denominator == 1 and 1000 <= quantity.value <= 2100 and not quantity.kind


def _resolve_unit(quantity: Quantity, counterpart: Quantity) -> Quantity:
    """Read pounds as weight beside another weight, C and F as degrees beside one or each other, and m/km as a number beside one."""
    if counterpart.unit is None and (quantity.unit is None or quantity.unit.dimension):
        return quantity
    if counterpart.unit is None:
        assert quantity.unit is not None
        number = _scale(quantity, quantity.unit.factor)._replace(kind="", unit=None)
        return number if counterpart.kind == "percent" or counterpart.value == number.value else quantity
    for ending, unit in _HOMONYMS:
        is_same_kind = counterpart.unit.dimension == unit.dimension or f"°{counterpart.unit.name}" in {"°C", "°F"} - {unit.name}
        if is_same_kind and ending.search(quantity.text):
            return quantity._replace(kind="unit", unit=unit, currencies=frozenset())
    return quantity


def names_another_unit(expected: Quantity, actual: Quantity) -> str:
    """Return both units if they do not measure the same: "°F, °C" of other values, "$, €", "ml, bananas"; else an empty text."""
    if expected.currencies and actual.currencies:
        both = expected.currencies | actual.currencies
        is_same = bool(expected.currencies & actual.currencies) or ("cent" in both and bool(both & _WITH_CENTS))
    elif expected.unit and actual.unit:
        dimensions = {_base(unit)[0] for unit in (expected.unit, actual.unit)}
        is_same = len(dimensions) == 1 or dimensions == _DEGREES
    else:
        is_same = expected.kind not in ("currency", "unit") or not (actual.kind or actual.noun)
    return "" if is_same else f"{_unit_text(expected)}, {_unit_text(actual)}"


def _unit_text(quantity: Quantity) -> str:
    return quantity.noun or (quantity.unit.name if quantity.unit else "") or "/".join(sorted(quantity.currencies)) or quantity.kind


def _readings(question: str, expected: Quantity, actual: Quantity, direction: int) -> list[Quantity]:
    """Return the given quantity in the unit of the reference: percent as number or ratio, m as km, a decrease as minus."""
    readings = [actual]
    percents = {expected.kind, actual.kind} & {"percent", "points"}
    if len(percents) == 1 and expected.kind != actual.kind:
        hundredth = _scale(actual, Fraction(1, 100) if actual.kind in ("percent", "points") else Fraction(100))
        is_small = abs(actual.value) < 1 and actual.kind == "percent" and not _ASKS_PERCENT.search(question)
        readings = [hundredth] if is_small else [actual, hundredth]
    else:
        readings = [_convert_to(expected, actual)]
    if direction < 0 and expected.value < 0:
        readings = [_scale(reading, Fraction(-1)) for reading in readings]
    return readings


def _scale(quantity: Quantity, factor: Fraction) -> Quantity:
    return quantity._replace(value=quantity.value * factor, step=quantity.step * abs(factor))


def _convert_to(expected: Quantity, quantity: Quantity) -> Quantity:
    """Return the quantity in the unit of another one that measures the same."""
    unit, target = quantity.unit, expected.unit
    if not (unit and target) or (unit.factor, unit.offset) == (target.factor, target.offset) or _base(unit)[0] != _base(target)[0]:
        return quantity
    ratio = _base(unit)[1] / _base(target)[1]
    value = quantity.value * ratio + (unit.offset - target.offset) / target.factor
    is_decimal = re.fullmatch(r"10*", str(max(ratio, 1 / ratio))) is not None
    is_converted = not is_decimal or unit.offset != target.offset
    return quantity._replace(value=value, step=quantity.step * ratio, is_converted=is_converted)


def _base(unit: Unit) -> tuple[tuple[tuple[str, int], ...], Fraction]:
    """Return dimension and factor, with months and years in seconds."""
    is_calendar = unit.dimension == (("month", 1),)
    return ((("s", 1),), unit.factor * _MONTH) if is_calendar else (unit.dimension, unit.factor)


def _is_rounded(question: str, expected: Quantity, actual: Quantity) -> bool | None:
    """Return whether the given value rounds to the expected one; None if it is less precise, or the rounding is not asked for."""
    difference = abs(expected.value - actual.value)
    largest = max(abs(expected.value), abs(actual.value))
    # Numbers that are written out are exact; fractions, and what was converted, are rounded.
    is_exact = expected.step > 0 and actual.step > 0 and not actual.is_converted
    if difference <= (0 if is_exact else largest * Fraction(1, 10**9)):
        return True
    if actual.is_converted and difference <= largest / 20:
        return True if difference <= largest / 100 else None
    step, digits = expected.step, expected.digits
    # 4.60 and 1577.00 are printed with idle zeros.
    while digits > 2 and 0 < step < expected.scale and (expected.value / (step * 10)).denominator == 1:
        step, digits = step * 10, digits - 1
    has_decimals = 0 < expected.step < expected.scale
    if difference <= step / 2 and actual.step <= step:
        if difference > largest / 10:
            return None
        is_report = has_decimals or expected.scale > 1 or actual.scale > 1 or bool(_ASKS_ROUNDED.search(question))
        if not is_report and not expected.kind and digits <= 2:
            # Few things are counted exactly: 12.4 is not 12.
            return False
        # 1.55 rounds to 1.6.
        is_rounded_up = abs(actual.value) > abs(expected.value) and 2 * difference == step and digits <= 2
        return True if is_report and (digits >= 2 or has_decimals) and not is_rounded_up else None
    if actual.step > step:
        is_repeating = not step and actual.kind == "percent" and 10**9 % expected.value.denominator > 0
        is_measured = expected.kind == "unit" and has_decimals and actual.digits >= 3
        if difference <= actual.step / 2 and actual.digits >= 2 and (is_repeating or is_measured):
            return True
        # Rounded further than the reference.
        return None if difference <= min(actual.step, largest / 10) else False
    # Calculated from rounded numbers.
    is_amount = has_decimals or expected.scale > 1 or expected.kind == "currency"
    if is_amount and digits >= 4 and difference <= largest * _NEARLY:
        return None
    # Truncated, or another last digit after the point.
    return None if digits >= 2 and has_decimals and difference <= step else False
