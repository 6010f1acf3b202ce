"""How far a pairwise judge agrees with the labels and with itself, and what moves it besides the answers' quality."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.evaluation import statistics
from bert_judge.evaluation.agreement import MAJORITY
from bert_judge.evaluation.pairs import bootstrap, confusion, panel
from bert_judge.evaluation.pairs.rows import LENGTH_A, LENGTH_B, PEOPLE, by_task
from bert_judge.evaluation.statistics import Interval

# Measure, the rows that it is measured on, the measure.
Measured = tuple[str, pd.DataFrame, Interval]
# A's share of the point that a pair is about.
POINTS = {"A": 1.0, "tie": 0.5, "B": 0.0}
PREFERS_ONE = ["A", "B"]


def measures(frame: pd.DataFrame, judges: Sequence[str]) -> list[dict[str, Any]]:
    """Rows of the schema `tables.PAIR_AGREEMENT` without `set`, per group, judge and measure; people and the commonest label last.

    Args:
        frame: as `rows.load` gives it.
        judges: those with columns in it.
    """
    rows: list[dict[str, Any]] = []
    for (level, task), part in by_task(frame):
        told = [(judge, _of_judge(part, judge)) for judge in judges]
        told += [(PEOPLE, _of_people(part)), (MAJORITY, _of_majority(part))]
        for judge, measured in told:
            for measure, on, interval in measured:
                row = {"level": level, "task": task, "judge": judge, "measure": measure, "n": len(on)}
                row |= {"questions": on["sample_id"].nunique()}
                rows.append(row | {"value": interval.value, "low": interval.low, "high": interval.high})
    return rows


def _of_judge(frame: pd.DataFrame, judge: str) -> Iterator[Measured]:
    prefix = f"{judge}_"
    rows = frame.rename(columns={f"{prefix}{name}": name for name in ("verdict", "consistent", "forward", "backward")})
    yield from _with_labels(rows)
    yield from _of_places(rows)
    yield from _of_lengths(rows)
    if len(voted := rows[panel.enough(rows["votes"])]):
        found = panel.measured(voted["verdict"], voted["votes"], bootstrap.over(voted["sample_id"]))
        yield "panel_agreement", voted, found.judge
        yield "panel_agreement_excess", voted, found.excess
    for verdict in ("tie", "inconsistent", "invalid"):
        yield verdict, rows, _share(rows, rows["verdict"] == verdict)


def _of_people(frame: pd.DataFrame) -> Iterator[Measured]:
    """What the labels do about lengths and ties, and how far people agree with each other."""
    if len(voted := frame[panel.enough(frame["votes"])]):
        yield "panel_agreement", voted, panel.people_alone(voted["votes"], bootstrap.over(voted["sample_id"]))
    if len(labelled := frame[frame["label"].notna()]):
        clear = labelled[labelled["label"].isin(PREFERS_ONE) & (labelled[LENGTH_A] != labelled[LENGTH_B])]
        yield "prefers_longer", clear, _share(clear, _prefers_longer(clear, clear["label"]))
        yield "tie", labelled, _share(labelled, labelled["label"] == "tie")


def _of_majority(frame: pd.DataFrame) -> Iterator[Measured]:
    """The judge that always gives the commonest label: what agreement is worth nothing."""
    if len(labelled := frame[frame["label"].notna()]):
        common = str(labelled["label"].value_counts().sort_index().idxmax())
        said = labelled.assign(verdict=common, forward=common)
        yield from (found for found in _with_labels(said) if found[0] in ("agreement", *confusion.MEASURES))


def _with_labels(rows: pd.DataFrame) -> Iterator[Measured]:
    labelled = rows[rows["label"].notna()]
    if labelled.empty:
        return
    yield "agreement", labelled, _share(labelled, labelled["verdict"] == labelled["label"])
    decided = labelled[labelled["verdict"].isin(tables.PREFERRED)]
    yield "agreement_decided", decided, _share(decided, decided["verdict"] == decided["label"])
    yield "agreement_one_order", labelled, _share(labelled, labelled["forward"] == labelled["label"])
    label = pd.Categorical(labelled["label"], categories=tables.PREFERRED)
    found = confusion.measured(confusion.categories(labelled["verdict"]), label, bootstrap.over(labelled["sample_id"]))
    for measure, interval in found.items():
        yield measure, labelled, interval


def _of_places(rows: pd.DataFrame) -> Iterator[Measured]:
    """As JudgeLM counts it: a verdict moves to the first place when A is better off being shown first, by half a point or more."""
    both = rows[rows["consistent"].notna()]
    there, back = (both[order].map(POINTS).to_numpy(dtype=float) for order in ("forward", "backward"))
    shift = there - back
    yield "consistency", both, _share(both, both["consistent"])
    yield "prefers_first", both, _share(both, shift > 0)
    yield "prefers_second", both, _share(both, shift < 0)
    yield "position_bias", both, statistics.paired_difference(shift > 0, shift < 0, both["sample_id"].to_numpy())


def _of_lengths(rows: pd.DataFrame) -> Iterator[Measured]:
    clear = rows[rows["verdict"].isin(PREFERS_ONE) & (rows[LENGTH_A] != rows[LENGTH_B])]
    longer = _prefers_longer(clear, clear["verdict"])
    yield "prefers_longer", clear, _share(clear, longer)
    labelled = clear["label"].isin(PREFERS_ONE).to_numpy(dtype=bool)
    if len(both := clear[labelled]):
        theirs = _prefers_longer(both, both["label"])
        yield "length_bias", both, statistics.paired_difference(longer[labelled], theirs, both["sample_id"].to_numpy())


def _prefers_longer(rows: pd.DataFrame, preferred: pd.Series) -> np.ndarray:
    return ((preferred == "A") == (rows[LENGTH_A] > rows[LENGTH_B])).to_numpy(dtype=bool)


def _share(rows: pd.DataFrame, hits: pd.Series | np.ndarray) -> Interval:
    return statistics.proportion(np.asarray(hits, dtype=bool), rows["sample_id"].to_numpy())
