"""A trained encoder as a pairwise judge."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from bert_judge.config import Input, Training
from bert_judge.encoder import checkpoint as checkpoints
from bert_judge.encoder.encoding import EncodedRow, RowEncoder, fair_lengths, keep_tail
from bert_judge.encoder.inference import Engine
from bert_judge.encoder.judge_folder import resolve_checkpoint
from bert_judge.judges.protocol import NOT_A_NUMBER, OrderVerdict, Pair, Preference, combine_orders, invalid_preference
from bert_judge.runtime.errors import InputError
from bert_judge.text import TEXT_VERSION
from bert_judge.text.features import truncate_middle
from bert_judge.text.visible_text import normalize_text

# Bounds of both logarithms: beyond them, a fit on few pairs only reflects that all were correct, or that none was a tie.
MAX_LOG_TEMPERATURE, MAX_LOG_NU = 2.5, 6.0
# Standard deviation of the normal prior on the log temperature, for few pairs.
PRIOR_WIDTH = 2.0
VERDICTS = np.array(["A", "tie", "B"])


class DavidsonTieModel(NamedTuple):
    """Probabilities of A, tie and B from a difference of two answers, by Davidson's model of paired comparisons.

        P(A) : P(tie) : P(B)  =  exp(z/2) : nu : exp(-z/2),   z = difference / temperature

    Source: R. R. Davidson, "On extending the Bradley-Terry model to accommodate ties in paired comparison experiments", 1970. It is
    exactly symmetric: the negated difference has the swapped probabilities.
    """

    temperature: float = 1.0
    log_nu: float = -MAX_LOG_NU

    def probabilities(self, differences: ArrayLike) -> np.ndarray:
        """Compute P(A), P(tie) and P(B) of each difference, shape (n, 3)."""
        half = np.asarray(differences, float) / self.temperature / 2
        largest = np.maximum(np.abs(half), self.log_nu)
        better, worse, tie = np.exp(half - largest), np.exp(-half - largest), np.exp(self.log_nu - largest)
        total = better + worse + tie
        return np.stack([better / total, tie / total, worse / total], axis=-1)

    def verdicts(self, differences: ArrayLike) -> np.ndarray:
        """Return the likeliest verdict of each difference, shape (n,); a tie if A and B are equally likely."""
        p = self.probabilities(differences)
        return VERDICTS[np.where(p[:, 0] == p[:, 2], 1, p.argmax(axis=1))]


def fit_tie_model(differences: ArrayLike, labels: ArrayLike) -> DavidsonTieModel:
    """Fit temperature and tie weight by maximum likelihood, on differences of A over B labelled 1 (A), 0.5 (tie) or 0 (B)."""
    z, y = np.asarray(differences, float), np.asarray(labels, float)
    if not len(z):
        return DavidsonTieModel()
    column = np.where(y > 0.5, 0, np.where(y < 0.5, 2, 1))

    def loss(parameters: np.ndarray) -> float:
        probabilities = DavidsonTieModel(float(np.exp(parameters[0])), float(parameters[1])).probabilities(z)
        prior = (parameters[0] / PRIOR_WIDTH) ** 2 / 2
        return float(prior - np.log(np.maximum(probabilities[np.arange(len(z)), column], 1e-12)).sum())

    bounds = [(-MAX_LOG_TEMPERATURE, MAX_LOG_TEMPERATURE), (-MAX_LOG_NU, MAX_LOG_NU)]
    best = minimize(loss, np.array([0.0, -1.0]), method="L-BFGS-B", bounds=bounds).x
    return DavidsonTieModel(float(np.exp(best[0])), float(best[1]))


class PairEncoderJudge:
    """Implements `judges.protocol.PairJudge`.

    The encoder's score is the difference d(A, B) = f(A, B) − f(B, A) of its logits on both orders, positive if A is better. It
    changes its sign if the answers are swapped, for any weights, so there is no position bias.

    Args:
        path: local folder of a judge, or of a backbone that `fit` will train.
        max_length: of a backbone; a judge has its own.

    Raises:
        InputError: the folder is no checkpoint, or a judge of single answers.
    """

    def __init__(self, path: str | Path, max_length: int = 512, name: str = "pairwise", revision: str = "local") -> None:
        self.path = Path(path)
        self.checkpoint = checkpoints.load(path, Input(max_length=max_length))
        metadata = self.checkpoint.metadata
        if self.checkpoint.trained and not metadata.pairwise:
            raise InputError(f"{path}: a judge of single answers; name a judge of kind pairwise, or a backbone to train")
        if not metadata.pairwise:
            self.checkpoint.update(pairwise={"log_nu": DavidsonTieModel().log_nu})
        self.encoder = PairRowEncoder(self.checkpoint.tokenizer, metadata.input, self.checkpoint.window)
        # One number format for both orders, without conversion: exact symmetry must not depend on the machine.
        self.engine = Engine(self.checkpoint, backend="torch")
        self.revisions = {name: revision}

    @classmethod
    def from_run(cls, checkpoint: str | Path, name: str) -> PairEncoderJudge:
        """Load the judge of a workflow run; `checkpoint` is as for `judge_folder.resolve_checkpoint`."""
        folder, revision = resolve_checkpoint(checkpoint)
        return cls(folder, name=name, revision=revision)

    @property
    def tie_model(self) -> DavidsonTieModel:
        metadata = self.checkpoint.metadata
        return DavidsonTieModel(metadata.temperature, metadata.pairwise["log_nu"])

    def compare(self, pairs: Sequence[Pair]) -> list[Preference]:
        """See `judges.protocol.PairJudge`. Two equal answers tie. Raises InputError: the judge was never trained."""
        if not self.checkpoint.trained:
            raise InputError(f"{self.path}: an untrained backbone; call fit, or give a judge's folder")
        if not pairs:
            return []
        rows, swapped = self.encode(pairs)
        model, differences, error = self.tie_model, self._differences(rows, swapped), 2 * self.engine.logit_error
        # Rounding must not flip a verdict.
        close = np.flatnonzero(model.verdicts(differences - error) != model.verdicts(differences + error)).tolist()
        differences[close] = self._differences([rows[i] for i in close], [swapped[i] for i in close], exact=True)
        columns = model.verdicts(differences).tolist(), model.probabilities(differences), differences.tolist(), rows, swapped
        preferences = []
        for verdict, p, difference, *orders in zip(*columns, strict=True):
            if not math.isfinite(difference):
                preferences.append(invalid_preference(NOT_A_NUMBER))
                continue
            outcome = OrderVerdict(
                verdict,
                # Rounding may leave [0, 1].
                min(1.0, max(0.0, float(p[0] + p[1] / 2))),
                raw=json.dumps({"difference": difference}),
                truncated=any(row.truncated for row in orders),
                prompt_tokens=sum(len(row.ids) for row in orders),
            )
            # Every difference contains both orders; the tokens are counted once.
            preferences.append(combine_orders(outcome, replace(outcome, prompt_tokens=None)))
        return preferences

    def encode(self, pairs: Sequence[Pair]) -> tuple[list[EncodedRow], list[EncodedRow]]:
        """Encode each pair in both orders."""
        questions = [pair.question for pair in pairs]
        references = ["\n".join(map(normalize_text, pair.references)) for pair in pairs]
        a, b = [normalize_text(pair.answer_a) for pair in pairs], [normalize_text(pair.answer_b) for pair in pairs]
        return self.encoder.encode_pair(questions, references, a, b), self.encoder.encode_pair(questions, references, b, a)

    def fit(self, pairs: Sequence[Pair], labels: Sequence[float], training: Training, work_folder: str | Path) -> dict[str, float]:
        """Train on pairs labelled from 1 (A is better) to 0 (B is), and return metrics; a repeated call resumes."""
        from bert_judge.encoder import trainer

        rows, swapped = self.encode(pairs)
        examples = trainer.Examples(rows, labels, [1.0] * len(rows), opponents=swapped)
        metrics = trainer.fit(self.checkpoint, examples, training, work_folder)
        self.checkpoint.trained = True
        self.checkpoint.update(temperature=1.0, text_version=TEXT_VERSION)
        return metrics

    def calibrate(self, pairs: Sequence[Pair], labels: Sequence[float]) -> None:
        """Fit temperature and tie weight on held-out pairs."""
        targets = np.asarray(labels, float)
        # Each pair counts in both orders.
        differences = self._differences(*self.encode(pairs))
        fitted = fit_tie_model(np.concatenate([differences, -differences]), np.concatenate([targets, 1 - targets]))
        self.checkpoint.update(temperature=fitted.temperature, pairwise={"log_nu": fitted.log_nu})

    def save(self, folder: str | Path) -> None:
        """Write weights, tokenizer and, last, judge.json."""
        self.checkpoint.save(Path(folder))

    def _differences(self, rows: Sequence[EncodedRow], swapped: Sequence[EncodedRow], *, exact: bool = False) -> np.ndarray:
        """Compute d(A, B) of each encoded pair, before the temperature, shape (n,); `exact`: see `Engine.score`."""
        logits = self.engine.logits([*rows, *swapped], exact=exact)
        return logits[: len(rows)] - logits[len(rows) :]


class PairRowEncoder(RowEncoder):
    """Encodes pairs as `[CLS] first [SEP] second [SEP] question [SEP] references [SEP]`; truncation costs both answers the same."""

    def encode_pair(
        self, questions: Sequence[str], references: Sequence[str], first_answers: Sequence[str], second_answers: Sequence[str]
    ) -> list[EncodedRow]:
        """Encode one row per (question, references, first answer, second answer)."""
        start, middle, end = self._pair_template
        budget = self.max_length - len(start) - len(middle) - len(end) - 2
        rows = []
        for segments in zip(*map(self._tokens, (questions, references, first_answers, second_answers)), strict=True):
            question, reference, first, second = segments
            full_lengths = [len(segment) for segment in segments]
            lengths = fair_lengths(full_lengths, budget)
            first, second = truncate_middle(first, lengths[2]), truncate_middle(second, lengths[3])
            question, reference = keep_tail(question, lengths[0]), reference[: lengths[1]]
            segment_a = (*start, *first, *middle)
            segment_b = (*second, self._separator, *question, self._separator, *reference, *end)
            types = (0,) * len(segment_a) + (1,) * len(segment_b)
            rows.append(EncodedRow(segment_a + segment_b, types, truncated=lengths != full_lengths))
        return rows
