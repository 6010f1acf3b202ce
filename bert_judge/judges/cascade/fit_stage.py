"""The stage that fits a cascade on the validation rows of a dataset."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.judges.cascade.curve import draw_trade_off
from bert_judge.judges.cascade.fit import Point, Verdicts, choose, trade_off
from bert_judge.judges.cascade.judge import described
from bert_judge.judges.cascade.stage import labels_on, numbered
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)


def fit_cascade(
    spec: Mapping[str, Any], validation: str | Path, labels: Mapping[str, str | Path], output: str | Path, picture: str | Path
) -> None:
    """Choose where each judge of a cascade is sure.

    Args:
        spec: of `Plan.cascade_spec`.
        validation: the validation rows of its dataset.
        labels: judge → its verdicts on them; the dataset's teacher needs none, its labels are what the rows hold.
        output: the JSON file.
        picture: PNG of agreement against cost.

    Raises:
        InputError: a table does not fit the rows, or no cuts give what is wanted.
    """
    rows = numbered(tables.read(validation, tables.DATASET))
    right = (rows["label"] >= 0.5).to_numpy()
    judges = {}
    for name in spec["judges"]:
        judges[name] = _taught(right) if name == spec["teacher"] else _given(labels_on(rows, labels[name]))
    points = trade_off(judges, right)
    try:
        chosen = choose(points, spec["accuracy"], spec["budget"])
    except InputError as error:
        raise InputError(f"judges.{spec['judge']}.{error}") from None
    alone = {name: float((v.said == np.where(right, "correct", "incorrect")).mean()) for name, v in judges.items()}
    draw_trade_off(points, chosen, alone, picture)
    found = {
        **described(chosen.cuts, spec["judges"][-1]),
        "fitted_on": {"dataset": spec["dataset"], "rows": len(rows), "questions": int(rows["question"].nunique())},
        "chosen": _plain(chosen),
        "alone": alone,
        "trade_off": [_plain(point) for point in points],
    }
    with tables.atomic(output) as temporary:
        temporary.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
    seen = ", ".join(f"{name} sees {share:.1%}" for name, share in chosen.seen.items())
    log.info("%s: agrees in %.1f%% of %d validation rows; %s", spec["judge"], 100 * chosen.agreement, len(rows), seen)


def _taught(right: np.ndarray) -> Verdicts:
    """The teacher's verdicts are the truth that is fitted to."""
    return Verdicts(np.where(right, "correct", "incorrect").astype(object), right.astype(float))


def _given(verdicts: pd.DataFrame) -> Verdicts:
    return Verdicts(verdicts["verdict"].to_numpy(dtype=object), verdicts["score"].to_numpy(dtype=float))


def _plain(point: Point) -> dict[str, Any]:
    return {"trust": point.trust, "seen": dict(point.seen), "agreement": point.agreement}
