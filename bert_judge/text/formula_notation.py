r"""Notation and symbols that Math-Verify does not read, as it reads them, and the symbols that it lost.

math-verify 0.9.0 drops the dot of 0.\dot{3}, takes the complex root of \sqrt[3]{-8} and the sine of 30 radians for \sin 30^\circ,
and reads 0x1F as the product 0·x·1·f, 4!! as (4!)!, and two numbers side by side as their sum.
With latex2sympy2_extended 1.11.0 it writes all symbols in small letters, so that \pi(R^2-r^2) is 0; works out \frac{dy}{dx} as the
derivative of y with respect to x, which is 0; reads \angle ABC as a product; and takes i for a variable. So names of more than one
letter, and capital letters beside the same small one, get symbols of their own before the library is asked. What it drops then is
found by comparing the letters of a source with the symbols of the parsed form.
"""

import math
import re
from collections.abc import Callable, Iterable, Sequence

_RECURRING = re.compile(
    r"(?<![\d.,])(\d{0,9})\.(\d{0,9}?)(?:\\(?:overline|bar)\s?\{?(\d{1,9})\}?|\\dot\s?\{?(\d)\}?(?:(\d{0,7})\\dot\s?\{?(\d)\}?)?|\((\d{1,9})\)(?!\s?[\d(^]))"
)
# 0.333\ldots, 0.1666…: the last digits three times, or several digits twice.
_CONTINUED = re.compile(r"(?<![\d.,])(\d{0,9})\.(\d{0,9}?)(?:(\d)\3{2,9}|(\d{2,9})\4{1,4})\s?(?:\\[lc]?dots|\.{3}|…)(?!\d)")
_PROGRAM_LITERAL = re.compile(r"(?<![\w.\\])0(?:[xX][0-9a-fA-F]{1,16}|[bB][01]{1,64}|[oO][0-7]{1,21})(?!\w)")
_DOUBLE_FACTORIAL = re.compile(r"(?<![\w.!])(\d{1,2})!!(?!!)")
_ODD_ROOT = re.compile(r"\\sqrt\s?\[\s?(\d?[13579])\s?\]\s?\{\s?-\s?([^{}]+)\}")
_DEGREES = re.compile(r"(\\(?:sin|cos|tan|cot|sec|csc)\s*[({]?\s*)(-?\d+(?:\.\d+)?)\s*\^\s?\{?\s?\\circ\s?\}?")
_SIDE = r"[^<>=$\\,;]{1,30}?|-?\\[a-z]+\{[^<>=$,;]{1,30}\}|-?\\(?:pi|infty)\s?"
_DESCENDING = re.compile(rf"(\A|\$)\s*({_SIDE})\s*(>|\\geq?(?![a-z]))\s*([A-Za-z])\s*(>|\\geq?(?![a-z]))\s*({_SIDE})\s*(\$|\Z)")
_RELATION = r"(<|>|\\[lg]eq?(?![a-z]))"
_DISJUNCTION = re.compile(
    rf"\s*([a-z])\s*{_RELATION}\s*([^<>=,;]+?)[\s,]*(?:\bor\b|\\text\s?\{{\s*or\s*\}}|\\lor(?![a-z])|\\vee(?![a-z]))\s*\1\s*{_RELATION}\s*([^<>=,;]+?)\s*"
)
_END = r"[^\[\](){}$,;]{1,30}"
# Intervals in French notation: ]0,1[
_REVERSED = re.compile(rf"([\[\]])\s*({_END}[,;]\s*{_END})([\[\]])")
_SIDE_BY_SIDE = re.compile(r"(?<![\w.,/^{}\\])(\d{1,9})(?:\s|\\[ ,;:])+(?=\d{1,2}(?![\d/,.])(?!\s?/))")
# Two numbers; a decimal comma if the reference has a decimal point, or the question asks for one number.
PAIR = re.compile(r"[-−]?[1-9]\d*,\d")
_ASKS_AMOUNT = re.compile(r"\bhow (?:many|much)\b|\bwie ?viele?\b|\bcombien\b|\bcuánt|\bquant[eio]\b|\bkolik\b", re.IGNORECASE)
_RATIO = re.compile(r"(?<![\d:])(\d+)\s?:\s?(\d+)(?![\d:])")
_ASKS_RATIO = re.compile(r"\b(?:ratio|proportion|odds|scale|quotient|verhältnis|rapport|razón|relación)", re.IGNORECASE)


def rewrite_numbers(text: str) -> str:
    """Write recurring decimals as fractions, literals of programming languages and double factorials as integers."""
    text = _CONTINUED.sub(lambda match: _write_recurring(match[1], match[2], match[3] or match[4]), text)
    text = _RECURRING.sub(_write_marked, text)
    text = _PROGRAM_LITERAL.sub(lambda match: str(int(match[0], 0)), text)
    return _DOUBLE_FACTORIAL.sub(lambda match: str(math.prod(range(int(match[1]), 0, -2))), text)


def rewrite_operators(text: str) -> str:
    """Write real roots, degrees as radians, relations in ascending order, and numbers side by side as a list; text is LaTeX."""
    text = _ODD_ROOT.sub(r"(-\\sqrt[\1]{\2})", text)
    text = _DEGREES.sub(r"\1\\frac{\2 \\pi}{180}", text)
    text = _DESCENDING.sub(_reverse_chain, text)
    text = _REVERSED.sub(_write_interval, text)
    return _SIDE_BY_SIDE.sub(r"\1, ", text)


def write_union(text: str) -> str | None:
    """Return x < 1 or x > 2 as a union of intervals; None for any other text."""
    match = _DISJUNCTION.fullmatch(text.replace("$", " "))
    if not match:
        return None
    return _join_intervals((match[2], match[3]), (match[4], match[5]))


def write_numbers(question: str, text: str) -> str:
    """Return a text whose a:b are fractions if the question asks for a ratio, and 2,5 is 2.5 if it asks how much."""
    if PAIR.fullmatch(text) and _ASKS_AMOUNT.search(question):
        return text.replace(",", ".")
    return _RATIO.sub(r"\\frac{\1}{\2}", text) if _ASKS_RATIO.search(question) else text


def _join_intervals(*ends: tuple[str, str]) -> str:
    intervals = []
    for relation, value in ends:
        bracket = "[]" if "e" in relation else "()"
        is_below = relation[0] == "<" or relation.startswith("\\l")
        intervals.append(rf"(-\infty,{value}{bracket[1]}" if is_below else rf"{bracket[0]}{value},\infty)")
    return r"\cup ".join(sorted(intervals, key=lambda interval: not interval.startswith(r"(-\infty")))


def _write_marked(match: re.Match[str]) -> str:
    repeated = match[3] or match[7] or "".join(digits or "" for digits in match.group(4, 5, 6))
    return _write_recurring(match[1], match[2], repeated)


def _write_recurring(integer: str, fixed: str, repeated: str) -> str:
    numerator = int(integer + fixed + repeated) - int(integer + fixed or "0")
    return rf"\frac{{{numerator}}}{{{'9' * len(repeated)}{'0' * len(fixed)}}}"


def _reverse_chain(match: re.Match[str]) -> str:
    first, second = ("<" if relation == ">" else "\\le " for relation in match.group(5, 3))
    return f"{match[1]}{match[6]} {first} {match[4]} {second} {match[2]}{match[7]}"


def _write_interval(match: re.Match[str]) -> str:
    if (match[1], match[3]) == ("[", "]"):
        return match[0]
    return f"{'[' if match[1] == '[' else '('}{match[2]}{']' if match[3] == ']' else ')'}"


_COMMAND = r"\\[A-Za-z]+"
# Words and fonts, whose letters are no variables.
_WORDS = re.compile(
    r"\\begin\s?\{array\}\s?\{[^{}]*\}|\b(?:and|or)\b"
    r"|\\(?:text\w*|mathrm|mathbf|mathit|mathbb|mathcal|operatorname|mbox|begin|end)\*?\s*\{[^{}]*\}"
)
_PROSE = re.compile(r"(?<![\\A-Za-z{])[A-Za-z]{3,}")
_FORMULA = re.compile(r"\$[^$]+\$|\\\(.+?\\\)|\\boxed\s?\{.+\}", re.DOTALL)
# A letter that is no part of a command or of a subscript in words.
_LETTER = re.compile(rf"{_COMMAND}|([A-Za-z])")
_DIFFERENTIAL = r"(?:\\mathrm\s?\{\s?d\s?\}|\{\\rm d\}|d|\\partial)\s*"
_VARIABLE = rf"([A-Za-z]|{_COMMAND})"
_POWER = r"(?:\^\s?\{?\s?(\w)\s?\}?)?"
_DERIVATIVE = re.compile(
    rf"\\[dt]?frac\s*\{{\s*{_DIFFERENTIAL}{_POWER}\s*{_VARIABLE}(?:\s?\([a-z]\))?\s*\}}\s*"
    rf"\{{\s*{_DIFFERENTIAL}{_VARIABLE}\s*{_POWER}\s*\}}"
    rf"|(?<![A-Za-z\\])d{_POWER}([A-Za-z])\s*/\s*d([A-Za-z]){_POWER}(?![A-Za-z])"
)
_ANGLE = re.compile(r"(?:\\angle|∠)\s*\{?\s*([A-Z])\s*([A-Z])\s*([A-Z])(?![A-Za-z])\s*\}?")
# Letters for new symbols, of which one is taken that no text has.
_FRESH = ("\\xi", "\\chi", "\\zeta", "\\psi")
# i beside a number, a root or a sign, as a power or alone; and what makes it an index or the current.
_IMAGINARY = re.compile(r"(?<![A-Za-z\\_])i(?![A-Za-z_=]|\s*=)")
_COMPLEX = re.compile(
    r"(?:\d|\}|[-+(]|\^\s?\{?|\A|\$)\s*i(?![A-Za-z(])|(?<![A-Za-z\\])i\s*(?:\\sqrt|\\pi|\^|[-+]|\d)|\\sqrt\s?\{\s?-\s?\d+\s?\}"
)
_INDEX = re.compile(r"_\s?\{?\s?i|(?<![A-Za-z\\])[jk](?![A-Za-z])|\\(?:sum|prod|in\b)|I|i\s*[=(<]")
# Symbols that are bound, so that they may vanish when the formula is worked out.
_BINDING = re.compile(r"\\(?:sum|prod|int|lim|frac\s*\{\s*d|forall|exists|mapsto|to\b|in\b)|\bd[a-z]\b")
_LEFT_SIDE = re.compile(r"[^,;]*(?<![<>!\\])(?:=|\\approx(?![a-z]))")
_CONSTANTS = frozenset("eid")
_CAPITAL_FACTOR = re.compile(r"([A-Z])\s*(?:\^\s*(?:\{\s*(-1|T|\\top|\\mathsf\{T\})\s*\}|(T|\\top)))?\s*")


def unify_symbols(texts: Sequence[str]) -> list[str]:
    r"""Return formulas to compare with equal names as equal symbols: \frac{dy}{dx}, \angle ABC, and R beside r."""
    fresh = next((symbol for symbol in _FRESH if not any(symbol in text for text in texts)), None)
    if fresh is None:
        return list(texts)
    names: dict[tuple[str | None, ...], str] = {}

    def symbol(*name: str | None) -> str:
        return f"{fresh}_{{{names.setdefault(name, str(len(names) + 1))}}}"

    texts = [_DERIVATIVE.sub(lambda match: symbol(*match.groups()), text) for text in texts]
    texts = [_ANGLE.sub(lambda match: symbol("angle", match[2], *sorted((match[1], match[3]))), text) for text in texts]
    letters = [_letters(_select_formulas(text)) for text in texts]
    both = {letter for of_text in letters for letter in of_text if letter.isupper() and letter.lower() in of_text}
    if both:

        def rename(formula: str) -> str:
            return _replace_letters(formula, lambda letter: symbol(letter) if letter in both else letter)

        texts = [_change_formulas(text, rename) for text in texts]
    formulas = [_select_formulas(text) for text in texts]
    if any(map(_COMPLEX.search, formulas)) and not any(map(_INDEX.search, formulas)):
        # The capital letter is the imaginary unit, whose power is lost without brackets.
        texts = [_change_formulas(text, lambda formula: _IMAGINARY.sub("(I)", formula)) for text in texts]
    return list(texts)


def _change_formulas(text: str, change: Callable[[str], str]) -> str:
    """Change the formulas of a text: all of it, unless it has words."""
    return _FORMULA.sub(lambda match: change(match[0]), text) if _PROSE.search(_WORDS.sub(" ", text)) else change(text)


def _select_formulas(text: str) -> str:
    return " ".join(_FORMULA.findall(text)) if _PROSE.search(_WORDS.sub(" ", text)) else text


def _letters(text: str) -> set[str]:
    return {match[1] for match in _LETTER.finditer(_WORDS.sub(" ", text)) if match[1]}


def _replace_letters(text: str, replace: Callable[[str], str]) -> str:
    pieces: list[str] = []
    end = 0
    for words in _WORDS.finditer(text):
        pieces += [_replace_in_formula(text[end : words.start()], replace), words[0]]
        end = words.end()
    return "".join(pieces) + _replace_in_formula(text[end:], replace)


def _replace_in_formula(text: str, replace: Callable[[str], str]) -> str:
    return _LETTER.sub(lambda match: replace(match[1]) if match[1] else match[0], text)


def lost_symbols(source: str, names: Iterable[str]) -> set[str]:
    """Return the letters of a formula that no symbol of its parsed form has; none where some are bound.

    The left side of an equation, of which Math-Verify may take the value, does not count.
    """
    if _BINDING.search(source):
        return set()
    source = _LEFT_SIDE.sub("", source)
    kept_letters = {letter for name in names for letter in name.lower()}
    return {letter for letter in map(str.lower, _letters(source)) if letter not in kept_letters} - _CONSTANTS


def same_products(first: str, second: str) -> bool | None:
    """Return whether two products of matrices have the same factors in the same order: A^{-1}B is not BA^{-1}.

    None if one of them is no product of at least two capital letters, or none of their factors is inverted or transposed.
    """
    products = [_read_factors(text) for text in (first, second)]
    if not all(products) or not any(power for product in products for _, power in product):
        return None
    return products[0] == products[1]


def _read_factors(text: str) -> list[tuple[str, str]]:
    """Return the letters of a product with their powers; empty for any other text."""
    factors: list[tuple[str, str]] = []
    position = 0
    while match := _CAPITAL_FACTOR.match(text, position):
        power = match[2] or match[3]
        factors.append((match[1], "" if not power else "inverse" if power == "-1" else "transpose"))
        position = match.end()
    return factors if position == len(text) and len({letter for letter, _ in factors}) > 1 else []
