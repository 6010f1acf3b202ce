r"""Notation that Math-Verify does not read, in the notation that it reads.

math-verify 0.9.0 drops the dot of 0.\dot{3}, takes the complex root of \sqrt[3]{-8} and the sine of 30 radians for \sin 30^\circ,
and reads 0x1F as the product 0·x·1·f, 4!! as (4!)!, and two numbers side by side as their sum.
"""

import math
import re

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
    repeated = match[3] or match[7] or "".join(part or "" for part in match.group(4, 5, 6))
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
