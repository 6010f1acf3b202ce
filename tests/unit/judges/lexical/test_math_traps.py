"""The rule `math_verify` on ordinary mathematics that the library Math-Verify decides wrongly."""

from pathlib import Path

import pytest
import yaml

from bert_judge.judges.lexical.judge import LexicalJudge
from bert_judge.judges.protocol import Row
from bert_judge.labels.judge_loading import RULES

CLASSES = yaml.safe_load(Path(__file__).with_name("math_traps.yaml").read_text("utf-8"))


@pytest.mark.parametrize("rows", [pytest.param(rows, id=name.replace(" ", "-")) for name, rows in CLASSES.items()])
def test_verdicts(rows: list[list[str]]) -> None:
    inputs = [Row(str(i), 0, "m", "".join(row[3:]), (row[0],), row[1]) for i, row in enumerate(rows)]
    with LexicalJudge(RULES["math_verify"]) as judge:
        labels = judge.judge(inputs)
    wrong = [
        (*row, label.verdict, label.reason)
        for row, label in zip(rows, labels, strict=True)
        if label.verdict not in row[2].split("|")
    ]
    assert not wrong
