"""evaluate itself: the metric that its `load` finds by a path."""

from __future__ import annotations

from pathlib import Path

import pytest
from programs import run

pytestmark = pytest.mark.framework("evaluate")
CALL = """
import evaluate
from bert_judge.integrations import EVALUATE_METRIC

for judge, references in ((None, ["Paris", "Rome", "x"]), ("contains", [["Paris"], ["Rome", "Roma"], ["x"]])):
    metric = evaluate.load(EVALUATE_METRIC, judge)
    answers = ["It is Paris.", "Oslo", "<think>"]
    print(metric.compute(predictions=answers, references=references, questions=["Capital of France?", "Of Italy?", "?"]))
metric.add_batch(predictions=["Roma"], references=[["Rome", "Roma"]])
print(metric.compute()["accuracy"])
"""


def test_evaluate_computes_the_metric_of_a_path(tmp_path: Path) -> None:
    printed = run("-c", CALL, folder=tmp_path, HF_HOME=str(tmp_path / "home")).splitlines()
    third = 1 / 3
    verdicts = ["correct", "incorrect", "invalid"]
    assert printed == [str({"accuracy": third, "invalid": third, "verdicts": verdicts})] * 2 + ["1.0"]
