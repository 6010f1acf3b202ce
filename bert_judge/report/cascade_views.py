"""Prepare the results of cascades as plain values for the report's template."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.judges.cascade.judge import fitted_judges
from bert_judge.report.format import comparison_phrase, difference_with_interval, group_title, percent, records
from bert_judge.runtime.errors import InputError

# Size of the plot in SVG units.
WIDTH, HEIGHT = 400.0, 160.0


@dataclass(frozen=True)
class TradeOffCurve:
    """Agreement against the share of rows escalated to the last judge, on the rows that the cascade was fitted on.

    Attributes:
        line: operating points, as "x,y x,y …" on a plot of WIDTH × HEIGHT with y downwards.
        operating_point: x, y of the chosen operating point.
        cheap, last: y of the best judge other than the last, and of the last one alone.
        lowest, highest: agreement at the lower and the upper edge, in [0, 1].
        rows: number of rows.
    """

    line: str
    operating_point: tuple[float, float]
    cheap: float
    last: float
    lowest: float
    highest: float
    rows: int


@dataclass(frozen=True)
class CascadeView:
    """A cascade: its judges, a finding, its trade-off curve, and a row of the table per group."""

    name: str
    judges: list[str]
    finding: str
    curve: TradeOffCurve
    rows: list[dict[str, Any]]


def build_views(table: Path, cascades: Mapping[str, Path]) -> list[CascadeView]:
    """Return one view per cascade.

    Args:
        table: output of `build_cascades`.
        cascades: cascade → its cascade.json.

    Raises:
        InputError: a file is missing or has the wrong format.
    """
    results = tables.read(table, tables.CASCADES)
    return [_build_view(name, results[results["cascade"] == name], path) for name, path in cascades.items()]


def _build_view(name: str, table: pd.DataFrame, path: Path) -> CascadeView:
    judges = fitted_judges(path)
    rows = [{**row, "title": group_title(row["level"], row["group"])} for row in records(table)]
    # With a single task, the other rows repeat the aggregate.
    return CascadeView(name, judges, _finding(rows[0]), _trade_off_curve(path, judges), rows[:1] if len(rows) <= 3 else rows)


def _finding(row: Mapping[str, Any]) -> str:
    """Describe the agreement over all answers, compared with random routing at the same cost."""
    escalated = f"{percent(row['escalation_rate'])} of the answers to {row['last']}"
    sentence = f"agrees with gold on {percent(row['agreement'])}; it escalates {escalated}."
    if row["best_cheap_judge"] is None or pd.isna(row["difference"]):
        return sentence
    baseline = f"Random routing of as many answers, with {row['best_cheap_judge']} for the rest, agrees on"
    comparison = f"the cascade is {comparison_phrase(row)} that ({difference_with_interval(row)})"
    return f"{sentence} {baseline} {percent(row['random_routing'])}: {comparison}."


def _trade_off_curve(path: Path, judges: Sequence[str]) -> TradeOffCurve:
    try:
        content = json.loads(path.read_text("utf-8"))
        operating_points = [(point["row_shares"][judges[-1]], point["agreement"]) for point in content["trade_off"]]
        operating_point = (content["operating_point"]["row_shares"][judges[-1]], content["operating_point"]["agreement"])
        single_judge = {judge: float(content["single_judges"][judge]) for judge in judges}
        num_rows = int(content["fitted_on"]["rows"])
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: not a fitted cascade; delete it and run again") from error
    values = [agreement for _, agreement in operating_points] + list(single_judge.values())
    margin = max(max(values) - min(values), 0.01) / 10
    lowest, highest = max(min(values) - margin, 0.0), min(max(values) + margin, 1.0)

    def to_svg(share: float, agreement: float) -> tuple[float, float]:
        return round(WIDTH * share, 1), round(HEIGHT * (highest - agreement) / (highest - lowest), 1)

    line = " ".join("{},{}".format(*to_svg(*point)) for point in sorted(operating_points))
    cheap = max(single_judge[judge] for judge in judges[:-1])
    return TradeOffCurve(
        line, to_svg(*operating_point), to_svg(0, cheap)[1], to_svg(1, single_judge[judges[-1]])[1], lowest, highest, num_rows
    )
