r"""Symbols of formulas, as Math-Verify has to see them, and those that it lost.

math-verify 0.9.0 with latex2sympy2_extended 1.11.0 writes all symbols in small letters, so that \pi(R^2-r^2) is 0; works out
\frac{dy}{dx} as the derivative of y with respect to x, which is 0; reads \angle ABC as a product; and takes i for a variable. So
names of more than one letter, and capital letters beside the same small one, get symbols of their own before the library is asked.
What it drops then is found by comparing the letters of a source with the symbols of the parsed form.
"""

import re
from collections.abc import Callable, Iterable, Sequence

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
    kept = {letter for name in names for letter in name.lower()}
    return {letter for letter in map(str.lower, _letters(source)) if letter not in kept} - _CONSTANTS


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
