"""A picture of what a cascade gives for its cost, on the rows that it was fitted on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure

from bert_judge import tables
from bert_judge.judges.bert.curves import BLUE, GREY
from bert_judge.judges.cascade.fit import Point


def draw_trade_off(points: Sequence[Point], chosen: Point, alone: Mapping[str, float], path: str | Path) -> None:
    """Write agreement over the share of rows that the last judge sees, beside what the same share would give if drawn at random.

    Args:
        points: of `trade_off`.
        chosen: one of them.
        alone: judge → its agreement on all rows.
        path: of the PNG.
    """
    *early, last = alone
    plain = max(early, key=lambda name: alone[name])
    figure = Figure(figsize=(6, 3.8), layout="constrained")
    axes = figure.subplots()
    along = sorted((point.seen[last], point.agreement) for point in points)
    axes.plot([0, 1], [alone[plain], alone[last]], color=GREY, linewidth=1, linestyle="--", label="rows drawn at random")
    axes.plot([x for x, _ in along], [y for _, y in along], color=BLUE, marker=".", markersize=4, label="cascade")
    axes.plot(chosen.seen[last], chosen.agreement, "o", color=BLUE, markersize=9, label="chosen")
    for x, name, side in ((0, plain, "left"), (1, last, "right")):
        axes.plot(x, alone[name], "s", color="black", markersize=5)
        axes.annotate(name, (x, alone[name]), (0, -14), textcoords="offset points", ha=side, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_xlim(-0.02, 1.02)
    axes.margins(y=0.15)
    axes.set_xlabel(f"share of rows that {last} sees")
    axes.set_ylabel("agreement")
    axes.legend(frameon=False, fontsize=9, loc="lower right")
    with tables.atomic(path) as temporary:
        figure.savefig(temporary, format="png", dpi=120)
