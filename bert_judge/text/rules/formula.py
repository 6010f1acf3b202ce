"""The reference is a formula. Math-Verify, whose worker process starts with the first formula, says which formulas are equal."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from bert_judge.runtime.package_data import read_yaml
from bert_judge.text.dates import is_moment
from bert_judge.text.extraction import strip_markup, unwrap
from bert_judge.text.latex_forms import find_expression, is_formula, rewrite_notation
from bert_judge.text.math_worker import MathResult, MathVerifier
from bert_judge.text.normalization import read_number_words
from bert_judge.text.reading import Task, view
from bert_judge.text.rules.decision import Decision
from bert_judge.text.rules.number import read_range, read_reference

_TABLES: Mapping[str, Any] = read_yaml(Path(__file__).parents[1] / "formulas.yaml")
_MAX_CHARACTERS, _MAX_SIGNS = 300, 40
_LOCK = threading.Lock()
# Signs that only mathematics has: commands, powers, roots, operators between letters and digits, pairs and intervals, lists of
# numbers, recurring decimals, hexadecimal numbers.
_MATH = re.compile(
    r"\\[a-zA-Z{]|[\^√π∞±≤≥∪∩∅ℝ²³]|(?<![\w-])[A-Za-z]\s[+*-]\s[A-Za-z](?![\w-])|(?<![A-Za-z])[a-z]\s?[=+*/<>-]\s?(?:[\d(\\-]|[a-z](?![a-z]))|[\d)]\s?[=+*/<>]\s?[\w(\\]|(?<!\w)\d+[a-z](?![\w.])"
    r"|^[(\[{]\s?[-\d].*[)\]}]$|^[-\d.]+(?:\s?-\s?\d+)?[ij]$|sqrt|\d!"
    r"|^[-−]?[\d.]+(?:,\s[-−]?[\d.]+)+$|\d?\.\d*(?:\(\d+\)|\d\.{3}|\d…)|\b0[xX][\da-fA-F]+\b"
)
_BRACKETS = ("(", "[", "{")
_AROUND = _TABLES["around"]
_WORDED = [(re.compile(pattern), sign) for pattern, sign in _TABLES["worded"]]
_UPRIGHT = re.compile(r"\\(?:mathrm|mathbf|mathit)\s?\{[\s~]?([A-Za-z])\s?\}")
_DECIMAL = re.compile(r"[-−]?\d*\.\d+")
# Variables of one letter with signs of logic, factorials and primes.
_SIGNS = re.compile(r"(?=.*[^\W\d_])(?:(?<![^\W_])[a-zA-Z](?![^\W_])|[()∧∨¬→↔⊕!'′])+")
_HAS_SIGN, _HAS_LOGIC = re.compile(r"[a-z][!'′]|[∧∨¬→↔⊕]"), re.compile("[∧∨¬→↔⊕]")
_LOGIC = [(re.compile(pattern), sign) for pattern, sign in _TABLES["logic"]]
# A calculation that is not carried out, where a number is expected.
_UNFINISHED = re.compile(r"[\d)!]\s*(?:[-+*×·−]|\\times|\\cdot)\s*[($\d]|\d!")
_IMAGINARY = re.compile(r"(?<=\d)j(?![A-Za-z])|(?<![A-Za-z\\])j(?![A-Za-z])")


def decide_formula(task: Task, reference: str, answer: str) -> Decision | None:
    """Decide if the reference is a formula or a named answer of mathematics, or a number that the answer writes as a formula."""
    if len(reference) > _MAX_CHARACTERS or len(answer) > 2_000:
        return None
    if group := _named(reference):
        return _compare_named(group, reference, answer)
    expected = unwrap(reference)
    if decision := _compare_signs(expected, unwrap(answer)):
        return decision
    is_number = read_reference(reference) is not None
    if is_moment(expected) or read_range(reference):
        return None
    if not is_number and not (_MATH.search(expected) and is_formula(expected)):
        return None
    actual = _expression(reference, answer, only_formula=is_number)
    if actual is None or (is_number and _UNFINISHED.search(actual)) or (expected[0] in _BRACKETS and read_reference(actual)):
        # An interval may be a tolerance.
        return None
    if re.sub(r"\s", "", rewrite_notation(expected)) == re.sub(r"\s", "", rewrite_notation(actual)):
        return Decision(True, "formula", f"same formula: {actual}")
    expected, actual = (_UPRIGHT.sub(r"\1", text) for text in (expected, actual))
    if "i" in expected and "j" in actual:
        actual = _IMAGINARY.sub("i", actual)
    result = verify(expected, actual)
    if not result.is_finished:
        return _leave_undecided(result)
    equal = result.equal
    is_whole = result.is_whole and (is_formula(unwrap(answer)) or _is_worded(answer))
    if not equal and _DECIMAL.fullmatch(unwrap(actual)):
        # A rounded value.
        return None
    if equal is None or not (equal or is_whole):
        return None
    return Decision(equal, "formula", f"{'equal' if equal else 'different'} formulas: {actual}, {expected}")


def _compare_signs(expected: str, actual: str) -> Decision | None:
    """Decide about formulas of variables with signs of logic or factorials: p ∧ q and p \\land q are equal, n! and n are not."""
    if len(expected) > _MAX_SIGNS or len(actual) > _MAX_SIGNS:
        return None
    first, second = (re.sub(r"\s", "", _write_logic(text)) for text in (expected, actual))
    # An answer may end with an exclamation mark.
    if not (_HAS_SIGN.search(first) or _HAS_LOGIC.search(second)) or not (_SIGNS.fullmatch(first) and _SIGNS.fullmatch(second)):
        return None
    if first == second:
        return Decision(True, "formula", f"same formula: {actual}")
    # Longer formulas may be equivalent.
    is_short = max(len(_HAS_LOGIC.findall(text)) for text in (first, second)) <= 1
    is_other = is_short and [*filter(str.isalpha, first)] == [*filter(str.isalpha, second)]
    return Decision(False, "formula", f"different formulas: {actual}, {expected}") if is_other else None


def _write_logic(text: str) -> str:
    for pattern, sign in _LOGIC:
        text = pattern.sub(sign, text)
    return text


@cache
def _verifier() -> MathVerifier:
    return MathVerifier()


@lru_cache(maxsize=4096)
def verify(reference: str, answer: str) -> MathResult:
    """Return whether Math-Verify finds two formulas equal."""
    with _LOCK:
        return _verifier().verify([([reference], answer)])[0]


def _leave_undecided(result: MathResult) -> Decision:
    return Decision(None, "formula", result.reason or "")


def _expression(reference: str, answer: str, *, only_formula: bool) -> str | None:
    """Return the formula that an answer is or ends with; with `only_formula`, only if it is one with signs of mathematics."""
    text = unwrap(answer)
    if len(text) <= _MAX_CHARACTERS and is_formula(text):
        is_list = (text[:1] in "[{(" and text[-1:] in ")}]") or ", " in text
        return text if not only_formula or (_MATH.search(text) and not is_list) else None
    if only_formula:
        return None
    if len(text) <= _MAX_CHARACTERS and (formula := _write_signs(text)):
        return formula
    return find_expression(answer, [reference])


def _write_signs(text: str) -> str | None:
    """Return a formula in words with signs: ten minus two times the square root of five; None for other texts."""
    words = " ".join(read_number_words(text.lower().rstrip(".").replace("-", " ").split(), {}))
    formula = words
    for pattern, sign in _WORDED:
        formula = pattern.sub(sign, formula)
    formula = " ".join(formula.split())
    return formula if formula != words and is_formula(formula) else None


def _is_worded(answer: str) -> bool:
    return len(answer) <= _MAX_CHARACTERS and _write_signs(unwrap(answer)) is not None


@cache
def _names() -> dict[str, str]:
    return {_plain(name): names[0] for names in _TABLES["named"] for name in names}


def _plain(text: str) -> str:
    text = strip_markup(text) or text
    return re.sub(rf"^{_AROUND}", "", " ".join(text.replace("$", "").lower().split()).rstrip(".!")).replace(" ", "")


@view
def _named(text: str) -> str | None:
    """Return the group of a named answer: DNE is "does not exist"; None for any other text."""
    return _names().get(_plain(text)) if len(text) <= 60 else None


def _compare_named(group: str, reference: str, answer: str) -> Decision | None:
    if (named := _named(answer)) is not None:
        return Decision(named == group, "formula", f"{named}, {group}")
    is_value = len(answer) <= _MAX_CHARACTERS and is_formula(unwrap(answer)) and any(map(str.isdigit, answer))
    if not is_value:
        return None
    result = verify(reference, answer)
    if not result.is_finished:
        return _leave_undecided(result)
    return None if result.equal else Decision(False, "formula", f"a value, {group}")
