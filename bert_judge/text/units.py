"""Units after numbers: one spelling for 5 km and 5 kilometers, 100 °C and 100 degrees Celsius, 60 mph and 60 miles per hour."""

import re
from collections.abc import Mapping
from pathlib import Path

from bert_judge.runtime.package_data import read_yaml

_NAMES: Mapping[str, list[str]] = read_yaml(Path(__file__).with_name("units.yaml"))
_SYMBOLS = {form: symbol for symbol, names in _NAMES.items() for name in names for form in (name, f"{name}s")}
_SYMBOLS |= {symbol: symbol for symbol in _NAMES}
# Normalisation has read a second as an ordinal.
_SYMBOLS_AFTER_PER = _SYMBOLS | {"2nd": "s"}
_SPEEDS = {"mph": "mi h", "kph": "km h", "kmh": "km h"}
_POWERS = {"square": "2", "sq": "2", "cubic": "3", "cu": "3"}
_UNIT_WORDS = frozenset({*_SYMBOLS, *_SPEEDS, *_POWERS, "degree", "degrees"}) - _NAMES.keys()
_ANY_UNIT = "|".join(sorted(_SYMBOLS, key=len, reverse=True))
_UNIT = re.compile(
    rf"\d (?:(?P<speed>{'|'.join(_SPEEDS)})|(?:(?P<power>{'|'.join(_POWERS)}) )?(?:degrees? )?(?P<unit>{_ANY_UNIT})"
    rf"(?: per (?P<per>{_ANY_UNIT}|2nd))?|degrees?)(?!\S)"
)


def write_unit_symbols(words: list[str]) -> list[str]:
    """Write the units after numbers as symbols, and speeds as normalisation splits m/s and km/h.

    >>> write_unit_symbols("5 kilometers in 3 hours and 10 square meters at 60 miles per hour".split())
    ['5', 'km', 'in', '3', 'h', 'and', '10', 'm2', 'at', '60', 'mi', 'h']
    """
    if _UNIT_WORDS.isdisjoint(words):
        return words
    return _UNIT.sub(lambda match: f"{match[0][0]} {_symbol(match)}", " ".join(words)).split()


def _symbol(match: re.Match[str]) -> str:
    """Return the symbol of the unit behind a digit; a degree alone has none, as normalisation drops °."""
    if match["speed"]:
        return _SPEEDS[match["speed"]]
    if not match["unit"]:
        return ""
    unit = _SYMBOLS[match["unit"]] + _POWERS.get(match["power"], "")
    if not match["per"]:
        return unit
    per = _SYMBOLS_AFTER_PER[match["per"]]
    return f"{unit} / {per}" if len(unit) == len(per) == 1 else f"{unit} {per}"
