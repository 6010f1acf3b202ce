"""The stage that corrects a judge's labels for prior shift, one table at a time."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.judges.prior_shift.estimate import estimate_base_rate, shift_prior
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)
BATCH_ROWS = 10_000


def label_with_prior_shift(spec: Mapping[str, Any], labels: str | Path, validation: str | Path | None, output: str | Path) -> None:
    """Write a judge's labels with scores and verdicts shifted to the table's estimated base rate; invalid verdicts stay.

    Args:
        spec: `Plan.labels_spec`.
        labels: label table of the judge to correct.
        validation: validation rows on which that judge was calibrated; None if the settings give the prior.

    Raises:
        InputError: the validation rows are all correct or all incorrect.
    """
    settings = spec["settings"]
    prior = settings["prior"] if validation is None else _base_rate(validation)
    # An invalid verdict has no score.
    scores = tables.read_columns(labels, ["score"])["score"].drop_null().to_numpy()
    base_rate = estimate_base_rate(scores, prior, settings["prior_strength"])

    def shifted_batches() -> Iterator[pd.DataFrame]:
        for batch in tables.read_batches(labels, tables.LABELS, BATCH_ROWS):
            score = shift_prior(batch["score"], prior, base_rate)
            verdict = np.where(score >= settings["threshold"], "correct", "incorrect")
            valid = batch["verdict"] != "invalid"
            yield batch.assign(judge=spec["judge"], score=score, verdict=batch["verdict"].where(~valid, verdict))

    tables.write_parts(shifted_batches(), output, tables.LABELS, spec, tables.provenance(labels).get("revisions", {}))
    message = "%s on %s, %s: estimated base rate %.1f%% (n=%d), judge prior %.1f%%"
    log.info(message, spec["judge"], spec["model"], spec["task"], 100 * base_rate, len(scores), 100 * prior)


def _base_rate(validation: str | Path) -> float:
    """Compute the share of correct answers among validation rows."""
    base_rate = float(np.mean(tables.read_columns(validation, ["label"])["label"].to_numpy()))
    if not 0 < base_rate < 1:
        verdict = "correct" if base_rate == 1 else "incorrect"
        raise InputError(f"{validation}: all answers are {verdict}; set the judge's `prior` to the base rate")
    return base_rate
