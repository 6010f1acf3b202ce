"""Prior-shift correction of a file's scores, per judge and model; see `bert_judge.judges.prior_shift.estimate`."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bert_judge.judges.prior_shift.config import PriorShiftJudgeConfig
from bert_judge.judges.prior_shift.estimate import estimate_base_rate, shift_prior
from bert_judge.judges.protocol import CalibratedJudge, Label, decided
from bert_judge.labels.judge_loading import NamedJudge
from bert_judge.runtime.errors import InputError

PRIOR_STRENGTH = PriorShiftJudgeConfig.model_fields["prior_strength"].default


@dataclass(frozen=True)
class Calibration:
    """The calibration of a judge's scores.

    Attributes:
        prior: base rate that the scores assume, in (0, 1).
        threshold: lowest score that counts as correct.
    """

    prior: float
    threshold: float


class Adapter:
    """Estimates the base rate of each model from all scores of a file, 8 bytes each, and shifts the scores to it.

    Args:
        judges: in the order of their labels.

    Attributes:
        base_rates: (judge, model) → estimated base rate; the model is "" if the file does not name one.

    Raises:
        InputError: a judge's scores are not calibrated, or their prior is unknown.
    """

    def __init__(self, judges: Sequence[NamedJudge]) -> None:
        self.calibrations = {judge.name: _load_calibration(judge) for judge in judges}
        self.base_rates: dict[tuple[str, str], float] = {}
        self._scores: dict[tuple[str, str], list[np.ndarray]] = defaultdict(list)

    def add(self, models: Sequence[str], labels: Sequence[Sequence[Label | None]]) -> None:
        """Collect the scores of some rows: per row its model, per judge one label per row."""
        for name, column in zip(self.calibrations, labels, strict=True):
            scores: dict[str, list[float]] = defaultdict(list)
            for model, label in zip(models, column, strict=True):
                if label is not None and label.score is not None:
                    scores[model].append(label.score)
            for model, model_scores in scores.items():
                self._scores[name, model].append(np.array(model_scores))

    def estimate(self) -> None:
        """Estimate the base rates from the collected scores."""
        for (name, model), chunks in self._scores.items():
            prior = self.calibrations[name].prior
            self.base_rates[name, model] = estimate_base_rate(np.concatenate(chunks), prior, PRIOR_STRENGTH)

    def apply(self, models: Sequence[str], labels: Sequence[Sequence[Label | None]]) -> list[list[Label | None]]:
        """Return the labels with shifted scores; labels without a score are unchanged."""
        columns = zip(self.calibrations, labels, strict=True)
        return [[self._shift(name, model, label) for model, label in zip(models, column, strict=True)] for name, column in columns]

    def _shift(self, name: str, model: str, label: Label | None) -> Label | None:
        if label is None or label.score is None:
            return label
        calibration = self.calibrations[name]
        score = float(shift_prior(label.score, calibration.prior, self.base_rates[name, model]))
        shifted = decided(score, calibration.threshold)
        return dataclasses.replace(label, verdict=shifted.verdict, score=shifted.score)


def _load_calibration(judge: NamedJudge) -> Calibration:
    calibrated = judge.judge
    if not isinstance(calibrated, CalibratedJudge) or not calibrated.calibrated:
        raise InputError(f"--prior-shift: the scores of {judge.name} are not calibrated; name a trained judge with --judge")
    return Calibration(calibrated.calibration_base_rate(), calibrated.threshold)
