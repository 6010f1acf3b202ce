"""Rows of public bug reports and model cards, and rows in their manner, by class: the right verdict of every rule that a row names.

`data/<class>.jsonl` holds rows of our own, `data/cases2/<class>.jsonl` rows from the field. The judge `general` asks
the rule modules first: for its rows, `decide` must be right or abstain, and decide at least the share in `DECIDED`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bert_judge.judges.lexical.judge import LexicalJudge
from bert_judge.judges.protocol import Row
from bert_judge.text.rules import decide

FOLDER = Path(__file__).parent / "data"
FILES = sorted(FOLDER.rglob("*.jsonl"))
# Share of right verdicts, of every rule in every file.
ALLOWED = 0.95
# Lowest share of the rows of `general` that `decide` decides, by class.
DECIDED: Mapping[str, float] = {
    "02-figures-of-reports": 0.8,
    "06-less-than-was-asked-for": 0.6,
    "10-dates-and-times-in-numerals": 0.9,
    "11-units-and-conversions": 0.95,
    "12-currencies": 0.95,
    "13-powers-of-ten-and-thousands": 0.95,
    "20-codes-versions-and-names-one-sign-apart": 0.95,
    "28-mathematics-under-the-default-judge": 0.8,
}


def read_rows(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def verdict(rules: Mapping[str, LexicalJudge], judge: str, row: Mapping[str, Any]) -> str | None:
    """Return the verdict of a judge; None if the rule modules abstain."""
    if judge == "general":
        decision = decide(row["question"], row["references"], row["candidate"])
        return decision and ("correct" if decision.correct else "incorrect")
    return rules[judge].judge([Row("id", 0, "model", row["question"], tuple(row["references"]), row["candidate"])])[0].verdict


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.stem}")
def test_rows_get_the_verdict_of_a_careful_person(file: Path, rules: Mapping[str, LexicalJudge]) -> None:
    verdicts = defaultdict(list)
    for row in read_rows(file):
        for judge in row["judges"]:
            verdicts[judge].append((verdict(rules, judge, row), row))
    for judge, results in verdicts.items():
        # An answer that a rule cannot decide is not correct.
        wrong = [
            f"{row['references']} | {row['candidate']} | {given}"
            for given, row in results
            if given is not None and (given == "correct") != (row["right_verdict"] == "correct")
        ]
        assert len(wrong) <= (1 - ALLOWED) * len(results), f"{judge}: {len(wrong)} of {len(results)} wrong:\n" + "\n".join(wrong)
        decided = sum(given is not None for given, _ in results) / len(results)
        assert decided >= DECIDED.get(file.stem, 0.0), f"{judge} decides {decided:.0%} of {file.stem}"


def test_every_class_has_ten_rows_of_our_own() -> None:
    assert all(len(read_rows(file)) >= 10 for file in FOLDER.glob("*.jsonl"))


def test_a_module_that_may_not_decide_leaves_the_row_to_those_behind_it() -> None:
    both = {"correct", "incorrect"}
    decisions = [
        decide("Which numbers?", ["[1, 2]"], "[1, 2, 3]", allowed=allowed)
        for allowed in (None, {"list": both}, {"list": ["correct"], "json": ["correct"]}, {})
    ]
    assert [decision and decision.module for decision in decisions] == ["json", "list", None, None]
    decision = decide("How many?", ["5 km"], "5000 m", allowed={"number": ["correct"]})
    assert decision and decision.module == "number"
