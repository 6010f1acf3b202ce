"""Aspects that people gave: read from a file with a column per aspect, or with a row per answer and aspect."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from pydantic import ValidationError

from bert_judge import tables
from bert_judge.config import AspectColumns, Import
from bert_judge.datasets.merge import fold_duplicates
from bert_judge.judges.imported.judge import ImportedJudge
from bert_judge.judges.protocol import Row
from bert_judge.runtime.errors import InputError

ANSWERS = {("Wie spät?", "zwölf"): {"tone": 4.0, "facts": 2.0}, ("why?", "because"): {"tone": 1.0, "facts": None}}


def long_rows() -> list[dict[str, Any]]:
    return [
        {"question": q, "references": "r", "candidate": c, "model": "m", "aspect": aspect, "points": value}
        for (q, c), aspects in ANSWERS.items()
        for aspect, value in aspects.items()
    ]


def wide_rows() -> list[dict[str, Any]]:
    return [{"question": q, "references": "r", "candidate": c, "model": "m", **aspects} for (q, c), aspects in ANSWERS.items()]


def judge(path: Path, aspects: dict[str, Any], in_rows: bool = False) -> ImportedJudge:
    entry = Import(path=str(path)).model_dump(mode="json", exclude={"path", "aspects"})
    part = {"where": {}, "question_split": [0, 1]}
    source = {"task": "t", "settings": {"model_name": "m"}, "import": entry, "part": part}
    spec = {"model": "m", "task": "t", "source": source, "aspects": AspectColumns.model_validate(aspects).model_dump(mode="json")}
    return ImportedJudge(spec if in_rows else {**spec, "verdicts": entry}, path)


def row(question: str, candidate: str) -> Row:
    return Row(tables.sample_id("t", question, ["r"]), 0, "m", question, ("r",), candidate)


LONG = {"name": "aspect", "value": "points", "range": [1, 4]}
WIDE = {"columns": {"tone": "tone", "facts": "facts"}, "range": [1, 4]}


@pytest.mark.parametrize(("rows", "aspects"), [(long_rows(), LONG), (wide_rows(), WIDE)], ids=["long", "wide"])
@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_aspects_and_the_score_that_they_make(tmp_path: Path, rows: list[dict[str, Any]], aspects: Any, ending: str) -> None:
    path = tmp_path / f"people.{ending}"
    frame = pd.DataFrame(rows).assign(rationale=[f"So is {row['question']}" for row in rows])
    frame.to_parquet(path) if ending == "parquet" else frame.to_csv(path, index=False)
    first, second, third = judge(path, aspects).judge([row("Wie spät?", "zwölf"), row("why?", "because"), row("why?", "no")])
    assert (first.verdict, first.aspects) == ("correct", {"tone": 4.0, "facts": 2.0})
    assert first.score == pytest.approx((1 + 1 / 3) / 2)
    assert (first.reason, third.reason) == ("So is Wie spät?", "the file has no verdict for this answer")
    assert (second.verdict, second.score, second.aspects) == ("incorrect", 0.0, {"tone": 1.0})
    assert (third.verdict, third.aspects) == ("invalid", None)


def test_several_values_of_one_aspect_are_their_mean(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    pd.DataFrame([*long_rows(), {**long_rows()[0], "points": 1}]).to_csv(path, index=False)
    [label] = judge(path, LONG).judge([row("Wie spät?", "zwölf")])
    assert label.aspects == {"tone": 2.5, "facts": 2.0}


def test_a_column_per_aspect_in_the_rows_of_the_answers(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    pd.DataFrame(wide_rows()).to_csv(path, index=False)
    [label] = judge(path, WIDE, in_rows=True).judge([row("Wie spät?", "zwölf")])
    assert label.aspects == {"tone": 4.0, "facts": 2.0}


@pytest.mark.parametrize(
    ("change", "aspects", "in_rows", "says"),
    [
        ({"points": 5}, LONG, False, "tone is 5, outside 1 to 4; fix imports.<name>.aspects.range"),
        ({"points": "high"}, LONG, False, "column 'points' (value) is 'high'; give a number, or nothing"),
        ({"points": "inf"}, LONG, False, "give a number, or nothing"),
        ({"aspect": " "}, LONG, False, "column 'aspect' (aspect) is empty"),
        ({}, {**LONG, "value": "score"}, False, "no column 'score' for the value"),
        ({}, WIDE, False, "no column 'tone' for the aspect tone"),
        ({}, LONG, True, "has one row per answer and aspect"),
    ],
)
def test_what_no_file_of_aspects_looks_like(tmp_path: Path, change: Any, aspects: Any, in_rows: bool, says: str) -> None:
    path = tmp_path / "people.csv"
    rows = long_rows()
    pd.DataFrame([{**rows[0], **change}, *rows[1:]]).to_csv(path, index=False)
    with pytest.raises(InputError) as fault:
        judge(path, aspects, in_rows)
    assert says in str(fault.value)
    assert "\n" not in str(fault.value)


@pytest.mark.parametrize(
    "block",
    [{}, {"name": "a"}, {"columns": {"a": "b"}, "name": "c", "value": "d"}, {"columns": {"a": "b"}, "range": [4, 4]}],
)
def test_a_block_of_no_shape_is_refused(block: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        AspectColumns.model_validate(block)


def test_duplicates_have_the_mean_of_their_aspects() -> None:
    rows = pd.DataFrame({"task": "t", "question": "q", "references": [["r"]] * 4, "candidate": ["a", "a", "b", "c"], "label": 1.0})
    rows["aspects"] = pd.Series([{"tone": 1.0}, {"tone": 4.0, "facts": 2.0}, None, {}], dtype=object)
    assert fold_duplicates(rows.assign(rationale=None))["aspects"].tolist() == [{"tone": 2.5, "facts": 2.0}, None, None]
