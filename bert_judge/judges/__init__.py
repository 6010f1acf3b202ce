"""Judges: candidates in, verdicts out. One folder per kind; see `registry.py`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from bert_judge.judges.bert.judge import BERTJudge
    from bert_judge.judges.protocol import Judge, Label, Row, decided, invalid

__all__ = ["BERTJudge", "Judge", "Label", "Row", "decided", "invalid"]


def __getattr__(name: str) -> Any:
    """Import on first use: the configuration reads the kinds of this package and needs neither pandas nor torch for it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = "bert_judge.judges.bert.judge" if name == "BERTJudge" else "bert_judge.judges.protocol"
    return getattr(importlib.import_module(module), name)
