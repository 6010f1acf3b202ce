"""The stage that moves a judge's scores to the share of right answers of each table."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.judges.prior_shift.estimate import moved, share_of_right
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)
ROWS_AT_ONCE = 10_000


def label_adapted(spec: Mapping[str, Any], labels: str | Path, validation: str | Path | None, output: str | Path) -> None:
    """Write a judge's verdicts with its scores moved to the share of right answers that they tell. Invalid verdicts stay.

    Args:
        spec: `Plan.labels_spec`.
        labels: the verdicts of the judge whose scores are moved.
        validation: the validation rows whose share of right answers the scores take for granted; None: the settings say it.

    Raises:
        InputError: the validation rows are all right, or all wrong.
    """
    settings = spec["settings"]
    prior = settings["prior"] if validation is None else _share(validation)
    # An invalid verdict has no score.
    scores = tables.read_columns(labels, ["score"])["score"].drop_null().to_numpy()
    share = share_of_right(scores, prior, settings["caution"])

    def adapted() -> Iterator[pd.DataFrame]:
        for batch in tables.read_batches(labels, tables.LABELS, ROWS_AT_ONCE):
            score = moved(batch["score"], prior, share)
            verdict = np.where(score >= settings["threshold"], "correct", "incorrect")
            valid = batch["verdict"] != "invalid"
            yield batch.assign(judge=spec["judge"], score=score, verdict=batch["verdict"].where(~valid, verdict))

    tables.write_parts(adapted(), output, tables.LABELS, spec, tables.provenance(labels).get("revisions", {}))
    told = "%s on %s, %s: %.1f%% of %d answers told to be right, where the judge's scores take %.1f%% for granted"
    log.info(told, spec["judge"], spec["model"], spec["task"], 100 * share, len(scores), 100 * prior)


def _share(validation: str | Path) -> float:
    """Share of right answers among validation rows."""
    share = float(np.mean(tables.read_columns(validation, ["label"])["label"].to_numpy()))
    if not 0 < share < 1:
        which = "right" if share == 1 else "wrong"
        raise InputError(f"{validation}: its answers are all {which}; say the share of right ones under the judge's `prior`")
    return share
