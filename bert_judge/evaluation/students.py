"""What students are worth: their accuracy beside that of their base model and of a student of a random choice as large."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.runtime.errors import InputError

SHOWN = ["level", "task", "judge", "n", "accuracy", "low", "high"]


def build_students(spec: Mapping[str, Any], standings: Path, pairs: Path, metrics: Mapping[str, Path], output: Path) -> None:
    """Write the table of students.

    Args:
        spec: as `Plan.students_spec` makes it.
        standings, pairs: tables of the standings stage.
        metrics: student → its metrics.json.
        output: a table in the schema `tables.STUDENTS`.

    Raises:
        InputError: a file is not what it should be.
    """
    ranked, compared = tables.read(standings, tables.STANDINGS), tables.read(pairs, tables.MODEL_PAIRS)
    rows = []
    for name, student in spec["students"].items():
        origin = {**student, "model": name, "answers": _answers(metrics[name])}
        control = _control(spec["students"], name)
        rows += [{**origin, "control": control, **row, **_against(compared, row, control)} for row in _rows(ranked, name)]
    for recipe, base in spec["bases"].items():
        origin = {"recipe": recipe, "model": base, "keep": 0.0, "answers": 0}
        rows += [{**origin, **row} for row in _rows(ranked, base)]
    tables.write(pd.DataFrame(rows, columns=tables.STUDENTS.names), output, tables.STUDENTS, spec)


def _rows(standings: pd.DataFrame, model: str) -> Iterator[dict[str, Any]]:
    for row in standings.loc[standings["model"] == model, ["model", *SHOWN]].to_dict("records"):
        yield {str(key): value for key, value in row.items()}


def _answers(metrics: Path) -> int:
    try:
        return int(json.loads(metrics.read_text("utf-8"))["answers"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{metrics}: not the metrics of a student; delete its folder and run again") from error


def _control(students: Mapping[str, Mapping[str, Any]], name: str) -> str | None:
    """The student of the same recipe whose answers were drawn at random, as many of them; None without one, or if it is itself."""
    own = students[name]
    alike = [
        other
        for other, student in students.items()
        if student["chooser"] == "random" and all(student[key] == own[key] for key in ("recipe", "keep"))
    ]
    return alike[0] if alike and own["chooser"] != "random" else None


def _against(pairs: pd.DataFrame, row: Mapping[str, Any], control: str | None) -> dict[str, float]:
    """The paired difference from the control, with the student's sign."""
    here = pairs[(pairs["level"] == row["level"]) & (pairs["task"] == row["task"]) & (pairs["judge"] == row["judge"])]
    for first, other, sign in ((row["model"], control, 1), (control, row["model"], -1)):
        found = here[(here["model"] == first) & (here["other"] == other)]
        if len(found):
            pair = found.iloc[0]
            ends = sorted((sign * pair["low"], sign * pair["high"]))
            figures = {"difference": sign * pair["difference"], "difference_low": ends[0], "difference_high": ends[1]}
            return {**figures, "p_value": pair["p_value"]}
    return {}
