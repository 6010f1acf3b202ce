"""Evaluation of students: their accuracy, compared with the base model and with a student of randomly chosen answers."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.runtime.errors import InputError

STANDINGS_COLUMNS = ["model", "level", "task", "judge", "n", "accuracy", "low", "high"]


def build_students(spec: Mapping[str, Any], standings: Path, pairs: Path, metrics: Mapping[str, Path], output: Path) -> None:
    """Write the table of students, from tables of the standings stage and the metrics.json of each student.

    `spec`: `Plan.students_spec`.
    """
    accuracies, model_pairs = tables.read(standings, tables.STANDINGS), tables.read(pairs, tables.MODEL_PAIRS)
    rows: list[dict[Any, Any]] = []
    for name, student in spec["students"].items():
        control = _find_control(spec["students"], name)
        columns = {**student, "answers": _training_answers(metrics[name]), "control": control}
        for row in accuracies.loc[accuracies["model"] == name, STANDINGS_COLUMNS].to_dict("records"):
            rows.append({**columns, **row, **_difference(model_pairs, row, control)})
    for recipe, base in spec["bases"].items():
        base_rows = accuracies.loc[accuracies["model"] == base, STANDINGS_COLUMNS].to_dict("records")
        rows += [{"recipe": recipe, "keep": 0.0, "answers": 0, **row} for row in base_rows]
    table = pd.DataFrame(rows, columns=tables.STUDENTS.names).astype({"significant": "boolean"})
    tables.write(table, output, tables.STUDENTS, spec)


def _training_answers(metrics: Path) -> int:
    try:
        return int(json.loads(metrics.read_text("utf-8"))["answers"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"{metrics}: not the metrics of a student; delete its folder and run again") from error


def _find_control(students: Mapping[str, Mapping[str, Any]], name: str) -> str | None:
    """Return the student of the same recipe and size with randomly chosen answers; None if there is none or it is `name`."""
    twin = {**students[name], "chooser": "random"}
    controls = (
        other for other, settings in students.items() if all(settings[key] == twin[key] for key in ("chooser", "recipe", "keep"))
    )
    return None if students[name]["chooser"] == "random" else next(controls, None)


def _difference(pairs: pd.DataFrame, row: Mapping[Any, Any], control: str | None) -> dict[str, Any]:
    group = pairs[(pairs["level"] == row["level"]) & (pairs["task"] == row["task"]) & (pairs["judge"] == row["judge"])]
    for model, opponent, sign in ((row["model"], control, 1), (control, row["model"], -1)):
        matches = group[(group["model"] == model) & (group["other"] == opponent)]
        if len(matches):
            pair = matches.iloc[0]
            low, high = sorted((sign * pair["low"], sign * pair["high"]))
            difference = {"difference": sign * pair["difference"], "difference_low": low, "difference_high": high}
            return {**difference, "p_holm": pair["p_holm"], "significant": pair["significant"]}
    return {}
