"""Evaluation of cascades: agreement with gold, compared with random routing at the same escalation rate."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bert_judge import tables
from bert_judge.evaluation.score_tables import KEY, MODEL, group_by_family, load_verdicts
from bert_judge.runtime.errors import InputError
from bert_judge.statistics import intervals
from bert_judge.statistics.bootstrap import Floats, Interval, merge_identical, percentile_interval, resample_totals

ESCALATED = "(escalated)"


def build_cascades(spec: Mapping[str, Any], scores: Sequence[Path], labels: Mapping[str, Sequence[Path]], output: Path) -> None:
    """Write the table of cascades.

    `labels`: cascade → its label tables, which name the deciding judge, for the same models and tasks in the same order.
    """
    frame = load_verdicts(scores, spec["judges"])
    frame = frame[frame[f"{spec['gold']}_verdict"] != "invalid"]
    rows = []
    for cascade, judges in spec["cascades"].items():
        escalations = _read_escalations(labels[cascade], judges[-1])
        answers = frame.merge(escalations, on=[MODEL, *KEY], how="left", validate="one_to_one")
        if answers[ESCALATED].isna().any():
            raise InputError(f"labels of {cascade}: an answer of the score tables is missing; delete these labels and run again")
        for (level, group), subset in group_by_family(answers, spec["families"]):
            rows.append({"level": level, "group": group, "cascade": cascade, **_evaluate(subset, cascade, judges, spec)})
    tables.write(pd.DataFrame(rows, columns=tables.CASCADES.names), output, tables.CASCADES, spec)


def _read_escalations(paths: Sequence[Path], last_judge: str) -> pd.DataFrame:
    """Read for each answer whether the last judge was called."""
    frame = pd.concat([tables.read(path, tables.LABELS)[[*KEY, "model", "decided_by"]] for path in paths], ignore_index=True)
    return frame[KEY].assign(**{MODEL: frame["model"], ESCALATED: (frame["decided_by"] == last_judge).astype(bool)})


def _evaluate(rows: pd.DataFrame, cascade: str, judges: Sequence[str], spec: Mapping[str, Any]) -> dict[str, Any]:
    questions = pd.factorize(rows["sample_id"])[0]
    last = judges[-1]
    verdicts = {judge: rows[f"{judge}_verdict"].astype(str) for judge in spec["judges"]}
    agrees = {judge: (verdicts[judge] == verdicts[spec["gold"]]).to_numpy() for judge in {cascade, *judges} & verdicts.keys()}
    rate = float(rows[ESCALATED].mean()) if len(rows) else math.nan
    row = {
        "last": last,
        "n": len(rows),
        "escalation_rate": rate,
        **intervals.proportion(agrees[cascade], questions).columns("agreement"),
    }
    means = {judge: float(agrees[judge].mean()) for judge in judges if judge in agrees and len(rows)}
    best_cheap = max((judge for judge in judges[:-1] if judge in means), key=means.__getitem__, default=None)
    row |= {"best_cheap_judge": best_cheap, "best_cheap_agreement": means.get(best_cheap or ""), "last_agreement": means.get(last)}
    if best_cheap is None or last not in means:
        return row
    columns = [rows[ESCALATED].to_numpy(), agrees[cascade], agrees[last], agrees[best_cheap], np.ones(len(rows))]
    sums = np.stack([np.bincount(questions, column) for column in columns], axis=1).astype(np.int64)
    random_routing = rate * means[last] + (1 - rate) * means[best_cheap]
    return row | {"random_routing": random_routing} | _lead_over_random_routing(sums).columns("difference", "difference_")


def _lead_over_random_routing(sums: NDArray[np.int64]) -> Interval:
    """Compare the agreement of a cascade with that of random routing between its last and its best cheap judge.

    `sums`: per question, shape (questions, 5): escalated rows; rows on which the cascade, the last judge, the cheap judge agree
    with gold; rows.
    """
    lines, counts = merge_identical(sums)
    totals: Floats = resample_totals(lines, counts=counts, resamples=intervals.DIFFERENCE_RESAMPLES)
    rate, cascade, last, cheap = totals[:, :4].T / totals[:, 4]
    return percentile_interval(cascade - (rate * last + (1 - rate) * cheap))
