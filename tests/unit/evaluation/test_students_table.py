"""What students are worth: the table, and what the report shows of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bert_judge import tables
from bert_judge.evaluation.standings import build_students
from bert_judge.report import optional_sections
from bert_judge.runtime.errors import InputError

MODELS = {"p-best-10": 0.8, "p-chance-10": 0.5, "p-all-100": 0.6, "base": 0.1}


def described(filter: str, chooser: str, keep: float) -> dict[str, Any]:
    return {"recipe": "p", "filter": filter, "chooser": chooser, "keep": keep}


SPEC = {
    "judges": ["j"],
    "students": {
        "p-all-100": described("everything", "all", 100.0),
        "p-best-10": described("best", "teacher", 10.0),
        "p-chance-10": described("chance", "random", 10.0),
    },
    "bases": {"p": "base"},
}


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """Standings of four models under one judge, and one pair of them, written from the control's side."""
    standings = [
        {
            "level": level,
            "task": task,
            "model": model,
            "judge": "j",
            "n": 100,
            "questions": 100,
            "accuracy": accuracy,
            "low": accuracy - 0.05,
            "high": accuracy + 0.05,
            "invalid": 0.0,
            "accuracy_decided": accuracy,
            "accuracy_upper": accuracy,
            **dict.fromkeys(("certain", "range_low", "range_high")),
            "attempted": 1.0,
            "accuracy_attempted": accuracy,
            "f_score": accuracy,
            "rank": 1,
            "rank_low": 1,
            "rank_high": 1,
        }
        for level, task in (("task", "t"), ("all", "all"))
        for model, accuracy in MODELS.items()
    ]
    pair = {"level": "all", "task": "all", "judge": "j", "model": "p-chance-10", "other": "p-best-10", "n": 100, "questions": 100}
    figures = {"difference": -0.3, "low": -0.4, "high": -0.2, "p_value": 0.001, "p_holm": 0.01, "min_detectable_effect": 0.1}
    figures |= {"significant": True, "range_low": None, "range_high": None}
    tables.write(pd.DataFrame(standings), tmp_path / "standings.parquet", tables.STANDINGS, {})
    tables.write(pd.DataFrame([{**pair, **figures}]), tmp_path / "pairs.parquet", tables.MODEL_PAIRS, {})
    for name in SPEC["students"]:
        (tmp_path / f"{name}.json").write_text(json.dumps({"answers": 60 if name == "p-all-100" else 6}))
    return tmp_path


def build(folder: Path) -> pd.DataFrame:
    metrics = {name: folder / f"{name}.json" for name in SPEC["students"]}
    build_students(
        SPEC,
        standings=folder / "standings.parquet",
        pairs=folder / "pairs.parquet",
        metrics=metrics,
        output=folder / "students.parquet",
    )
    return tables.read(folder / "students.parquet", tables.STUDENTS).set_index(["model", "level"])


def test_students_are_compared_with_control_and_base(made: Path) -> None:
    table = build(made)
    assert len(table) == 8
    best = table.loc[("p-best-10", "all")]
    assert (best["control"], best["answers"], best["keep"], best["accuracy"]) == ("p-chance-10", 6, 10.0, 0.8)
    # With the student's sign, whichever way round the pair was written.
    assert tuple(best[["difference", "difference_low", "difference_high", "p_holm", "significant"]]) == (0.3, 0.2, 0.4, 0.01, True)
    # No pair, no control of its size, or itself a control: no difference.
    assert table["difference"].isna().sum() == 7
    assert table["control"].notna().sum() == 2
    base = table.loc[("base", "task")]
    assert pd.isna(base["filter"]) and (base["keep"], base["answers"]) == (0.0, 0)


def test_report_lists_the_students(made: Path) -> None:
    build(made)
    (view,) = optional_sections.student_views(made / "students.parquet", "j")
    assert [row["model"] for row in view["rows"]] == ["base", "p-best-10", "p-chance-10", "p-all-100"]


def test_unreadable_metrics_are_an_error(made: Path) -> None:
    (made / "p-best-10.json").write_text("{}")
    with pytest.raises(InputError, match=r"p-best-10\.json: not the metrics of a student; delete its folder and run again"):
        build(made)
