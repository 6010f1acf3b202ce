"""A trained encoder as a pairwise judge."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize

from bert_judge.config import Input, Training
from bert_judge.judges.bert import checkpoint as checkpoints
from bert_judge.judges.bert.encoding import EncodedRow, RowEncoder, keep_tail, truncate_middle
from bert_judge.judges.bert.engine import Engine
from bert_judge.judges.pairwise.protocol import OrderVerdict, Pair, Preference, combine_orders
from bert_judge.judges.visible_text import normalize_text
from bert_judge.runtime.errors import InputError

# Bounds of both logarithms: beyond them, a fit on few pairs only reflects that all were correct, or that none was a tie.
MAX_LOG_TEMPERATURE, MAX_LOG_NU = 2.5, 6.0
# Standard deviation of the normal prior on the log temperature, for few pairs.
PRIOR_WIDTH = 2.0
VERDICTS = ("A", "tie", "B")


class DavidsonTieModel(NamedTuple):
    """Probabilities of A, tie and B from a difference of two answers, by Davidson's model of paired comparisons.

        P(A) : P(tie) : P(B)  =  exp(z/2) : nu : exp(-z/2),   z = difference / temperature

    Source: R. R. Davidson, "On extending the Bradley-Terry model to accommodate ties in paired comparison experiments", 1970. It is
    exactly symmetric: the negated difference has the swapped probabilities.

    Attributes:
        temperature: divides a difference.
        log_nu: logarithm of the weight of a tie.
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


def fit_tie_model(differences: ArrayLike, labels: ArrayLike) -> DavidsonTieModel:
    """Fit temperature and weight of a tie by maximum likelihood on held-out pairs; the default parameters for no pairs.

    Args:
        differences: of A over B, shape (n,).
        labels: 1 (A), 0.5 (tie) or 0 (B), shape (n,).
    """
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


class PairScore(NamedTuple):
    """A logit of A minus that of B, before the temperature; whether the pair was truncated; length of the input in tokens."""

    difference: float
    truncated: bool
    tokens: int


class PairEncoderJudge:
    """Implements `judges.pairwise.PairJudge`.

    The encoder's score is the difference d(A, B), positive if A is better:

    * `symmetric`: d = f(A, B) − f(B, A), both answers in one sequence;
    * `pointwise`: d = g(A) − g(B), each answer in its own sequence;
    * `single_order`: d = f(A, B).

    The first two change their sign if the answers are swapped, for any weights, so they have no position bias. The third
    can only be trained towards that.

    Args:
        path: local folder of a judge, or of a backbone that `fit` will train.
        compare, max_length: of a backbone; a judge has its own.
        batch_tokens: tokens per batch, including padding; chosen for the device by default.

    Raises:
        InputError: the folder is no checkpoint, or a judge of single answers.
    """

    def __init__(
        self,
        path: str | Path,
        compare: str = "symmetric",
        max_length: int = 512,
        name: str = "pairwise",
        revision: str = "local",
        batch_tokens: int | None = None,
    ) -> None:
        self.path = Path(path)
        self.checkpoint = checkpoints.load(path, Input(max_length=max_length))
        metadata = self.checkpoint.metadata
        if self.checkpoint.trained and not metadata.pairwise:
            raise InputError(f"{path}: a judge of single answers; name a judge of kind pairwise, or a backbone to train")
        metadata.pairwise = metadata.pairwise or {"compare": compare, "log_nu": DavidsonTieModel().log_nu}
        self.encoder = PairRowEncoder(
            self.checkpoint.tokenizer, metadata.input, checkpoints.max_input_length(self.checkpoint.model)
        )
        # One number format for both orders, without conversion: exact symmetry must not depend on the machine.
        self.engine = Engine(self.checkpoint, backend="torch", batch_tokens=batch_tokens)
        self.revisions = {name: revision}

    @property
    def is_symmetric(self) -> bool:
        """Swapping the answers swaps the verdict by construction."""
        return self.checkpoint.metadata.pairwise["compare"] != "single_order"

    @property
    def tie_model(self) -> DavidsonTieModel:
        metadata = self.checkpoint.metadata
        return DavidsonTieModel(metadata.temperature, metadata.pairwise["log_nu"])

    def compare(self, pairs: Sequence[Pair]) -> list[Preference]:
        """See `judges.pairwise.PairJudge`. Two equal answers tie.

        Raises:
            InputError: the judge was never trained.
        """
        if not self.checkpoint.trained:
            raise InputError(f"{self.path}: an untrained backbone; call fit, or give a judge's folder")
        if not pairs:
            return []
        if self.is_symmetric:
            # Every difference contains both orders; the tokens are counted once.
            verdicts = self._verdicts(pairs)
            return [combine_orders(verdict, replace(verdict, prompt_tokens=None)) for verdict in verdicts]
        verdicts = self._verdicts([*pairs, *(pair.swapped for pair in pairs)])
        forward, backward = verdicts[: len(pairs)], verdicts[len(pairs) :]
        return [combine_orders(first, second.swapped) for first, second in zip(forward, backward, strict=True)]

    def differences(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Compute d(A, B) of each pair in its own order, before the temperature, shape (n,)."""
        return np.array([score.difference for score in self._score(pairs)], dtype=float)

    def encode(self, pairs: Sequence[Pair]) -> tuple[list[EncodedRow], list[EncodedRow] | None]:
        """Encode each pair as a row, and a second row whose logit is subtracted; None if there is no second row."""
        pairs = [_visible(pair) for pair in pairs]
        questions, references = [pair.question for pair in pairs], ["\n".join(pair.references) for pair in pairs]
        a, b = [pair.answer_a for pair in pairs], [pair.answer_b for pair in pairs]
        if self.checkpoint.metadata.pairwise["compare"] == "pointwise":
            return self.encoder.encode_single(questions, references, a), self.encoder.encode_single(questions, references, b)
        rows = self.encoder.encode_pair(questions, references, a, b)
        return rows, self.encoder.encode_pair(questions, references, b, a) if self.is_symmetric else None

    def fit(self, pairs: Sequence[Pair], labels: Sequence[float], training: Training, work_folder: str | Path) -> dict[str, float]:
        """Train on labelled pairs, and return metrics; an interrupted call resumes if it is repeated with the same work folder.

        Args:
            labels: 1 if A is better, 0 if B is, 0.5 for a tie; the mean of several votes may lie between.
        """
        from bert_judge.judges.bert import trainer

        rows, subtracted = self.encode(pairs)
        examples = trainer.Examples(rows, labels, [1.0] * len(rows), subtracted)
        metrics = trainer.fit(self.checkpoint, examples, training, work_folder)
        self.checkpoint.trained = True
        self.checkpoint.metadata.temperature = 1.0
        return metrics

    def calibrate(self, pairs: Sequence[Pair], labels: Sequence[float]) -> None:
        """Fit temperature and tie weight on held-out pairs."""
        targets = np.asarray(labels, float)
        # Each pair counts in both orders, as in `compare`; for a symmetric judge this changes nothing.
        differences = np.concatenate([self.differences(pairs), self.differences([pair.swapped for pair in pairs])])
        fitted = fit_tie_model(differences, np.concatenate([targets, 1 - targets]))
        self.checkpoint.metadata.temperature = fitted.temperature
        self.checkpoint.metadata.pairwise["log_nu"] = fitted.log_nu

    def save(self, folder: str | Path) -> None:
        """Write weights, tokenizer and, last, judge.json."""
        self.checkpoint.save(Path(folder))

    def _score(self, pairs: Sequence[Pair]) -> list[PairScore]:
        rows, subtracted = self.encode(pairs)
        logits = self.engine.logits([*rows, *(subtracted or [])])
        n = len(rows)
        differences = logits[:n] - logits[n:] if subtracted else logits
        return [
            PairScore(difference, row.truncated or second.truncated, len(row.ids) + (len(second.ids) if subtracted else 0))
            for difference, row, second in zip(differences.tolist(), rows, subtracted or rows, strict=True)
        ]

    def _verdicts(self, pairs: Sequence[Pair]) -> list[OrderVerdict]:
        scores = self._score(pairs)
        probabilities = self.tie_model.probabilities([score.difference for score in scores])
        return [
            OrderVerdict(
                # A tie if A and B are equally likely.
                "tie" if p[0] == p[2] else VERDICTS[int(np.argmax(p))],
                # Rounding may leave [0, 1].
                min(1.0, max(0.0, float(p[0] + p[1] / 2))),
                raw=json.dumps({"difference": score.difference}),
                truncated=score.truncated,
                prompt_tokens=score.tokens,
            )
            for p, score in zip(probabilities, scores, strict=True)
        ]


class PairRowEncoder(RowEncoder):
    """Encodes pairs for one tokenizer; text that does not fit is truncated so that both answers lose the same.

    Two forms: both answers, `[CLS] first [SEP] second [SEP] question [SEP] references [SEP]`; a single answer,
    `[CLS] question [SEP] answer [SEP] references [SEP]`.
    """

    def encode_pair(
        self, questions: Sequence[str], references: Sequence[str], first_answers: Sequence[str], second_answers: Sequence[str]
    ) -> list[EncodedRow]:
        """Encode one row per (question, references, first answer, second answer)."""
        rows = []
        for segments in zip(*map(self._tokens, (questions, references, first_answers, second_answers)), strict=True):
            question, reference, first, second = segments
            lengths = self._fair_lengths(segments, separators=2)
            first, second = truncate_middle(first, lengths[2]), truncate_middle(second, lengths[3])
            question, reference = keep_tail(question, lengths[0]), reference[: lengths[1]]
            tail = [*second, self._separator, *question, self._separator, *reference]
            rows.append(self._assemble(first, tail, truncated=lengths != [len(segment) for segment in segments]))
        return rows

    def encode_single(self, questions: Sequence[str], references: Sequence[str], answers: Sequence[str]) -> list[EncodedRow]:
        """Encode one row per (question, references, answer)."""
        rows = []
        for segments in zip(*map(self._tokens, (questions, references, answers)), strict=True):
            question, reference, answer = segments
            lengths = self._fair_lengths(segments, separators=1)
            tail = [*truncate_middle(answer, lengths[2]), self._separator, *reference[: lengths[1]]]
            truncated = lengths != [len(segment) for segment in segments]
            rows.append(self._assemble(keep_tail(question, lengths[0]), tail, truncated=truncated))
        return rows

    def _fair_lengths(self, segments: Sequence[list[int]], separators: int) -> list[int]:
        return fair_lengths(
            [len(segment) for segment in segments], self.max_length - sum(map(len, self._pair_template)) - separators
        )

    def _assemble(self, first: Sequence[int], second: Sequence[int], truncated: bool) -> EncodedRow:
        start, middle, end = self._pair_template
        segment_a, segment_b = (*start, *first, *middle), (*second, *end)
        return EncodedRow(segment_a + segment_b, (0,) * len(segment_a) + (1,) * len(segment_b), truncated)


def fair_lengths(lengths: Sequence[int], limit: int) -> list[int]:
    """Allocate tokens to parts of these lengths by max-min fairness: short parts keep all, long ones an equal number each."""
    if sum(lengths) <= limit:
        return list(lengths)
    # The short parts, from the shortest, leave their remainder to the long ones.
    remaining, parts_left = limit, len(lengths)
    share = 0
    for length in sorted(lengths):
        share = remaining // parts_left
        if length > share:
            break
        remaining, parts_left = remaining - length, parts_left - 1
    return [min(length, share) for length in lengths]


def _visible(pair: Pair) -> Pair:
    references = tuple(normalize_text(text) for text in pair.references)
    return Pair(pair.question, normalize_text(pair.answer_a), normalize_text(pair.answer_b), references)
