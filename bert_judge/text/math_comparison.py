"""Compare an answer of mathematics with references: Math-Verify, and what it does not read.

The library decides about single values. Systems, named values, lists and units are taken apart before (`formula_parts`), names of
more than one letter become symbols (`formula_notation`), and literals, bases and primes are compared as text (`latex_forms`). Its
"equal" counts only if the parsed forms have every symbol of the source, and for a formula its "different" too. `is_whole` says
whether both texts were read to their ends, so that "different" can be relied on.
"""

import logging
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from bert_judge.text.formula_notation import PAIR, lost_symbols, same_products, unify_symbols
from bert_judge.text.formula_parts import FormulaParts, formula_core, pair_values, read_parts, split_unit, unit_ratio
from bert_judge.text.latex_forms import differ_in_notation, is_formula, is_no_number, math_verify_forms, read_literal

# Math-Verify rounds to six decimals; below this, numbers are compared by their ratio.
SMALL_NUMBER = 1e-3
# In a longer answer a quotation mark may look like a derivative.
MAX_NOTATION = 100

# A word, which Math-Verify takes for a product of its letters.
_WORD = re.compile(r"\\(?:text|mathrm|mbox)\s?\{[A-Za-z ]+\}")
_WORDS = re.compile(r"\\(?:mathrm|text|operatorname)\s?\{\s?[^{}]*[A-Za-z]{2}|[\u4e00-\u9fff]")


class MathResult(NamedTuple):
    """The result of a comparison.

    Attributes:
        equal: None if Math-Verify could not decide.
        reason: explains the result.
        is_finished: False if the comparison reached a limit of work, memory or time, or crashed.
        is_whole: both texts were read whole, so that formulas that are not equal are different.
    """

    equal: bool | None
    reason: str | None = None
    is_finished: bool = True
    is_whole: bool = False


NO_EXPRESSION = MathResult(None, "no mathematical expression in the answer")
NO_REFERENCE = MathResult(False, "no reference is a mathematical expression; compared as text")
OPEN = MathResult(None, "the formulas may be equivalent")


class _ResourceErrorHandler(logging.Handler):
    """Finds resource errors in the debug log of Math-Verify, which returns "not equal" for them."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.error_type: type[BaseException] | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and isinstance(record.exc_info[1], MemoryError | RecursionError):
            self.error_type = type(record.exc_info[1])


class MathComparer:
    """Compares in this process, without limits; `math_worker` sets them."""

    def __init__(self) -> None:
        import math_verify

        self._library = math_verify
        self._resource_errors = _ResourceErrorHandler()
        logger = logging.getLogger("math_verify")
        logger.setLevel(logging.DEBUG)
        logger.propagate = False
        logger.addHandler(self._resource_errors)

    def compare(self, references: Sequence[str], answer: str) -> MathResult:
        """Compare with each reference: equal if one is; undecided if one is not decided and none is equal."""
        self._resource_errors.error_type = None
        if PAIR.fullmatch(answer) and any("." in reference for reference in references):
            answer = answer.replace(",", ".")
        results = []
        for reference in references:
            results.append(self._compare(reference, answer))
            if results[-1].equal:
                return results[-1]
        if error := self._resource_errors.error_type:
            return MathResult(None, f"Math-Verify gave up: {error.__name__}", is_finished=False)
        comparable = [result for result in results if result is not NO_REFERENCE]
        return next((result for result in comparable if result.equal is None), comparable[0]) if comparable else NO_REFERENCE

    def _compare(self, reference: str, answer: str) -> MathResult:
        literals = read_literal(reference), read_literal(answer)
        if None not in literals:
            return _decide(literals[0] == literals[1])
        first, second = formula_core(reference), formula_core(answer)
        is_core = is_formula(first) and is_formula(second)
        if is_core and is_no_number(first) != is_no_number(second) and not (":" in first and ":" in second):
            return _decide(False)
        if _WORD.fullmatch(first) and _WORD.fullmatch(second):
            return _decide(first.casefold() == second.casefold())
        if is_core and (result := self._compare_parts(read_parts(first), read_parts(second), first, second)):
            return result
        if is_core:
            (first, unit), (second, other_unit) = split_unit(first), split_unit(second)
            if unit and other_unit:
                ratio = unit_ratio(unit, other_unit)
                if ratio is None:
                    return MathResult(None, f"another unit: {other_unit}, {unit}")
                if not ratio:
                    return _decide(False, f"another unit: {other_unit}, {unit}")
                reference, answer = f"${first}$", f"$({second}) \\cdot {ratio}$" if ratio != "1" else f"${second}$"
            if (is_same := same_products(first, second)) is not None:
                return _decide(is_same)
        result = self._compare_values(reference, answer, is_core=is_core)
        # Of several equations the answer may state one in another place.
        is_whole = is_core and not _WORDS.search(first + second) and first.count("=") == second.count("=") < 2
        return result._replace(is_whole=is_whole and result.equal is not None)

    def _compare_parts(
        self, expected: FormulaParts | None, actual: FormulaParts | None, reference: str, answer: str
    ) -> MathResult | None:
        """Compare systems, cases, named values and lists part by part; None: they are none, or Math-Verify reads them."""
        sides = [side for side in (expected, actual) if side]
        kinds = {side.kind for side in sides}
        if not sides or "\\pm" in reference + answer:
            return None
        if kinds & {"equations", "cases"}:
            if len(sides) < 2 or len(kinds) > 1:
                return _decide(False) if "cases" in kinds and len(sides) < 2 else OPEN
            is_same = self._match(expected.items, actual.items) if expected and actual else False
            return _decide(is_same) if is_same or "cases" in kinds else OPEN
        if any(side.names for side in sides):
            pairs = pair_values(expected, actual) if expected and actual else None
            if pairs:
                return self._combine([self._compare(*pair) for pair in pairs])
            # A value alone may be one of those that the answer names.
            return MathResult(False, is_whole=expected is not None)
        if kinds != {"list"} or len(sides) < 2 or expected is None or actual is None:
            return None
        has_repetition = any(len(set(side.items)) < len(side.items) for side in sides)
        is_plain = not any(character in item for side in sides for item in side.items for character in "(=")
        # Math-Verify reads a list as a set.
        return _decide(self._match(expected.items, actual.items)) if has_repetition and is_plain else None

    def _match(self, expected: Sequence[str], actual: Sequence[str]) -> bool:
        """Return whether each item equals another one of the answer, in any order."""
        remaining = list(actual)
        for item in expected:
            match = next((candidate for candidate in remaining if item == candidate or self._compare(item, candidate).equal), None)
            if match is None:
                return False
            remaining.remove(match)
        return not remaining

    def _combine(self, results: Sequence[MathResult]) -> MathResult:
        """Return the first result that is different, else the first undecided one, else equal."""
        return next((result for verdict in (False, None) for result in results if result.equal is verdict), MathResult(True))

    def _compare_values(self, reference: str, answer: str, *, is_core: bool) -> MathResult:
        forms, count = [*math_verify_forms(reference), *math_verify_forms(answer)], len(math_verify_forms(reference))
        forms = unify_symbols(forms)
        gold = self._parse(forms[:count])
        if not gold:
            return NO_REFERENCE
        expressions = self._parse(forms[count:])
        if not expressions:
            # LaTeX that Math-Verify cannot read is another formula.
            return MathResult(False) if "\\" in answer and is_formula(answer) else NO_EXPRESSION
        equal = self._are_equal(reference, gold, answer, expressions)
        lost = {letter for parsed in (gold, expressions) for letter in self._lost_symbols(parsed)}
        if lost and (equal or is_core):
            return MathResult(None, f"Math-Verify does not read {', '.join(sorted(lost))}")
        return MathResult(equal)

    def _are_equal(self, reference: str, gold: list[object], answer: str, expressions: list[object]) -> bool:
        if len(answer) <= MAX_NOTATION and differ_in_notation(reference, answer):
            return False
        # Not symmetric: an equation is simplified on the gold side only, an interval on the side of the answer.
        equal = self._library.verify(gold, expressions, timeout_seconds=None, allow_set_relation_comp=True)
        return bool(equal) and not self._differ_as_small_numbers(gold[0], expressions[0])

    def _lost_symbols(self, parsed: Sequence[Any]) -> set[str]:
        from sympy.core.function import AppliedUndef

        expression, source = parsed[0], parsed[-1]
        if not isinstance(source, str) or not hasattr(expression, "atoms"):
            return set()
        names = [str(atom) for atom in expression.atoms() if not atom.is_number]
        names += [str(function.func) for function in expression.atoms(AppliedUndef)]
        return lost_symbols(source, names)

    def _differ_as_small_numbers(self, gold: object, expression: object) -> bool:
        values = [self._value(number) for number in (gold, expression)]
        first, second = (value or 0.0 for value in values)
        largest = max(abs(first), abs(second))
        return None not in values and 0 < largest < SMALL_NUMBER and abs(first - second) > 0.01 * largest

    def _value(self, expression: object) -> float | None:
        if not getattr(expression, "is_number", False) or not getattr(expression, "is_real", False):
            return None
        value = expression.evalf()  # type: ignore[attr-defined]
        # sympy 1.14.0 leaves Mod(2, 5, evaluate=False) as it is.
        return float(value) if value.is_Float or value.is_Rational else None

    def _parse(self, forms: Sequence[str]) -> list[object]:
        """Return sympy expressions and their source; empty for a text without mathematics."""
        for form in forms:
            parsed: list[object] = self._library.parse(form, parsing_timeout=None)
            if any(not isinstance(expression, str) for expression in parsed):
                return parsed
        return []


def _decide(equal: bool, reason: str | None = None) -> MathResult:
    return MathResult(equal, reason, is_whole=True)
