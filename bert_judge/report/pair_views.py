"""Prepare the results of pairwise comparisons as plain values for the report's template."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.evaluation.agreement import MAJORITY
from bert_judge.evaluation.pairs.pair_tables import PEOPLE
from bert_judge.report.charts import Chart, error_bars
from bert_judge.report.format import group_title, interval, is_known, percent, points, points_interval, records
from bert_judge.report.sections import colour_of

# Measure → heading, in the order of the columns.
COLUMNS = {
    "agreement": "Agreement",
    "agreement_one_order": "Agreement, one order",
    "macro_f1": "Macro-F1",
    "kappa": "κ",
    "consistency": "Consistency",
    "position_bias": "Position bias",
    "prefers_longer": "Prefers longer",
    "length_bias": "Length bias vs. people",
    "panel_agreement": "Agreement with other people",
    "inconsistent": "Inconsistent",
    "invalid": "Undecided",
}
Measures = dict[str, dict[str, Any]]


def build_views(agreement: Path, ranks: Path, correlations: Path) -> tuple[list[dict[str, Any]], dict[str, Chart]]:
    """Return the view of each set of pairs, and the charts by name.

    A view has the set's name and `findings`; `measures` per group; `ranks` and `correlations` over all pairs or None; and
    `chart_name` or None. Rows of the tables are judges as configured, then people and the majority class.

    Args:
        agreement, ranks, correlations: output of `evaluation.pairs.ranks.build_ranks`.

    Raises:
        InputError: a file is missing or has the wrong schema.
    """
    agreement_table = tables.read(agreement, tables.PAIR_AGREEMENT)
    rank_table = tables.read(ranks, tables.RANKS)
    correlation_table = tables.read(correlations, tables.RANK_CORRELATIONS)
    views, charts = [], {}
    for number, name in enumerate(dict.fromkeys(agreement_table["set"])):
        set_agreement, set_ranks, set_correlations = (
            table[table["set"] == name] for table in (agreement_table, rank_table, correlation_table)
        )
        rank_view = _ranks_view(set_ranks[set_ranks["level"] == "all"])
        chart_name = None
        if rank_view and any(is_known(row["rank"]) for _, rows in rank_view["rows"] for row in rows if row):
            chart_name = f"pair-ranks-{number}"
            charts[chart_name] = _chart(rank_view)
        measures = [
            _measures_view(rows, str(level), str(task))
            for (level, task), rows in set_agreement.groupby(["level", "task"], sort=False)
        ]
        views.append(
            {
                "name": str(name),
                "findings": _findings(dict(measures[0]["rows"]), rank_view),
                "measures": measures,
                "ranks": rank_view,
                "correlations": _correlations_view(set_correlations[set_correlations["level"] == "all"]),
                "chart_name": chart_name,
            }
        )
    return views, charts


def _nest(rows: pd.DataFrame, inner: str) -> dict[str, dict[str, dict[str, Any]]]:
    """Return judge → value of `inner` → row."""
    nested: dict[str, dict[str, dict[str, Any]]] = {}
    for row in records(rows):
        nested.setdefault(row["judge"], {})[row[inner]] = row
    return nested


def _measures_view(rows: pd.DataFrame, level: str, task: str) -> dict[str, Any]:
    """Return a group's title, `columns` of measures known for at least one judge, and `rows` of (judge, measure → row)."""
    measures = set(rows["measure"][rows["value"].notna()])
    columns = {measure: heading for measure, heading in COLUMNS.items() if measure in measures}
    return {"title": group_title(level, task), "columns": columns, "rows": list(_nest(rows, "measure").items())}


def _findings(by_judge: Mapping[str, Measures], ranks: Mapping[str, Any] | None) -> list[str]:
    """Describe which judge agrees best and the majority baseline, which is least consistent, and which model leads."""
    judges = {judge: measures for judge, measures in by_judge.items() if judge not in (PEOPLE, MAJORITY)}

    def rows_of(measure: str) -> dict[str, dict[str, Any]]:
        rows = {judge: measures.get(measure, {}) for judge, measures in judges.items()}
        return {judge: row for judge, row in rows.items() if is_known(row.get("value"))}

    sentences = []
    if agreement := rows_of("agreement"):
        best = max(agreement, key=lambda judge: agreement[judge]["value"])
        row = agreement[best]
        estimate = f"{percent(row['value'])} of {row['n']:,} pairs ({interval(row['low'], row['high'])})"
        baseline = by_judge.get(MAJORITY, {}).get("agreement")
        majority = f"; the majority class alone reaches {percent(baseline['value'])}" if baseline else ""
        sentences.append(f"{best} has the highest agreement with the labels: {estimate}{majority}.")
    if consistency := rows_of("consistency"):
        worst = min(consistency, key=lambda judge: consistency[judge]["value"])
        bias = judges[worst]["position_bias"]
        if consistency[worst]["value"] < 1:
            estimate = f"{points(bias['value'])} points ({points_interval(bias['low'], bias['high'])})"
            share = percent(consistency[worst]["value"])
            sentences.append(
                f"{worst} is the least consistent: the same verdict in both orders on {share} of the pairs, "
                f"position bias {estimate}."
            )
        else:
            sentences.append("Every judge gives the same verdict in both orders.")
    return sentences + (_leader(ranks) if ranks else [])


def _leader(ranks: Mapping[str, Any]) -> list[str]:
    model, cells = ranks["rows"][0]
    row = cells[0]
    if row is None or not is_known(row["rank"]):
        return []
    share = f"{percent(row['expected_win_rate'])} ({interval(row['expected_win_rate_low'], row['expected_win_rate_high'])})"
    return [f"Under {ranks['judges'][0]}, {model} ranks first, with an expected win rate of {share} against all other models."]


def _ranks_view(rows: pd.DataFrame) -> dict[str, Any] | None:
    """Return judges, `rows` of (model, per judge its row or None) in the first judge's order, and judge → why it has no ranks."""
    if rows.empty:
        return None
    by_judge = _nest(rows, "model")
    models = dict.fromkeys(model for judged in by_judge.values() for model in judged)
    reasons = {judge: next(iter(judged.values()))["reason"] for judge, judged in by_judge.items()}
    cells = [(model, [judged.get(model) for judged in by_judge.values()]) for model in models]
    return {
        "judges": list(by_judge),
        "rows": cells,
        "reason": {judge: reason for judge, reason in reasons.items() if is_known(reason)},
    }


def _correlations_view(rows: pd.DataFrame) -> dict[str, Any] | None:
    """Return `rankings` compared with, as (name, by pairs or answers), and `rows` of (judge, per ranking its row or None)."""
    if rows.empty:
        return None
    by_judge = _nest(rows, "other")
    rankings = list(dict.fromkeys((row["other"], row["by"]) for row in records(rows)))
    cells = [(judge, [judged.get(ranking) for ranking, _ in rankings]) for judge, judged in by_judge.items()]
    return {"rankings": rankings, "rows": cells}


def _chart(ranks: Mapping[str, Any]) -> Chart:
    """Plot each model's expected win rate with its interval, with one marker per judge."""
    judges = [(index, judge) for index, judge in enumerate(ranks["judges"]) if judge not in ranks["reason"]]
    # Plotly interprets some HTML tags in its texts.
    names = [escape(model, quote=False) for model, _ in ranks["rows"]]
    traces = []
    for number, (index, judge) in enumerate(judges):
        cells = [{"position": position, **row[index]} for position, (_, row) in enumerate(ranks["rows"]) if row[index] is not None]
        rows = pd.DataFrame(cells).dropna(subset="expected_win_rate")
        # Markers of different judges are offset vertically, so that their intervals do not overlap.
        offset = (number - (len(judges) - 1) / 2) * min(0.16, 0.7 / len(judges))
        traces.append(
            {
                "x": rows["expected_win_rate"].round(4).tolist(),
                "y": (rows["position"] + offset).tolist(),
                "error_x": error_bars(*(rows[f"expected_win_rate{bound}"] for bound in ("", "_low", "_high"))),
                "text": [
                    f"{names[cell['position']]}, rank {cell['rank']} ({cell['rank_low']}–{cell['rank_high']})"
                    for cell in rows.to_dict("records")
                ],
                "hovertemplate": "%{text}<br>expected win rate %{x:.1%}",
                "mode": "markers",
                "name": judge,
                "slot": f"c{0 if judge == PEOPLE else colour_of(1 + index)}",
                "marker": {"size": 8, "symbol": "diamond" if judge == PEOPLE else "circle"},
            }
        )
    layout = {
        "xaxis": {"title": {"text": "expected win rate"}, "tickformat": ".0%"},
        "yaxis": {"tickvals": list(range(len(names))), "ticktext": names, "range": [len(names) - 0.4, -0.6]},
        "height": 150 + max(34, 16 * len(judges)) * len(names),
    }
    return {"data": traces, "layout": layout}
