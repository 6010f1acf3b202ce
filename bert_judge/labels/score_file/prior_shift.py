"""Prior-shift correction of a file's scores, per judge and model; see `bert_judge.judges.prior_shift.estimate`."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bert_judge.judges.bert import judge_folder
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.judges.prior_shift.config import PriorShiftJudgeConfig
from bert_judge.judges.prior_shift.estimate import estimate_base_rate, shift_prior
from bert_judge.judges.protocol import Label, decided
from bert_judge.labels.score_file.judge_loading import Chosen
from bert_judge.runtime.errors import InputError

# As in a run.
PRIOR_STRENGTH = PriorShiftJudgeConfig.model_fields["prior_strength"].default


@dataclass(frozen=True)
class Calibrated:
    """A judge whose scores are probabilities.

    Attributes:
        prior: share of right answers that they take for granted, in (0, 1).
        threshold: lowest score that counts as correct.
    """

    prior: float
    threshold: float


class Adapter:
    """Tells shares from all scores of a file, 8 bytes each, and moves the scores to them.

    Args:
        judges: whose labels it is given, in this order.

    Attributes:
        shares: (judge, model) → share of right answers, once it is told; the model is "" where the file names none.

    Raises:
        InputError: a judge's scores are no probabilities, or nobody knows which share they take for granted.
    """

    def __init__(self, judges: Sequence[Chosen]) -> None:
        self.calibrated = {chosen.name: _calibrated(chosen) for chosen in judges}
        self.shares: dict[tuple[str, str], float] = {}
        self._scores: dict[tuple[str, str], list[np.ndarray]] = defaultdict(list)

    def add(self, models: Sequence[str], labels: Sequence[Sequence[Label | None]]) -> None:
        """Hear the scores of some rows: per row its model, per judge one label per row."""
        for name, column in zip(self.calibrated, labels, strict=True):
            scores: dict[str, list[float]] = defaultdict(list)
            for model, label in zip(models, column, strict=True):
                if label is not None and label.score is not None:
                    scores[model].append(label.score)
            for model, found in scores.items():
                self._scores[name, model].append(np.array(found))

    def tell(self) -> None:
        """Tell the shares from what was heard."""
        for (name, model), parts in self._scores.items():
            prior = self.calibrated[name].prior
            self.shares[name, model] = estimate_base_rate(np.concatenate(parts), prior, PRIOR_STRENGTH)

    def adapted(self, models: Sequence[str], labels: Sequence[Sequence[Label | None]]) -> list[list[Label | None]]:
        """The labels with moved scores; those without a score stay."""
        columns = zip(self.calibrated, labels, strict=True)
        return [
            [self._adapted(name, model, label) for model, label in zip(models, column, strict=True)] for name, column in columns
        ]

    def _adapted(self, name: str, model: str, label: Label | None) -> Label | None:
        if label is None or label.score is None:
            return label
        calibrated = self.calibrated[name]
        score = float(shift_prior(label.score, calibrated.prior, self.shares[name, model]))
        verdict = decided(score, calibrated.threshold)
        return dataclasses.replace(label, verdict=verdict.verdict, score=verdict.score)


def _calibrated(chosen: Chosen) -> Calibrated:
    judge = chosen.judge
    if not isinstance(judge, BERTJudge) or not judge.calibrated:
        raise InputError(f"--adapt: the scores of {chosen.name} are no calibrated probabilities; name a trained judge with --judge")
    return Calibrated(_prior(judge.path), judge.threshold)


def _prior(folder: Path) -> float:
    """Share of right answers among the rows that a judge was calibrated on."""
    metrics = judge_folder.read_metrics(folder)
    if metrics is None:
        raise InputError(f"{folder}: has no {judge_folder.METRICS}, which says what --adapt starts from; take a judge trained here")
    validation = metrics.get("validation")
    share = validation.get("base_rate") if isinstance(validation, Mapping) else None
    if not isinstance(share, float | int) or not 0 < share < 1:
        raise InputError(
            f"{folder / judge_folder.METRICS}: validation.base_rate is {share!r}; --adapt needs a share between 0 and 1"
        )
    return float(share)
