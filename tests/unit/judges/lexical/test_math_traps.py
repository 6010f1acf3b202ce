"""Ordinary mathematics that the library Math-Verify decides wrongly, under the rule `math_verify` and under the default judge."""

from pathlib import Path

import pytest
import yaml

from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.judges.lexical.judge import LexicalJudge
from bert_judge.judges.protocol import Judge, Label, Row
from bert_judge.labels.judge_loading import RULES
from bert_judge.text.rules import decide

CLASSES = yaml.safe_load(Path(__file__).with_name("math_traps.yaml").read_text("utf-8"))
# Shares of the rows with one right verdict that the default judge decides rightly, and its rule modules by themselves.
GENERAL_RIGHT, DECIDED = 0.95, 0.8


@pytest.mark.parametrize("rows", [pytest.param(rows, id=name.replace(" ", "-")) for name, rows in CLASSES.items()])
def test_verdicts(rows: list[list[str]]) -> None:
    with LexicalJudge(RULES["math_verify"]) as judge:
        assert not _wrong(judge, rows)


def test_verdicts_of_the_default_judge() -> None:
    rows = [row for of_class in CLASSES.values() for row in of_class if "|" not in row[2]]
    wrong = _wrong(BERTJudge(), rows)
    assert len(wrong) <= (1 - GENERAL_RIGHT) * len(rows), wrong
    decisions = [(row, decide("".join(row[3:]), row[:1], row[1])) for row in rows]
    assert not [row for row, decision in decisions if decision and decision.verdict != row[2]]
    assert sum(decision is not None for _, decision in decisions) >= DECIDED * len(rows)


def _wrong(judge: Judge, rows: list[list[str]]) -> list[tuple[list[str], Label]]:
    labels = judge.judge([Row(str(i), 0, "m", "".join(row[3:]), (row[0],), row[1]) for i, row in enumerate(rows)])
    return [(row, label) for row, label in zip(rows, labels, strict=True) if label.verdict not in row[2].split("|")]
