"""Chemical elements, isotopes and compounds by name and by formula: gold and Au, uranium-235 and U-235, water and H2O."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from bert_judge.runtime.package_data import read_yaml

_TABLES: Mapping[str, Any] = read_yaml(Path(__file__).with_suffix(".yaml"))
_SYMBOL = "|".join(sorted(_TABLES["elements"], key=len, reverse=True))
_PARTS = re.compile(rf"({_SYMBOL})(\d*)|\(((?:(?:{_SYMBOL})\d*)+)\)(\d*)")
_FORMULA = re.compile(rf"(?:(?:{_SYMBOL})\d*|\((?:(?:{_SYMBOL})\d*)+\)\d*)+")
# U-235, 235U and ^{235}U; uranium-235.
_ISOTOPE = re.compile(rf"({_SYMBOL})[- ](\d{{1,3}})|(\d{{1,3}})({_SYMBOL})")
_NAMED_ISOTOPE = re.compile(r"([a-z]{3,})[- ]?(\d{1,3})")
_MARKUP = re.compile(r"\\(?:ce|mathrm|text)|[\\${}_^]")
# Some initials of names are formulas too: NBC.
_IS_COMPOUND, _HAS_WORD = re.compile(r"[a-z\d]"), re.compile("[a-z]{4}")
_NAMES = {name: symbol for symbol, name in _TABLES["elements"].items()}
_NAMES |= {name: formula for formula, names in _TABLES["compounds"].items() for name in names}
_MAX_CHARACTERS = 40


class Substance(NamedTuple):
    """Symbol → number of its atoms in the formula, and the mass number of an isotope."""

    atoms: Mapping[str, int]
    mass: int | None = None


@lru_cache(maxsize=4096)
def read_formula(text: str) -> Substance | None:
    """Return the element, isotope or compound of a formula; None for any other text. A word may be one too: Bacon is BaCoN."""
    if len(text) > _MAX_CHARACTERS:
        return None
    text = _MARKUP.sub("", unicodedata.normalize("NFKC", text)).strip()
    if isotope := _ISOTOPE.fullmatch(text):
        return Substance({isotope[1] or isotope[4]: 1}, int(isotope[2] or isotope[3]))
    return Substance(_count_atoms(text)) if _FORMULA.fullmatch(text) else None


def _count_atoms(formula: str) -> Counter[str]:
    atoms: Counter[str] = Counter()
    for symbol, number, group, group_number in _PARTS.findall(formula):
        for name, count in (_count_atoms(group) if group else {symbol: 1}).items():
            atoms[name] += count * int(number or group_number or 1)
    return atoms


def _read_name(text: str) -> Substance | None:
    name = text.casefold().strip().replace("sulph", "sulf").replace("aluminum", "aluminium")
    name, mass = isotope.groups() if (isotope := _NAMED_ISOTOPE.fullmatch(name)) else (name, None)
    formula = _NAMES.get(name)
    if formula is None or (mass and formula not in _TABLES["elements"]):
        return None
    return Substance(_count_atoms(formula), int(mass) if mass else None)


def compare_substances(first: str, second: str) -> bool | None:
    """Return whether a known name and a formula mean the same; None for other texts, and an element beside its isotope."""
    for name, formula in ((first, second), (second, first)):
        named, written = _read_name(name), read_formula(formula)
        if named and written:
            return _is_same(named, written)
    return None


def _is_same(named: Substance, written: Substance) -> bool | None:
    is_element = named.atoms.keys() == written.atoms.keys() and len(named.atoms) == 1
    if named.mass or written.mass:
        # C14 is carbon-14 too.
        mass = written.mass or next(count if count > 1 else None for count in written.atoms.values())
        return False if not is_element else named.mass == mass if named.mass and mass else None
    # An element is also its molecule: O2, S8. But ozone is not oxygen.
    return named.atoms == written.atoms or (is_element and 3 not in (*named.atoms.values(), *written.atoms.values()))


def is_unknown_formula(first: str, second: str) -> bool:
    """Return whether one text is the formula of a compound, and the other an unknown name: MgCl2, magnesium chloride."""
    return compare_substances(first, second) is None and any(
        (substance := read_formula(formula))
        and len(substance.atoms) > 1
        and _IS_COMPOUND.search(formula)
        and _HAS_WORD.search(name)
        for formula, name in ((first, second), (second, first))
    )
