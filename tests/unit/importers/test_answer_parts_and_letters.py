"""Rows of files in which parts of an answer are reasoning, or several letters are one reference: the verdicts of the word rules."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bert_judge.importers.answers import make_column_reader
from bert_judge.importers.column_names import detect_columns
from bert_judge.judges.lexical.judge import LexicalJudge
from bert_judge.judges.protocol import Row
from bert_judge.labels.judge_loading import RULES

FILES = sorted((Path(__file__).parent / "data").rglob("*.jsonl"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
@pytest.mark.parametrize("rule", ["exact_match", "contains"])
def test_verdicts(file: Path, rule: str) -> None:
    records = [json.loads(line) for line in file.read_text("utf-8").splitlines()]
    expected = [record.pop("right_verdict") for record in records]
    reader = make_column_reader(detect_columns(file, list(records[0]), {}, sample=records), sample=records)
    answers = [answer for record in records for answer in reader(record)]
    rows = [Row(str(i), 0, "model", answer.question, answer.references, answer.candidate) for i, answer in enumerate(answers)]
    assert [label.verdict for label in LexicalJudge(RULES[rule]).judge(rows)] == expected
