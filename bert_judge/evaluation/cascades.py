"""What a cascade is worth: its agreement with gold beside that of its judges, for the same work of the last one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bert_judge import tables
from bert_judge.evaluation import groups, statistics
from bert_judge.evaluation.matrix import MODEL
from bert_judge.evaluation.scores import KEY
from bert_judge.evaluation.standings import load_verdicts
from bert_judge.evaluation.statistics import Interval
from bert_judge.judges.cascade.judge import deciding_judge
from bert_judge.runtime.errors import InputError


def build_cascades(spec: Mapping[str, Any], scores: Sequence[Path], labels: Mapping[str, Sequence[Path]], output: Path) -> None:
    """Write the table of cascades.

    Args:
        spec: as `Plan.cascades_spec` makes it.
        scores: the score tables.
        labels: cascade → its label tables, which say who decided, for the same models and tasks in the same order.
        output: a table in the schema `tables.CASCADES`.

    Raises:
        InputError: a file is not what it should be.
    """
    frame = load_verdicts(scores, spec["judges"])
    frame = frame[frame[f"{spec['gold']}_verdict"] != "invalid"]
    rows = []
    for cascade, judges in spec["cascades"].items():
        found = frame.merge(_seen_by_last(labels[cascade], judges), on=[MODEL, *KEY], how="left", validate="one_to_one")
        if found["(seen)"].isna().any():
            raise InputError(f"labels of {cascade}: an answer of the score tables is missing; delete these labels and run again")
        for (level, group), part in groups.by_family(found, spec["families"]):
            rows.append({"level": level, "group": group, "cascade": cascade, **_measured(part, cascade, judges, spec)})
    tables.write(pd.DataFrame(rows, columns=tables.CASCADES.names), output, tables.CASCADES, spec)


def _seen_by_last(paths: Sequence[Path], judges: Sequence[str]) -> pd.DataFrame:
    """For each answer whether the last judge looked at it."""
    parts = [tables.read(path, tables.LABELS)[[*KEY, "model", "reason"]] for path in paths]
    frame = pd.concat(parts, ignore_index=True)
    seen = frame["reason"].map(lambda reason: deciding_judge(reason, judges) == judges[-1])
    return frame[KEY].assign(**{MODEL: frame["model"], "(seen)": seen.astype(bool)})


def _measured(rows: pd.DataFrame, cascade: str, judges: Sequence[str], spec: Mapping[str, Any]) -> dict[str, Any]:
    clusters = pd.factorize(rows["sample_id"])[0]
    hits = {judge: _agrees(rows, judge, spec["gold"]) for judge in {cascade, *judges} & {*spec["judges"]}}
    whole = statistics.proportion(hits[cascade], clusters)
    seen = float(rows["(seen)"].mean()) if len(rows) else math.nan
    made = {
        "last": judges[-1],
        "n": len(rows),
        "escalation_rate": seen,
        "agreement": whole.value,
        "low": whole.low,
        "high": whole.high,
    }
    alone = {judge: float(hits[judge].mean()) for judge in judges if judge in hits and len(rows)}
    plain = max((judge for judge in judges[:-1] if judge in alone), key=alone.__getitem__, default=None)
    made |= {"best_cheap_judge": plain, "best_cheap_agreement": alone.get(plain or ""), "last_agreement": alone.get(judges[-1])}
    if plain is None or judges[-1] not in alone:
        return made
    # What chance gives, when it decides which of the two judges looks at an answer.
    made |= {"random_routing": seen * alone[judges[-1]] + (1 - seen) * alone[plain]}
    counts = [rows["(seen)"].to_numpy(), *(hits[judge] for judge in (cascade, judges[-1], plain))]
    lead = _lead(np.stack(counts, axis=1).astype(np.int64), clusters)
    return made | {"difference": lead.value, "difference_low": lead.low, "difference_high": lead.high}


def _lead(counts: NDArray[np.int64], clusters: NDArray[np.intp]) -> Interval:
    """Agreement of a cascade minus what chance gives for the same cost, with a 95% percentile bootstrap over clusters.

    Args:
        counts: shape (rows, 4), 0 or 1: the last judge looked; the cascade, the last judge, the plain judge has the gold verdict.
        clusters: shape (rows,), numbers from 0.
    """
    columns = [np.bincount(clusters, column) for column in counts.T]
    kinds, number = np.unique(np.stack([*columns, np.bincount(clusters)], axis=1), axis=0, return_counts=True)
    draws = np.random.default_rng(0).multinomial(number.sum(), number / number.sum(), size=statistics.RESAMPLES) @ kinds
    tail = (1 - statistics.CONFIDENCE) / 2
    low, high = np.quantile(_above_chance(draws), [tail, 1 - tail])
    return Interval(float(_above_chance((number @ kinds)[None])[0]), float(low), float(high))


def _above_chance(totals: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of totals (looked at, cascade right, last right, plain right, rows), shape (n, 5), as shape (n,)."""
    seen, cascade, last, plain = totals[:, :4].T / totals[:, 4]
    return cascade - (seen * last + (1 - seen) * plain)


def _agrees(rows: pd.DataFrame, judge: str, gold: str) -> NDArray[np.bool_]:
    return (rows[f"{judge}_verdict"].astype(str) == rows[f"{gold}_verdict"].astype(str)).to_numpy()
