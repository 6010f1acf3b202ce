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
_TERMS = re.compile(rf"({_SYMBOL})(\d*)|\(((?:(?:{_SYMBOL})\d*)+)\)(\d*)")
_FORMULA = re.compile(rf"(?:(?:{_SYMBOL})\d*|\((?:(?:{_SYMBOL})\d*)+\)\d*)+")
# U-235, 235U and ^{235}U.
_ISOTOPE = re.compile(rf"(?P<symbol>{_SYMBOL})[- ](?P<mass>\d{{1,3}})|(?P<before>\d{{1,3}})(?P<behind>{_SYMBOL})")
_NAMED_ISOTOPE = re.compile(r"(?P<name>[a-z]{3,})[- ]?(?P<mass>\d{1,3})")
_MARKUP = re.compile(r"\\(?:ce|mathrm|text)|[\\${}_^]")
# Some initials of names are formulas too: NBC.
_IS_COMPOUND, _HAS_WORD = re.compile(r"[a-z\d]"), re.compile("[a-z]{4}")
_SPELLINGS = {"sulph": "sulf", "aluminum": "aluminium", "cesium": "caesium"}
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
        return Substance({isotope["symbol"] or isotope["behind"]: 1}, int(isotope["mass"] or isotope["before"]))
    return Substance(_count_atoms(text)) if _FORMULA.fullmatch(text) else None


def _count_atoms(formula: str) -> Counter[str]:
    atoms: Counter[str] = Counter()
    for symbol, number, group, group_number in _TERMS.findall(formula):
        factor = int(number or group_number or 1)
        for name, count in (_count_atoms(group) if group else {symbol: 1}).items():
            atoms[name] += factor * count
    return atoms


_NAMES = {name: symbol for symbol, name in _TABLES["elements"].items()}
_NAMES |= {name: formula for formula, names in _TABLES["compounds"].items() for name in names}


@lru_cache(maxsize=4096)
def read_name(text: str) -> Substance | None:
    """Return the element, isotope or compound that a text names; None for any other text."""
    name = text.casefold().strip()
    for spelling, replacement in _SPELLINGS.items():
        name = name.replace(spelling, replacement)
    isotope = _NAMED_ISOTOPE.fullmatch(name)
    formula = _NAMES.get(isotope["name"] if isotope else name)
    if formula is None or (isotope and formula not in _TABLES["elements"]):
        return None
    return Substance(_count_atoms(formula), int(isotope["mass"]) if isotope else None)


def compare_substances(first: str, second: str) -> bool | None:
    """Return whether a name and a formula mean the same substance; None unless one text is a known name and the other a formula."""
    for name, formula in ((first, second), (second, first)):
        named, written = read_name(name), read_formula(formula)
        if named and written:
            return _is_same(named, written)
    return None


def _is_same(named: Substance, written: Substance) -> bool | None:
    """Return whether both are the same; None if only one is an isotope of the other."""
    is_element = named.atoms.keys() == written.atoms.keys() and len(named.atoms) == 1
    if named.mass or written.mass:
        # C14 is carbon-14 too.
        mass = written.mass or next(count if count > 1 else None for count in written.atoms.values())
        return False if not is_element else named.mass == mass if named.mass and mass else None
    # An element is also its molecule: O2, S8. But ozone is not oxygen.
    is_molecule = is_element and 3 not in (*named.atoms.values(), *written.atoms.values())
    return named.atoms == written.atoms or is_molecule


def is_unknown_formula(first: str, second: str) -> bool:
    """Return whether one text is the formula of a compound, and the other an unknown name: MgCl2, magnesium chloride."""
    return compare_substances(first, second) is None and any(
        (substance := read_formula(formula))
        and len(substance.atoms) > 1
        and _IS_COMPOUND.search(formula)
        and _HAS_WORD.search(name)
        for formula, name in ((first, second), (second, first))
    )
