"""Prior shift (label shift) correction of calibrated scores, without labels.

A calibrated score is the probability that an answer is correct at the base rate of the calibration rows, the prior. At another base
rate all scores are off by one constant on the log-odds scale. The base rate is estimated from the scores alone, by maximum
likelihood of a mixture of the scores of correct and incorrect answers (Saerens, Latinne and Decaestecker, 2002, "Adjusting the
outputs of a classifier to new a priori probabilities"). This assumes that the scores of correct answers, and those of incorrect
answers, are distributed as among the calibration rows.
"""

import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit

from bert_judge import tables
from bert_judge.judges.protocol import NOT_ATTEMPTED
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

# Keeps the log-odds finite.
EPSILON = 1e-6
BATCH_ROWS = 10_000


def estimate_base_rate(scores: ArrayLike, prior: float, prior_strength: float) -> float:
    """Estimate the share of correct answers, in (0, 1), by maximum likelihood from calibrated scores in [0, 1], shape (n,).

    Args:
        prior: base rate at which the scores are calibrated, in (0, 1).
        prior_strength: weight of the prior, as a number of answers; above 0.
    """
    score = np.clip(np.asarray(scores, dtype=float), EPSILON, 1 - EPSILON)
    correct, incorrect = score / prior, (1 - score) / (1 - prior)

    def slope(base_rate: float) -> float:
        """Derivative of the log-likelihood, which is concave; the prior makes it infinite at 0 and at 1."""
        evidence = np.sum((correct - incorrect) / (base_rate * correct + (1 - base_rate) * incorrect))
        return float(evidence + prior_strength * (prior / base_rate - (1 - prior) / (1 - base_rate)))

    # The maximum lies within these bounds for any scores.
    bound = min(prior, 1 - prior) * prior_strength / (2 * (prior_strength + len(score)))
    return float(brentq(slope, bound, 1 - bound, xtol=1e-12))


def shift_prior(scores: ArrayLike, prior: float, base_rate: float) -> NDArray[np.float64]:
    """Shift scores in [0, 1], shape (n,), calibrated at the base rate `prior`, to another base rate; both are in (0, 1)."""
    score = np.clip(np.asarray(scores, dtype=float), EPSILON, 1 - EPSILON)
    return np.asarray(expit(logit(score) + logit(base_rate) - logit(prior)))


def label_with_prior_shift(spec: Mapping[str, Any], labels: str | Path, validation: str | Path | None, output: str | Path) -> None:
    """Write a judge's labels with scores and verdicts shifted to the table's estimated base rate; invalid verdicts stay.

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
            shifted = batch["verdict"].where(~valid, verdict)
            outcome = batch["outcome"].where((batch["outcome"] == NOT_ATTEMPTED) & (shifted != "correct"), shifted)
            yield batch.assign(judge=spec["judge"], score=score, verdict=shifted, outcome=outcome)

    tables.write_parts(shifted_batches(), output, tables.LABELS, spec, tables.provenance(labels).get("revisions", {}))
    message = "%s on %s, %s: estimated base rate %.1f%% (n=%d), judge prior %.1f%%"
    log.info(message, spec["judge"], spec["model"], spec["task"], 100 * base_rate, len(scores), 100 * prior)


def _base_rate(validation: str | Path) -> float:
    base_rate = float(np.mean(tables.read_columns(validation, ["label"])["label"].to_numpy()))
    if not 0 < base_rate < 1:
        verdict = "correct" if base_rate == 1 else "incorrect"
        raise InputError(f"{validation}: all answers are {verdict}; set the judge's `prior` to the base rate")
    return base_rate
