"""Verdicts of the rules by name, each loaded once."""

from __future__ import annotations

from collections.abc import Sequence

from bert_judge.judges.lexical.judge import LexicalJudge
from bert_judge.judges.protocol import Label, Row
from bert_judge.labels.judge_loading import RULES

_judges: dict[str, LexicalJudge] = {}


def label(rule: str, references: Sequence[str], candidate: str, question: str = "Which?") -> Label:
    judge = _judges.setdefault(rule, LexicalJudge(RULES[rule]))
    return judge.judge([Row("id", 0, "model", question, tuple(references), candidate)])[0]


def close() -> None:
    """End the worker processes."""
    while _judges:
        _judges.popitem()[1].close()
