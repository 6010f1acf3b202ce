"""What the report shows of cascades, as plain values for its template."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.judges.cascade.judge import fitted_judges
from bert_judge.report.format import percent, points, points_span
from bert_judge.report.sections import LEVEL_TITLES, records
from bert_judge.runtime.errors import InputError

# The picture's size in its own units.
WIDTH, HEIGHT = 400.0, 160.0


@dataclass(frozen=True)
class Curve:
    """Agreement over the share of rows that the last judge sees, on the rows that the cascade was fitted on.

    Attributes:
        line: points of all choices, "x,y x,y …" in a picture of WIDTH × HEIGHT, y downwards.
        chosen: x, y of the choice.
        plain, last: y of the judge that is best without the last one, and of the last one alone.
        lowest, highest: agreement at the lower and the upper edge, in [0, 1].
        rows: how many there are.
    """

    line: str
    chosen: tuple[float, float]
    plain: float
    last: float
    lowest: float
    highest: float
    rows: int


@dataclass(frozen=True)
class CascadeView:
    """A cascade: its judges, a finding in words, its curve, and a row of the table per group."""

    name: str
    judges: list[str]
    finding: str
    curve: Curve
    rows: list[dict[str, Any]]


def view(table: Path, fitted: Mapping[str, Path]) -> list[CascadeView]:
    """One view per cascade.

    Args:
        table: what `evaluation.cascades.build_cascades` wrote.
        fitted: cascade → its cascade.json.

    Raises:
        InputError: a file is missing or not what it should be.
    """
    measured = tables.read(table, tables.CASCADES)
    return [_view(name, measured[measured["cascade"] == name], path) for name, path in fitted.items()]


def _view(name: str, rows: pd.DataFrame, fitted: Path) -> CascadeView:
    judges = fitted_judges(fitted)
    found = records(rows)
    for row in found:
        row["title"] = LEVEL_TITLES[row["level"]] + ("" if row["level"] == "all" else f": {row['group']}")
    # A single task is all tasks.
    shown = found[:1] if len(found) <= 3 else found
    return CascadeView(name, judges, _finding(found[0]), _curve(fitted, judges), shown)


def _finding(row: Mapping[str, Any]) -> str:
    """What the cascade gives over all answers, and whether it beats chance at the same cost."""
    said = f"agrees in {percent(row['agreement'])}; {row['last']} looks at {percent(row['escalation_rate'])} of the answers"
    if row["best_cheap_judge"] is None or pd.isna(row["difference"]):
        return f"{said}."
    clear = "about as much"
    if row["difference_low"] > 0 or row["difference_high"] < 0:
        clear = "clearly more" if row["difference"] > 0 else "clearly less"
    lead = f"{points(row['difference'])} points, {points_span(row['difference_low'], row['difference_high'])}"
    alike = f"As many answers drawn at random, with {row['best_cheap_judge']} for the rest, give {percent(row['random_routing'])}"
    return f"{said}. {alike}: the cascade gives {clear} ({lead})."


def _curve(fitted: Path, judges: Sequence[str]) -> Curve:
    try:
        found = json.loads(fitted.read_text("utf-8"))
        points_of = [(point["row_shares"][judges[-1]], point["agreement"]) for point in found["trade_off"]]
        chosen = (found["operating_point"]["row_shares"][judges[-1]], found["operating_point"]["agreement"])
        alone = {judge: float(found["single_judges"][judge]) for judge in judges}
        rows = int(found["fitted_on"]["rows"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{fitted}: not the file of a fitted cascade; delete it and run again") from error
    plain = max(alone[judge] for judge in judges[:-1])
    values = [agreement for _, agreement in points_of] + list(alone.values())
    margin = max(max(values) - min(values), 0.01) / 10
    lowest, highest = max(min(values) - margin, 0.0), min(max(values) + margin, 1.0)

    def place(seen: float, agreement: float) -> tuple[float, float]:
        return round(WIDTH * seen, 1), round(HEIGHT * (highest - agreement) / (highest - lowest), 1)

    line = " ".join("{},{}".format(*place(*point)) for point in sorted(points_of))
    return Curve(line, place(*chosen), place(0, plain)[1], place(1, alone[judges[-1]])[1], lowest, highest, rows)
