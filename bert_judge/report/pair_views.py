"""What the report shows of pairs of answers, as plain values for its template."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.evaluation.agreement import MAJORITY
from bert_judge.evaluation.pairs.pair_tables import PEOPLE
from bert_judge.report.charts import Chart
from bert_judge.report.format import known, percent, points, points_span, span
from bert_judge.report.sections import COLOURS, LEVEL_TITLES, records

# Measure → heading, in the order of the columns.
COLUMNS = {
    "agreement": "Agrees",
    "agreement_one_order": "… in one order",
    "macro_f1": "Macro-F1",
    "kappa": "κ",
    "consistency": "Consistent",
    "position_bias": "First − second place",
    "prefers_longer": "Prefers the longer",
    "length_bias": "… more than people",
    "panel_agreement": "As the other people",
    "inconsistent": "Contradicts itself",
    "invalid": "Undecided",
}
DIFFERENCES = ("position_bias", "length_bias")
Measures = dict[str, dict[str, Any]]


@dataclass(frozen=True)
class MeasuresView:
    """How good the judges are in one group of pairs.

    Attributes:
        title: the group.
        columns: measure → heading, of those that are known of any judge.
        rows: (judge, measure → row of the table), judges as configured, then people and the commonest label.
    """

    title: str
    columns: dict[str, str]
    rows: list[tuple[str, Measures]]


@dataclass(frozen=True)
class RanksView:
    """The models' places by all pairs of a set.

    Attributes:
        judges: as configured, then people.
        rows: (model, per judge its row of the table or None), in the order under the first judge.
        reason: judge → why it has no ranks.
    """

    judges: list[str]
    rows: list[tuple[str, list[dict[str, Any] | None]]]
    reason: dict[str, str]


@dataclass(frozen=True)
class OrdersView:
    """Kendall's tau between orders of the models.

    Attributes:
        others: (name, by) of the orders that are compared with: by `pairs` or by `answers`.
        rows: (judge, per other order its row of the table or None).
    """

    others: list[tuple[str, str]]
    rows: list[tuple[str, list[dict[str, Any] | None]]]


@dataclass(frozen=True)
class PairSetView:
    """A set of pairs: findings in words, measures per group, ranks and what they agree with, the name of its chart."""

    name: str
    findings: list[str]
    measures: list[MeasuresView]
    ranks: RanksView | None
    orders: OrdersView | None
    chart: str | None


def view(agreement: Path, ranks: Path, correlations: Path) -> tuple[list[PairSetView], dict[str, Chart]]:
    """One view per set, and the charts by their names.

    Args:
        agreement, ranks, correlations: what `evaluation.pairs.ranks.build_ranks` wrote.

    Raises:
        InputError: a file is missing or not what it should be.
    """
    measured, ranked, correlated = (
        tables.read(path, schema)
        for path, schema in ((agreement, tables.PAIR_AGREEMENT), (ranks, tables.RANKS), (correlations, tables.RANK_CORRELATIONS))
    )
    views, charts = [], {}
    for number, name in enumerate(dict.fromkeys(measured["set"])):
        own, places, beside = (frame[frame["set"] == name] for frame in (measured, ranked, correlated))
        models = _ranks(places[places["level"] == "all"])
        chart = f"ranks-{number}" if models and any(known(row["rank"]) for _, rows in models.rows for row in rows if row) else None
        if models and chart:
            charts[chart] = _chart(models)
        groups = [_measures(part, str(level), str(task)) for (level, task), part in own.groupby(["level", "task"], sort=False)]
        orders = _orders(beside[beside["level"] == "all"])
        views.append(PairSetView(str(name), _findings(groups[0], models), groups, models, orders, chart))
    return views, charts


def _measures(rows: pd.DataFrame, level: str, task: str) -> MeasuresView:
    told: dict[str, Measures] = {}
    for row in records(rows):
        told.setdefault(row["judge"], {})[row["measure"]] = row
    seen = {measure for measures in told.values() for measure, row in measures.items() if known(row["value"])}
    columns = {measure: heading for measure, heading in COLUMNS.items() if measure in seen}
    title = LEVEL_TITLES[level] if level == "all" else f"{LEVEL_TITLES[level]}: {task}"
    return MeasuresView(title, columns, list(told.items()))


def _findings(whole: MeasuresView, ranks: RanksView | None) -> list[str]:
    """Which judge agrees best and whether it is above chance; who contradicts itself most; which model is ahead."""
    judges = {judge: measures for judge, measures in whole.rows if judge not in (PEOPLE, MAJORITY)}
    found = []
    agreeing = {judge: row for judge, measures in judges.items() if known((row := measures.get("agreement", {})).get("value"))}
    if agreeing:
        best = max(agreeing, key=lambda judge: agreeing[judge]["value"])
        row = agreeing[best]
        said = f"{best} agrees with the labels in {percent(row['value'])} of {row['n']:,} pairs ({span(row['low'], row['high'])})"
        floor = dict(whole.rows).get(MAJORITY, {}).get("agreement")
        found.append(f"{said}; the commonest label alone would in {percent(floor['value'])}." if floor else f"{said}.")
    shaky = {judge: row for judge, measures in judges.items() if known((row := measures.get("consistency", {})).get("value"))}
    if shaky:
        worst = min(shaky, key=lambda judge: shaky[judge]["value"])
        row, bias = shaky[worst], judges[worst]["position_bias"]
        if row["value"] < 1:
            where = f"{points(bias['value'])} points towards the first place ({points_span(bias['low'], bias['high'])})"
            found.append(
                f"{worst} says the same in both orders in {percent(row['value'])} of the pairs, the least of all: {where}."
            )
        else:
            found.append("Every judge says the same in both orders.")
    return found + (_leader(ranks) if ranks else [])


def _leader(ranks: RanksView) -> list[str]:
    model, cells = ranks.rows[0]
    row = cells[0]
    if row is None or not known(row["rank"]):
        return []
    share = (
        f"{percent(row['expected_win_rate'])} of its pairs ({span(row['expected_win_rate_low'], row['expected_win_rate_high'])})"
    )
    return [f"Under {ranks.judges[0]}, {model} comes first: against every other model equally often it would win {share}."]


def _ranks(rows: pd.DataFrame) -> RanksView | None:
    if rows.empty:
        return None
    told: dict[str, dict[str, dict[str, Any]]] = {}
    for row in records(rows):
        told.setdefault(row["judge"], {})[row["model"]] = row
    judges = list(told)
    models = list(dict.fromkeys(model for judged in told.values() for model in judged))
    reason = {judge: next(iter(judged.values()))["reason"] for judge, judged in told.items()}
    shown = [(model, [told[judge].get(model) for judge in judges]) for model in models]
    return RanksView(judges, shown, {judge: why for judge, why in reason.items() if known(why)})


def _orders(rows: pd.DataFrame) -> OrdersView | None:
    if rows.empty:
        return None
    cells = {(row["judge"], row["other"]): row for row in records(rows)}
    others = list(dict.fromkeys((row["other"], row["by"]) for row in cells.values()))
    judges = dict.fromkeys(judge for judge, _ in cells)
    return OrdersView(others, [(judge, [cells.get((judge, other)) for other, _ in others]) for judge in judges])


def _chart(ranks: RanksView) -> Chart:
    """Each model's expected share of pairs won, with its interval: a line of marks per judge."""
    drawn = [(at, judge) for at, judge in enumerate(ranks.judges) if judge not in ranks.reason]
    # The library reads a few tags in its texts; names have none.
    names = [escape(model, quote=False) for model, _ in ranks.rows]
    traces = []
    for number, (at, judge) in enumerate(drawn):
        told = [(place, cells[at]) for place, (_, cells) in enumerate(ranks.rows)]
        rows = [(place, row) for place, row in told if row is not None and known(row["expected_win_rate"])]
        # Judges stand a little above each other, so that their intervals can be told apart.
        shift = (number - (len(drawn) - 1) / 2) * min(0.16, 0.7 / len(drawn))
        traces.append(
            {
                "x": [round(row["expected_win_rate"], 4) for _, row in rows],
                "y": [place + shift for place, _ in rows],
                "error_x": _whiskers([row for _, row in rows]),
                "text": [f"{names[place]}, place {row['rank']} ({row['rank_low']}–{row['rank_high']})" for place, row in rows],
                "hovertemplate": "%{text}<br>%{x:.1%} of its pairs",
                "mode": "markers",
                "name": judge,
                "slot": f"c{at % COLOURS}",
                "marker": {"size": 8, "symbol": "diamond" if judge == PEOPLE else "circle"},
            }
        )
    layout = {
        "xaxis": {"title": {"text": "share of pairs won"}, "tickformat": ".0%"},
        "yaxis": {"tickvals": list(range(len(names))), "ticktext": names, "range": [len(names) - 0.4, -0.6]},
        "height": 150 + max(34, 16 * len(drawn)) * len(names),
    }
    return {"data": traces, "layout": layout}


def _whiskers(rows: Sequence[Mapping[str, Any]]) -> Chart:
    return {
        "type": "data",
        "symmetric": False,
        "array": [round(row["expected_win_rate_high"] - row["expected_win_rate"], 4) for row in rows],
        "arrayminus": [round(row["expected_win_rate"] - row["expected_win_rate_low"], 4) for row in rows],
        "thickness": 1.5,
        "width": 4,
    }
