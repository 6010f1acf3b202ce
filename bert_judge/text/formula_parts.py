r"""Parts of an answer of mathematics that are compared one by one: named values, equations of a system, cases, members of a list.

math-verify 0.9.0 keeps the last line of a system, drops the names of values and the order that they give, and counts members of a
list once. Here a text is read as parts; Math-Verify then compares single values only.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from bert_judge.text.latex import boxed
from bert_judge.text.quantities import is_quantity

_SYSTEM = re.compile(
    r"(?:\\left\s*)?(?:\\\{|\\lbrace|\.)?\s*\\begin\s?\{(cases|aligned|align\*?|array|gathered|split)\}(?:\s?\{[lcr|]+\})?(.*?)"
    r"\\end\s?\{\1\}\s*(?:\\right\s*(?:\.|\\\}))?",
    re.DOTALL,
)
_LINE = re.compile(r"\\\\(?:\s?\[[^\]]*\])?|\\cr\b")
_AROUND = re.compile(r"\A(?:\s|\$|\\[()\[\],;! ]|\\displaystyle)+|(?:\s|\$|\\[()\[\],;! ]|\.)+\Z")
_SPACE = re.compile(r"(?<!\\)\\[ ,;:!]|\s+|~")
_EQUATION = re.compile(r"\s*((?:[A-Za-z]{1,4}|\\[a-z]+)(?:_\{?\w+\}?)?)\s*&?=\s*&?\s*([^=<>]+?)\s*")
_NAMED_TUPLE = re.compile(r"\(([^()=]+)\)\s*=\s*\((.+)\)")
_AND = re.compile(r"\s*(?:,|;|\\q?quad\b|\\text\s?\{\s*(?:and|or)\s*\}|\b(?:and|or)\b)\s*")
_OPENING, _CLOSING = "([{", ")]}"
_THOUSANDS = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_MAX_MEMBERS = 12
_UNIT = re.compile(r"(.*?[^\s\\])(?:\s|\\[ ,;:]|~)*\\(?:text|mathrm|mbox)\s?\{([^{}]+)\}((?:\^\{?-?\d\}?)?)")


class FormulaParts(NamedTuple):
    """An answer in parts.

    Attributes:
        kind: "values" (a name each, or none), "equations" (of a system, in any order), "cases", or "list".
        items: texts of the parts.
        names: of the values, in the same order; empty if they have none.
    """

    kind: str
    items: tuple[str, ...]
    names: tuple[str, ...] = ()


def formula_core(text: str) -> str:
    """Return the content of a text's box, or the text, without dollars, spaces and a point around it."""
    return _SPACE.sub(" ", _AROUND.sub("", boxed(text) or text))


def read_parts(text: str) -> FormulaParts | None:
    """Return the parts of an answer that is a system, cases, named values, a tuple or a list; None for any other."""
    if system := _SYSTEM.fullmatch(text):
        lines = [line.strip() for line in _LINE.split(system[2]) if line.strip()]
        if any(_has_condition(line) for line in lines):
            return FormulaParts("cases", tuple(lines))
        return _read_equations([line.replace("&", " ").strip().rstrip(",;.") for line in lines])
    if named := _NAMED_TUPLE.fullmatch(text):
        names, values = (split_members(side) for side in named.groups())
        return FormulaParts("values", values, tuple(name.strip() for name in names)) if len(names) == len(values) > 1 else None
    if text.startswith("(") and text.endswith(")") and len(members := split_members(text[1:-1])) > 1 and _is_closed(text[1:-1]):
        return FormulaParts("values", members)
    members = split_members(text)
    if not 1 < len(members) <= _MAX_MEMBERS or _THOUSANDS.fullmatch(text):
        return None
    equations = _read_equations(members)
    # Values of one name, x = 2 or x = 3, and those of x_1 and x_2, have any order.
    letters = {name.partition("_")[0] for name in equations.names} if equations else set()
    return equations if equations and len(letters) > 1 else FormulaParts("list", members)


def _has_condition(line: str) -> bool:
    value, _, condition = line.partition("&")
    return bool(condition) and not re.match(r"\s*(?:=|\\[lg]e|[<>])", condition) and not re.search(r"[=<>]\s*\Z", value)


def _read_equations(lines: Sequence[str]) -> FormulaParts | None:
    equations = [_EQUATION.fullmatch(line) for line in lines]
    if not lines:
        return None
    names = tuple(match[1] for match in equations if match)
    if len(names) == len(lines) == len(set(names)):
        return FormulaParts("values", tuple(match[2] for match in equations if match), names)
    return FormulaParts("equations", tuple(lines))


def split_members(text: str) -> tuple[str, ...]:
    """Split a list at the commas outside brackets, and at "and" and "or"."""
    members: list[str] = []
    depth = start = position = 0
    while position < len(text):
        if text[position] in _OPENING:
            depth += 1
        elif text[position] in _CLOSING:
            depth -= 1
        elif not depth and (separator := _AND.match(text, position)) and separator.end() > position:
            members.append(text[start:position])
            start = position = separator.end()
            continue
        position += 1
    return tuple(member.strip() for member in (*members, text[start:]) if member.strip())


def _is_closed(text: str) -> bool:
    """Return whether the brackets of a text close within it: not those of "1,2),(3,4"."""
    depth = 0
    for character in text:
        depth += (character in _OPENING) - (character in _CLOSING)
        if depth < 0:
            return False
    return depth == 0


def pair_values(reference: FormulaParts, answer: FormulaParts) -> list[tuple[str, str]] | None:
    """Return the values to compare, in the order of the names; None if the names or their number differ.

    A tuple without names has the order of the names of the reference, or the alphabetical one of the answer's.
    """
    if len(reference.items) != len(answer.items):
        return None
    if reference.names and answer.names:
        values = dict(zip(answer.names, answer.items, strict=True))
        if values.keys() != set(reference.names):
            return None
        return [(item, values[name]) for name, item in zip(reference.names, reference.items, strict=True)]
    actual = answer.items
    if answer.names:
        actual = tuple(item for _, item in sorted(zip(answer.names, answer.items, strict=True)))
    return list(zip(reference.items, actual, strict=True))


def split_unit(text: str) -> tuple[str, str]:
    r"""Return a formula and the unit behind it: 2\sqrt{3} \text{ m}; the text and "" without one."""
    match = _UNIT.fullmatch(text)
    return (match[1], match[2].strip() + match[3]) if match and re.search(r"[A-Za-z°]", match[2]) else (text, "")


def unit_ratio(unit: str, second_unit: str) -> str | None:
    """Return the factor of values in the other unit: "1000" for m and km; "" if they measure something else, None if unknown."""
    quantities = [is_quantity(f"1 {text}") for text in (unit, second_unit)]
    if unit.split() == second_unit.split():
        return "1"
    units = [quantity.unit for quantity in quantities if quantity and quantity.unit]
    if len(units) < 2:
        return None
    if units[0].dimension != units[1].dimension or units[0].offset != units[1].offset:
        return ""
    ratio = units[1].factor / units[0].factor
    return str(ratio) if ratio.denominator == 1 else rf"\frac{{{ratio.numerator}}}{{{ratio.denominator}}}"
