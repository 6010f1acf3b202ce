"""The outcome of an answer: beside the verdict, which it never changes."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from helpers.label_tables import SPEC, candidates_table

from bert_judge import tables
from bert_judge.judges.lexical.judge import LexicalJudge
from bert_judge.judges.protocol import Label, Row, decided
from bert_judge.labels.judge_loading import RULES
from bert_judge.labels.judging import with_attempt
from bert_judge.labels.stage import label_table

ANSWERS = [
    "大",
    "Berlin",
    "I don't know.",
    "",
    "<think>Wer war",
    "Sorry, I can't help.",
    "Let me see: first we",
    "r",
    "It is not r.",
    "Keine Ahnung",
]
OUTCOMES = ["correct", "incorrect", *["not_attempted"] * 5, "correct", "correct", "not_attempted"]


def test_every_outcome_of_a_table(tmp_path: Path) -> None:
    judge = LexicalJudge(RULES["contains"])
    statuses = ["truncated" if text.endswith("we") else "ok" for text in ANSWERS]
    label_table(SPEC, candidates_table(tmp_path / "c.parquet", ANSWERS, statuses), tmp_path / "l.parquet", judge)
    labels = tables.read(tmp_path / "l.parquet", tables.LABELS)
    assert labels["outcome"].tolist() == OUTCOMES


@pytest.mark.parametrize("name", ["exact_match", "contains", "token_f1"])
def test_verdicts_and_scores_are_those_of_the_judge(tmp_path: Path, name: str) -> None:
    judge = LexicalJudge(RULES[name])
    label_table(SPEC, candidates_table(tmp_path / "c.parquet", ANSWERS), tmp_path / "l.parquet", judge)
    labels = tables.read(tmp_path / "l.parquet", tables.LABELS)
    alone = judge.judge([Row("", 0, "m", "Wer?", ("r", "大"), text) for text in ANSWERS])
    assert labels["verdict"].tolist() == [label.verdict for label in alone]
    assert labels["reason"].tolist() == [label.reason for label in alone]
    is_other = labels["outcome"] != labels["verdict"]
    assert is_other.any() and set(labels["outcome"][is_other]) == {"not_attempted"}


@pytest.mark.parametrize(
    ("label", "references", "outcome"),
    [
        (decided(0.0), ["Paris"], "not_attempted"),
        (decided(1.0), ["unanswerable"], "correct"),
        (decided(0.0), ["unanswerable"], "incorrect"),
        (decided(0.0, is_attempted=True), ["Paris"], "incorrect"),
    ],
)
def test_declining(label: Label, references: Sequence[str], outcome: str) -> None:
    row = Row("", 0, "", "Who?", tuple(references), "I don't know.")
    assert with_attempt(label, row).outcome == outcome
    assert with_attempt(label, row).verdict == label.verdict
