"""Build charts for Plotly in the browser: each is a list of traces and a layout, as plain JSON without colours.

A trace names in `slot` one of the page's colours, so that one chart serves light and dark pages.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from bert_judge.report.format import percent
from bert_judge.report.sections import JudgeView

Chart = dict[str, Any]
# Longest name at an axis.
TICK_CHARACTERS = 28
DASHES = ("solid", "dot", "dash", "longdash", "dashdot")


def embed(charts: Mapping[str, Chart]) -> Markup:
    """Return charts as JSON that is safe inside a script element: no text in it can close the element."""
    return Markup(json.dumps(charts, ensure_ascii=True, allow_nan=False).replace("<", "\\u003c"))


def reliability(table: pd.DataFrame, views: Sequence[JudgeView], judges: Sequence[str]) -> Chart:
    """Plot the share of correct answers against the mean score in each tenth of the scale."""
    diagonal: Chart = {
        "x": [0, 1],
        "y": [0, 1],
        "mode": "lines",
        "slot": "line",
        "line": {"dash": "dot"},
        "showlegend": False,
        "hoverinfo": "skip",
    }
    traces = [
        {
            "x": rows["score"].round(4).tolist(),
            "y": rows["fraction_correct"].round(4).tolist(),
            "error_y": error_bars(rows["fraction_correct"], rows["low"], rows["high"]),
            "text": [f"{n:,} answers" for n in rows["n"]],
            "hovertemplate": "score %{x:.2f}: %{y:.1%} correct<br>%{text}",
            **_line(view, dash, "lines+markers"),
        }
        for view, dash, rows in _judge_lines(table, views, judges)
    ]
    y_axis = {**_unit_axis("share correct"), "tickformat": ".0%"}
    return {"data": [diagonal, *traces], "layout": {"xaxis": _unit_axis("score"), "yaxis": y_axis}}


def error_bars(values: pd.Series, low: pd.Series, high: pd.Series) -> Chart:
    """Return error bars that span an interval."""
    return {
        "type": "data",
        "symmetric": False,
        "array": (high - values).round(4).tolist(),
        "arrayminus": (values - low).round(4).tolist(),
        "thickness": 1,
        "width": 3,
    }


def thresholds(table: pd.DataFrame, views: Sequence[JudgeView], judges: Sequence[str]) -> Chart:
    """Plot agreement with gold against the decision threshold."""
    traces = [
        {
            "x": rows["threshold"].tolist(),
            "y": rows["agreement"].round(4).tolist(),
            "text": [percent(share) for share in rows["predicted_positive_rate"]],
            "hovertemplate": "threshold %{x}: agreement %{y:.1%}<br>%{text} judged correct",
            **_line(view, dash, "lines"),
        }
        for view, dash, rows in _judge_lines(table, views, judges)
    ]
    y_axis = {"title": {"text": "agreement"}, "tickformat": ".0%"}
    return {"data": traces, "layout": {"xaxis": _unit_axis("threshold"), "yaxis": y_axis}}


def rank_shifts(judges: Sequence[str], rows: Sequence[Mapping[str, Any]], reference: str) -> Chart:
    """Plot each model's rank under the reference and under every judge, as one line per model.

    Colours stand for judges everywhere else, so a line has none: its model is named where the line starts.
    """
    traces = [
        {
            "x": [reference, *judges],
            "y": [row["rank"], *(cell["rank"] if cell else None for cell in row["shifts"])],
            "mode": "lines+markers",
            "name": row["model"],
            "slot": "ink" if any(cell and cell["rank_shift"] for cell in row["shifts"]) else "soft",
            "line": {"width": 2, "dash": DASHES[index % len(DASHES)]},
            "marker": {"size": 9},
            "showlegend": False,
            "hovertemplate": "%{fullData.name}: rank %{y} under %{x}<extra></extra>",
        }
        for index, row in enumerate(rows)
    ]
    last = max((row["rank"] for row in rows), default=1)
    names: dict[int, list[str]] = {}
    for row in rows:
        names.setdefault(row["rank"], []).append(row["model"])
    texts = [(rank, ", ".join(models)) for rank, models in names.items()]
    ticks = [f"{text if len(text) <= TICK_CHARACTERS else text[: TICK_CHARACTERS - 1] + '…'}  {rank}" for rank, text in texts]
    y_axis = {"range": [last + 0.5, 0.5], "tickvals": list(names), "ticktext": ticks}
    return {"data": traces, "layout": {"xaxis": {"type": "category"}, "yaxis": y_axis, "height": 260 + 18 * len(rows)}}


def trade_off(
    points: Sequence[tuple[float, float]], operating_point: tuple[float, float], ends: tuple[float, float], judge: str
) -> Chart:
    """Plot a cascade's agreement against the share of rows escalated to its last judge.

    Args:
        points: (share, agreement) at each choice of thresholds, by share.
        operating_point: the cascade's own.
        ends: agreement of the best other judge alone, and of the last judge.
    """
    lines = (
        ("random routing", [(0.0, ends[0]), (1.0, ends[1])], {"mode": "lines", "slot": "soft", "line": {"dash": "dot"}}),
        ("other thresholds", points, {"mode": "lines", "slot": "c1", "line": {"width": 2}}),
        ("chosen thresholds", [operating_point], {"mode": "markers", "slot": "c1", "marker": {"size": 10}}),
    )
    traces = [
        {"name": name, "x": [x for x, _ in line], "y": [y for _, y in line], "hovertemplate": "%{x:.1%}: %{y:.1%}", **style}
        for name, line, style in lines
    ]
    x_axis = {**_unit_axis(f"escalated to {judge}"), "tickformat": ".0%"}
    return {"data": traces, "layout": {"xaxis": x_axis, "yaxis": {"title": {"text": "agreement"}, "tickformat": ".1%"}}}


def _judge_lines(
    table: pd.DataFrame, views: Sequence[JudgeView], judges: Sequence[str]
) -> list[tuple[JudgeView, str, pd.DataFrame]]:
    """Return (judge, dash, rows) of the judges that have rows; judges of the same colour get different dashes."""
    lines: list[tuple[JudgeView, str, pd.DataFrame]] = []
    for view in views:
        rows = table[table["judge"] == view.name]
        if view.name in judges and len(rows):
            same_colour = sum(line_view.colour == view.colour for line_view, _, _ in lines)
            lines.append((view, DASHES[same_colour % len(DASHES)], rows))
    return lines


def _line(view: JudgeView, dash: str, mode: str) -> Chart:
    return {"mode": mode, "name": view.name, "slot": f"c{view.colour}", "line": {"width": 2, "dash": dash}, "marker": {"size": 6}}


def _unit_axis(title: str) -> Chart:
    return {"title": {"text": title}, "range": [-0.02, 1.02]}
