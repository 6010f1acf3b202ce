"""Models in the order of their strength in pairs, and how far that order agrees with others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bert_judge.evaluation import resampling
from bert_judge.evaluation.pairs import strengths
from bert_judge.evaluation.pairs.bootstrap import Draws, Floats
from bert_judge.evaluation.pairs.rows import LENGTH_A, LENGTH_B, PEOPLE
from bert_judge.evaluation.pairs.strengths import Contests

# Points of A; a judge that contradicts itself has found no difference.
POINTS = {"A": 1.0, "B": 0.0, "tie": 0.5, "inconsistent": 0.5}


@dataclass(frozen=True)
class Order:
    """The models of some pairs under one judge.

    Attributes:
        models: names, sorted.
        strength: in each line of the bootstrap, shape (1 + resamples, models); None where they are not connected.
        rows: of the table of ranks, best model first.
    """

    models: list[str]
    strength: Floats | None
    rows: list[dict[str, Any]]


def orders(frame: pd.DataFrame, judges: Sequence[str], drawn: Draws) -> dict[str, Order]:
    """Judge → the order of the models under it; people last, where there are labels; nothing where the models are not known.

    Args:
        frame: as `rows.load` gives it, or a part of it.
        drawn: over the questions of the frame.
    """
    verdicts = {judge: frame[f"{judge}_verdict"] for judge in judges} | {PEOPLE: frame["label"]}
    found = {judge: _order(frame, said, drawn) for judge, said in verdicts.items()}
    return {judge: order for judge, order in found.items() if order is not None}


def _order(frame: pd.DataFrame, verdicts: pd.Series, drawn: Draws) -> Order | None:
    points = verdicts.map(POINTS).astype(float)
    named = frame["model_a"].notna() & frame["model_b"].notna() & (frame["model_a"] != frame["model_b"])
    kept = (points.notna() & named).to_numpy(dtype=bool)
    if not kept.any():
        return None
    rows, code = frame[kept], Draws(drawn.code[kept], drawn.weights)
    contests = Contests.of(rows["model_a"], rows["model_b"], points[kept], rows[LENGTH_A] - rows[LENGTH_B])
    found: dict[str, Floats] = _spans("win_rate", strengths.win_rates(contests, code))
    fit, reason = None, contests.unconnected
    if reason is None:
        fit = strengths.strengths(contests, code)
        controlled = strengths.win_rates_by(strengths.strengths(contests, code, controlled=True), contests, code)
        found |= _spans("strength", fit) | _spans("expected_win_rate", strengths.expected(fit)) | _spans("lc_win_rate", controlled)
        found |= _spans("rank", resampling.ranks(fit))
    counted = _counts(rows, np.asarray(points[kept], dtype=np.float64), contests.models)
    made = [
        {"model": model, **counted[at], **{name: values[at] for name, values in found.items()}, "reason": reason}
        for at, model in enumerate(contests.models)
    ]
    best = {row["model"]: row.get("rank", -row["win_rate"]) for row in made}
    return Order(contests.models, fit, sorted(made, key=lambda row: (best[row["model"]], row["model"])))


def _spans(name: str, lines: Floats) -> dict[str, Floats]:
    """What was observed and the ends of its interval, each of shape (models,)."""
    low, high = resampling.span(lines)
    return {name: lines[0], f"{name}_low": low, f"{name}_high": high}


def _counts(rows: pd.DataFrame, points: Floats, models: Sequence[str]) -> list[dict[str, Any]]:
    sides = [(rows["model_a"], points), (rows["model_b"], 1 - points)]
    part = pd.concat([pd.DataFrame({"model": m, "points": p, "sample_id": rows["sample_id"]}) for m, p in sides])
    grouped = part.groupby("model")
    n, questions = grouped.size(), grouped["sample_id"].nunique()
    won, tied = (part[part["points"] == worth].groupby("model").size() for worth in (1.0, 0.5))
    return [{"n": n[m], "questions": questions[m], "won": won.get(m, 0), "tied": tied.get(m, 0)} for m in models]


def correlations(judged: Mapping[str, Order], answers: Mapping[str, tuple[list[str], Floats]]) -> Iterator[dict[str, Any]]:
    """Each judge's order beside people's, and beside the orders by accuracy.

    Args:
        judged: judge → order, all from the same draws.
        answers: judge of single answers → models, and their accuracies in the lines of the same draws.
    """
    people = judged.get(PEOPLE)
    for judge, order in judged.items():
        if order.strength is None:
            continue
        others = {PEOPLE: ("pairs", people.models, people.strength)} if people and judge != PEOPLE else {}
        others |= {other: ("answers", models, lines) for other, (models, lines) in answers.items()}
        for other, (by, models, lines) in others.items():
            if lines is not None:
                yield {"judge": judge, "other": other, "by": by, **_correlation(order.models, order.strength, models, lines)}


def _correlation(models: list[str], strength: Floats, others: list[str], lines: Floats) -> dict[str, Any]:
    shared = [m for m in models if m in others and not np.isnan(lines[0, others.index(m)])]
    one = strength[:, [models.index(m) for m in shared]]
    two = lines[:, [others.index(m) for m in shared]]
    tau = resampling.rank_correlations(one, two)
    return {"models": len(shared), "rank_correlation": tau.value, "low": tau.low, "high": tau.high}
