"""Places of the models under each judge with their doubt, and how judges' verdicts and standings differ from each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.evaluation import resampling, statistics
from bert_judge.evaluation.matrix import Floats, Grid
from bert_judge.evaluation.model_pairs import Groups

Sums = tuple[Floats, Floats]


def ranks(frame: pd.DataFrame, judges: Sequence[str]) -> dict[tuple[str, str], dict[str, float]]:
    """(judge, model) → `rank`, `rank_low`, `rank_high` by the accuracy among valid verdicts; NaN without any."""
    grid = Grid.of(frame)
    sums = [_sums(grid, frame, judge, count=_valid(frame, judge)) for judge in judges]
    found: dict[tuple[str, str], dict[str, float]] = {}
    for judge, shares in zip(judges, resampling.resampled(sums) if judges else [], strict=True):
        places = resampling.ranks(shares)
        low, high = resampling.span(places)
        for at, model in enumerate(grid.models):
            found[judge, model] = {"rank": places[0, at], "rank_low": low[at], "rank_high": high[at]}
    return found


def rank_shift_table(groups: Groups, judges: Sequence[str], reference: str | None) -> pd.DataFrame:
    """How far each judge moves each model from its place under the reference, in the schema `tables.RANK_SHIFTS`.

    Over the answers with a valid verdict of the reference; an invalid one of the judge counts as wrong, as leaderboards have it.
    """
    rows: list[dict[str, Any]] = []
    if reference is not None:
        others = [judge for judge in judges if judge != reference]
        for (level, group), frame in groups.items():
            moves = _moves(frame[_valid(frame, reference)], others, reference)
            rows += [{"level": level, "group": group, "reference": reference, **row} for row in moves]
    made = pd.DataFrame(rows, columns=tables.RANK_SHIFTS.names)
    return made.astype(dict.fromkeys(["n", "rank_reference", "rank", "rank_shift", "low", "high"], "Int64"))


def _moves(frame: pd.DataFrame, judges: Sequence[str], reference: str) -> Iterator[dict[str, Any]]:
    grid = Grid.of(frame)
    first, *others = resampling.resampled([_sums(grid, frame, judge) for judge in (reference, *judges)])
    truth, size = resampling.ranks(first), np.bincount(grid.column, minlength=len(grid.models))
    for judge, shares in zip(judges, others, strict=True):
        place = resampling.ranks(shares)
        low, high = resampling.span(truth - place)
        for at, model in enumerate(grid.models):
            row = {"judge": judge, "model": model, "n": size[at], "rank_reference": truth[0, at], "rank": place[0, at]}
            yield row | {"rank_shift": truth[0, at] - place[0, at], "low": low[at], "high": high[at]}


def judge_pairs_table(groups: Groups, judges: Sequence[str], gold: str | None) -> pd.DataFrame:
    """Every two judges' verdicts and standings beside each other, in the schema `tables.JUDGE_PAIRS`.

    Over all answers, of a pair with gold over those that gold decided. A verdict of invalid agrees with invalid only, and counts as
    wrong in the standings.
    """
    rows: list[dict[str, Any]] = []
    for (level, group), frame in groups.items():
        for some, pairs in _by_rows(judges, gold):
            part = frame[_valid(frame, gold)] if some and gold is not None else frame
            grid = Grid.of(part)
            members = list(dict.fromkeys(name for pair in pairs for name in pair))
            shares = dict(zip(members, resampling.resampled([_sums(grid, part, judge) for judge in members]), strict=True))
            for judge, other in pairs:
                tau = resampling.rank_correlations(shares[judge], shares[other])
                row = {"level": level, "group": group, "judge": judge, "other": other, **_agreement(part, judge, other)}
                row |= {"models": len(grid.models), "rank_correlation": tau.value}
                rows.append(row | {"rank_correlation_low": tau.low, "rank_correlation_high": tau.high})
    return pd.DataFrame(rows, columns=tables.JUDGE_PAIRS.names)


def _by_rows(judges: Sequence[str], gold: str | None) -> list[tuple[bool, list[tuple[str, str]]]]:
    """(whether gold is in them, pairs of judges), without what is empty."""
    pairs = list(combinations(judges, 2))
    parts = [(True, [pair for pair in pairs if gold in pair]), (False, [pair for pair in pairs if gold not in pair])]
    return [(some, found) for some, found in parts if found]


def _agreement(frame: pd.DataFrame, judge: str, other: str) -> Mapping[str, Any]:
    one, two = (pd.Categorical(frame[f"{name}_verdict"], categories=tables.VERDICTS) for name in (judge, other))
    interval = statistics.proportion(np.asarray(one == two), frame["sample_id"].to_numpy())
    return {
        "n": len(frame),
        "questions": frame["sample_id"].nunique(),
        "agreement": interval.value,
        "low": interval.low,
        "high": interval.high,
        "kappa": statistics.kappa(one, two),
        "scott_pi": statistics.scott_pi(one, two),
        "macro_f1": statistics.macro_f1(one, two),
    }


def _valid(frame: pd.DataFrame, judge: str) -> np.ndarray:
    return (frame[f"{judge}_verdict"] != "invalid").to_numpy(dtype=bool)


def _sums(grid: Grid, frame: pd.DataFrame, judge: str, count: np.ndarray | None = None) -> Sums:
    """Per question and model: verdicts of correct, and rows; `count` says which rows count."""
    right = (frame[f"{judge}_verdict"] == "correct").to_numpy(dtype=bool)
    rows = np.ones(len(frame)) if count is None else count
    return grid.per_question(grid.spread(right)), grid.per_question(grid.spread(rows))
