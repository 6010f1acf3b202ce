"""The standings as one picture: accuracy per model under each judge, with intervals."""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bert_judge import tables
from bert_judge.runtime.errors import InputError

# A colour-blind-safe order; gold is black, the first trained judge blue.
COLOURS = ("#1b1f24", "#0a5fb4", "#c04f00", "#00795a", "#8a3ab9", "#7a5c00", "#b0266e", "#4d6a7d")
MARKS = {"gold": "D", "trained": "o", "other": "s"}
FORMATS = (".png", ".svg", ".pdf")


def save_standings_plot(standings: Path, path: Path) -> None:
    """Draw the standings over all tasks; the format goes by the ending of `path`: .png, .svg or .pdf.

    Mark: accuracy among valid verdicts. Line: 95% interval. Pale bar: accuracy if all invalid verdicts were wrong (thick left
    end) or right.
    The same table gives the same file.

    Raises:
        InputError: the table is not one of standings or has no row, or the ending is unknown.
    """
    standings, path = Path(standings), Path(path)
    if path.suffix not in FORMATS:
        raise InputError(f"{path}: a picture ends with one of {', '.join(FORMATS)}")
    frame = tables.read(standings, tables.STANDINGS)
    frame = frame[frame["level"] == "all"]
    if frame.empty:
        raise InputError(f"{standings}: there is no row to draw; score some answers first")
    spec = json.loads(tables.provenance(standings).get("spec", "{}"))
    roles = {spec.get("gold"): "gold"} | dict.fromkeys(spec.get("trained", []), "trained")
    judges = sorted(frame["judge"].unique(), key=lambda judge: list(MARKS).index(roles.get(judge, "other")))
    lead = next((judge for judge in judges if roles.get(judge) == "trained"), judges[0])
    models = frame.loc[frame["judge"] == lead, "model"].tolist()
    with matplotlib.rc_context({"svg.hashsalt": "standings", "font.size": 9}):
        figure = Figure(figsize=(8, 1.2 + len(models) * (0.16 * len(judges) + 0.14)), layout="constrained")
        axes = figure.subplots()
        for index, judge in enumerate(judges):
            _draw(axes, frame[frame["judge"] == judge], models, index, len(judges), roles.get(judge, "other"))
        _dress(axes, models)
        figure.legend(loc="outside upper left", ncols=min(len(judges), 4), frameon=False)
        # A date in the file would make equal plots differ.
        metadata = {"Software": None} if path.suffix == ".png" else {"Date" if path.suffix == ".svg" else "CreationDate": None}
        with tables.atomic(path) as temporary:
            figure.savefig(temporary, format=path.suffix[1:], dpi=160, metadata=metadata)


def _draw(axes: Axes, rows: pd.DataFrame, models: list[str], index: int, judges: int, role: str) -> None:
    """One judge's marks, a line of its own within every model's band."""
    colour = COLOURS[index % len(COLOURS)]
    shift = (index - (judges - 1) / 2) * 0.8 / judges
    y = rows["model"].map({model: place + shift for place, model in enumerate(models)})
    wrong, right = 100 * rows["accuracy_lower"], 100 * rows["accuracy_upper"]
    axes.barh(y, right - wrong, left=wrong, height=0.5 / judges, color=colour, alpha=0.22)
    unsure = rows["invalid"] > 0
    axes.plot(wrong[unsure], y[unsure], "|", color=colour, markersize=7, markeredgewidth=2)
    axes.hlines(y, 100 * rows["low"], 100 * rows["high"], color=colour, linewidth=1.4)
    face = "white" if role == "other" else colour
    name = rows["judge"].iloc[0].replace("$", r"\$")
    axes.plot(100 * rows["accuracy"], y, MARKS[role], color=colour, markerfacecolor=face, markersize=4.5, label=name)


def _dress(axes: Axes, models: list[str]) -> None:
    axes.set_yticks(range(len(models)), [model.replace("$", r"\$") for model in models])
    axes.set_ylim(len(models) - 0.5, -0.5)
    axes.set_xlim(0, 100)
    axes.set_xlabel("answers judged correct, %")
    axes.grid(axis="x", color="#d8dee4", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(length=0)
    for place in range(1, len(models)):
        axes.axhline(place - 0.5, color="#d8dee4", linewidth=0.5)
    for side in axes.spines.values():
        side.set_visible(False)
