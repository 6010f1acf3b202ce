"""Registry of judge kinds: one folder of `bert_judge/judges/` per kind, each with a `kind.py` that declares a `JudgeKind`.

This module and the `kind.py` modules import nothing heavy and no configuration, so that a label job can look its kind up for free.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING

import bert_judge.judges
from bert_judge.runtime.errors import InputError

if TYPE_CHECKING:
    from bert_judge.config.base import JudgeConfig

# Kinds that were registered from outside the package.
_REGISTERED: dict[str, JudgeKind] = {}


class JudgeKind:
    """What the rest of the program asks of a kind of judge.

    Attributes:
        name: value of the configuration's `kind` key.
    """

    name: str

    @property
    def config(self) -> type[JudgeConfig]:
        """The model of a configuration block of this kind."""
        raise NotImplementedError


def register(kind: JudgeKind) -> None:
    """Add a kind, or replace the one with its name."""
    from bert_judge.config import root

    _REGISTERED[kind.name] = kind
    root.config_model.cache_clear()


def unregister(name: str) -> None:
    """Remove a kind that `register` added."""
    from bert_judge.config import root

    del _REGISTERED[name]
    root.config_model.cache_clear()


def find(name: str) -> JudgeKind:
    """Return the kind with this name.

    Raises:
        InputError: there is none.
    """
    if name in _REGISTERED:
        return _REGISTERED[name]
    if name not in _built_in_names():
        raise InputError(f"unknown kind of judge {name!r}; known are: {', '.join(names())}")
    kind: JudgeKind = importlib.import_module(f"bert_judge.judges.{name}.kind").KIND
    return kind


def names() -> list[str]:
    """Return the names of all kinds, built-in ones first."""
    return list(dict.fromkeys([*_built_in_names(), *_REGISTERED]))


def kinds() -> list[JudgeKind]:
    """Return all kinds in the order of `names`."""
    return [find(name) for name in names()]


@cache
def _built_in_names() -> tuple[str, ...]:
    """Return the names of the sub-packages of `bert_judge.judges`, sorted."""
    return tuple(module.name for module in pkgutil.iter_modules(bert_judge.judges.__path__) if module.ispkg)
