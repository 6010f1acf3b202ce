"""Charts as Plotly draws them in the browser: each a list of traces and a layout, plain JSON without colours.

A trace says with `slot` which of the page's colours it has; so one chart serves light and dark pages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from bert_judge.report.format import percent
from bert_judge.report.sections import JudgeView

Chart = dict[str, Any]
DASHES = ("solid", "dot", "dash", "longdash", "dashdot")


def embedded(charts: Mapping[str, Chart]) -> Markup:
    """JSON that can stand within a script element: no text in it can close the element."""
    return Markup(json.dumps(charts, ensure_ascii=True, allow_nan=False).replace("<", "\\u003c"))


def reliability(table: pd.DataFrame, views: Sequence[JudgeView], shown: Sequence[str]) -> Chart:
    """Share of right answers over the mean score of each tenth of the scale."""
    traces: list[Chart] = [
        {
            "x": [0, 1],
            "y": [0, 1],
            "mode": "lines",
            "slot": "line",
            "line": {"dash": "dot"},
            "showlegend": False,
            "hoverinfo": "skip",
        }
    ]
    for view, dash, rows in _each(table, views, shown):
        traces.append(
            {
                "x": rows["score"].round(4).tolist(),
                "y": rows["fraction_correct"].round(4).tolist(),
                "error_y": bars(rows["fraction_correct"], rows["low"], rows["high"]),
                "text": [f"{n:,} answers" for n in rows["n"]],
                "hovertemplate": "score %{x:.2f}: %{y:.1%} right<br>%{text}",
                **_line(view, dash, "lines+markers"),
            }
        )
    return {"data": traces, "layout": {"xaxis": _axis("mean score"), "yaxis": _axis("share that is right", percent_=True)}}


def bars(values: pd.Series, low: pd.Series, high: pd.Series) -> Chart:
    """Bars from the lower to the upper end of an interval."""
    return {
        "type": "data",
        "symmetric": False,
        "array": (high - values).round(4).tolist(),
        "arrayminus": (values - low).round(4).tolist(),
        "thickness": 1,
        "width": 3,
    }


def thresholds(table: pd.DataFrame, views: Sequence[JudgeView], shown: Sequence[str]) -> Chart:
    """Agreement with gold over the threshold."""
    traces = [
        {
            "x": rows["threshold"].tolist(),
            "y": rows["agreement"].round(4).tolist(),
            "text": [percent(called) for called in rows["predicted_positive_rate"]],
            "hovertemplate": "threshold %{x}: %{y:.1%} agree<br>%{text} called correct",
            **_line(view, dash, "lines"),
        }
        for view, dash, rows in _each(table, views, shown)
    ]
    return {"data": traces, "layout": {"xaxis": _axis("threshold"), "yaxis": {"title": {"text": "agreement"}, "tickformat": ".0%"}}}


def places(judges: Sequence[str], rows: Sequence[Mapping[str, Any]], reference: str) -> Chart:
    """Each model's place under the reference and under every judge: a line that falls or climbs."""
    traces = []
    for number, row in enumerate(rows):
        y = [row["rank"], *(cell["rank"] if cell else None for cell in row["moves"])]
        traces.append(
            {
                "x": [reference, *judges],
                "y": y,
                "mode": "lines+markers",
                "name": row["model"],
                "slot": f"c{number % 8}",
                "line": {"width": 2, "dash": DASHES[number // 8 % len(DASHES)]},
                "marker": {"size": 9},
                "hovertemplate": "%{fullData.name}: place %{y} under %{x}<extra></extra>",
            }
        )
    last = max((row["rank"] for row in rows), default=1)
    axis = {"title": {"text": "place"}, "range": [last + 0.5, 0.5], "dtick": 1 if last <= 20 else 5, "tick0": 1}
    return {"data": traces, "layout": {"xaxis": {"type": "category"}, "yaxis": axis, "height": 260 + 18 * len(rows)}}


def _each(table: pd.DataFrame, views: Sequence[JudgeView], shown: Sequence[str]) -> list[tuple[JudgeView, str, pd.DataFrame]]:
    """Judges with rows, out of those to show, each with a dash of its own among those of its colour."""
    found = [(view, rows) for view in views if view.name in shown and len(rows := table[table["judge"] == view.name])]
    colours = [view.colour for view, _ in found]
    dashes = [DASHES[colours[:place].count(colour) % len(DASHES)] for place, colour in enumerate(colours)]
    return [(view, dash, rows) for (view, rows), dash in zip(found, dashes, strict=True)]


def _line(view: JudgeView, dash: str, mode: str) -> Chart:
    return {"mode": mode, "name": view.name, "slot": f"c{view.colour}", "line": {"width": 2, "dash": dash}, "marker": {"size": 6}}


def _axis(title: str, percent_: bool = False) -> Chart:
    axis: Chart = {"title": {"text": title}, "range": [-0.02, 1.02]}
    return {**axis, "tickformat": ".0%"} if percent_ else axis
