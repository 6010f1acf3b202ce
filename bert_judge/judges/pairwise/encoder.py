"""A trained encoder that says which of two answers is better."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bert_judge.config import Input, Training
from bert_judge.judges.bert import checkpoint as checkpoints
from bert_judge.judges.bert.encoding import EncodedRow
from bert_judge.judges.bert.engine import Engine
from bert_judge.judges.bert.judge_folder import resolve_checkpoint
from bert_judge.judges.pairwise import tie_model
from bert_judge.judges.pairwise.encoding import PairRowEncoder
from bert_judge.judges.pairwise.protocol import Opinion, Pair, Preference, both_orders, mirrored, swapped
from bert_judge.judges.visible_text import normalize_text
from bert_judge.runtime.errors import InputError

VERDICTS = ("A", "tie", "B")


class _Read(NamedTuple):
    """What the encoder makes of a pair: its difference, whether anything was cut, and the tokens read."""

    difference: float
    truncated: bool
    tokens: int


class PairEncoderJudge:
    """Implements `judges.pairwise.PairJudge`.

    What it reads gives one number, the difference d(A, B), positive where A is better:

    * `symmetric`: d = f(A, B) − f(B, A), both answers in one sequence;
    * `apart`: d = g(A) − g(B), each answer alone;
    * `ordered`: d = f(A, B).

    The first two change their sign when the answers change places, whatever the weights are, so the verdict on the swapped pair is
    the mirrored one. Only training can teach the third that the places mean nothing.

    Args:
        path: local folder of a judge, or of a backbone that `fit` will train.
        compare: of a backbone; a judge has its own.
        max_length: longest input in tokens, of a backbone.
        name, revision: of the judge in the provenance of its verdicts.
        batch_tokens: tokens per batch, padding included; fitting the device when left out.

    Raises:
        InputError: the folder is no checkpoint, or one of a judge of single answers.
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
        card = self.checkpoint.metadata
        if self.checkpoint.trained and not card.pairwise:
            raise InputError(f"{path}: a judge of single answers; name a judge of kind pairwise, or a backbone to train")
        card.pairwise = card.pairwise or {"compare": compare, "log_nu": tie_model.Ties().log_nu}
        self.encoder = PairRowEncoder(self.checkpoint.tokenizer, card.input, checkpoints.max_input_length(self.checkpoint.model))
        # One format of numbers for both orders, and no conversion: what is exact must not depend on the machine.
        self.engine = Engine(self.checkpoint, backend="torch", batch_tokens=batch_tokens)
        self.revisions = {name: revision}

    @classmethod
    def from_run(cls, checkpoint: str | Path, name: str) -> PairEncoderJudge:
        """The judge of a workflow run.

        Args:
            checkpoint: as for `judge_folder.resolve_checkpoint`.
            name: of the judge in the configuration.
        """
        folder, revision = resolve_checkpoint(checkpoint)
        return cls(folder, name=name, revision=revision)

    @property
    def symmetric(self) -> bool:
        """Whether a swap mirrors the verdict by construction."""
        return self.checkpoint.metadata.pairwise["compare"] != "single_order"

    @property
    def ties(self) -> tie_model.Ties:
        card = self.checkpoint.metadata
        return tie_model.Ties(card.temperature, card.pairwise["log_nu"])

    def compare(self, pairs: Sequence[Pair]) -> list[Preference]:
        """See `judges.pairwise.PairJudge`. Two equal answers tie.

        Raises:
            InputError: the judge was never trained.
        """
        if not self.checkpoint.trained:
            raise InputError(f"{self.path}: a backbone that was never trained to compare; call fit, or give a judge's folder")
        if not pairs:
            return []
        if self.symmetric:
            # Both orders are in every difference; the tokens are counted once.
            opinions = self._opinions(self._read(pairs))
            return [both_orders(one, replace(one, prompt_tokens=None)) for one in opinions]
        both = self._opinions(self._read([*pairs, *map(swapped, pairs)]))
        forward, backward = both[: len(pairs)], map(mirrored, both[len(pairs) :])
        return [both_orders(*two) for two in zip(forward, backward, strict=True)]

    def differences(self, pairs: Sequence[Pair]) -> np.ndarray:
        """d(A, B) of each pair as it stands, before the temperature, shape (n,)."""
        return np.array([read.difference for read in self._read(pairs)], dtype=float)

    def examples(self, pairs: Sequence[Pair]) -> tuple[list[EncodedRow], list[EncodedRow] | None]:
        """What the encoder reads of each pair: a row, and the row whose logit is taken off; None where there is no such row."""
        shown = [_shown(pair) for pair in pairs]
        questions, references = [pair.question for pair in shown], ["\n".join(pair.references) for pair in shown]
        a, b = [pair.answer_a for pair in shown], [pair.answer_b for pair in shown]
        if self.checkpoint.metadata.pairwise["compare"] == "pointwise":
            return self.encoder.alone(questions, references, a), self.encoder.alone(questions, references, b)
        rows = self.encoder.together(questions, references, a, b)
        return rows, self.encoder.together(questions, references, b, a) if self.symmetric else None

    def fit(self, pairs: Sequence[Pair], labels: Sequence[float], training: Training, work_folder: str | Path) -> dict[str, float]:
        """Train on labelled pairs; a call that was killed goes on when it is repeated with the same `work_folder`.

        Args:
            labels: 1 where A is better, 0 where B is, 0.5 for a tie; what several people say may lie between.

        Returns:
            Figures of the training run.
        """
        from bert_judge.judges.bert import trainer

        rows, against = self.examples(pairs)
        examples = trainer.Examples(rows, labels, [1.0] * len(rows), against)
        figures = trainer.fit(self.checkpoint, examples, training, work_folder)
        self.checkpoint.trained = True
        self.checkpoint.metadata.temperature = 1.0
        return figures

    def calibrate(self, pairs: Sequence[Pair], labels: Sequence[float]) -> None:
        """Learn on pairs that were not trained on how far a difference can be trusted, and when two answers tie."""
        told = np.asarray(labels, float)
        # Each pair counts in both orders: for a judge that is symmetric that changes nothing, and the others are asked so too.
        both = np.concatenate([self.differences(pairs), self.differences([swapped(pair) for pair in pairs])])
        found = tie_model.fit(both, np.concatenate([told, 1 - told]))
        self.checkpoint.metadata.temperature = found.temperature
        self.checkpoint.metadata.pairwise["log_nu"] = found.log_nu

    def save(self, folder: str | Path) -> None:
        """Write weights, tokenizer and judge.json, the last of them last."""
        self.checkpoint.save(Path(folder))

    def _read(self, pairs: Sequence[Pair]) -> list[_Read]:
        rows, against = self.examples(pairs)
        logits = self.engine.logits([*rows, *(against or [])])
        n = len(rows)
        differences = logits[:n] - logits[n:] if against else logits
        others = against or rows
        return [
            _Read(difference, row.truncated or other.truncated, len(row.ids) + (len(other.ids) if against else 0))
            for difference, row, other in zip(differences.tolist(), rows, others, strict=True)
        ]

    def _opinions(self, read: Sequence[_Read]) -> list[Opinion]:
        likely = tie_model.probabilities([one.difference for one in read], self.ties)
        return [
            Opinion(
                _verdict(chances),
                # Clipped: rounding may lead out of [0, 1].
                min(1.0, max(0.0, float(chances[0] + chances[1] / 2))),
                raw=json.dumps({"difference": one.difference}),
                truncated=one.truncated,
                prompt_tokens=one.tokens,
            )
            for chances, one in zip(likely, read, strict=True)
        ]


def _shown(pair: Pair) -> Pair:
    """The pair as a person sees it."""
    references = tuple(normalize_text(text) for text in pair.references)
    return Pair(pair.question, normalize_text(pair.answer_a), normalize_text(pair.answer_b), references)


def _verdict(chances: np.ndarray) -> str:
    """The likeliest of A, tie and B; a tie where A and B are equally likely."""
    if chances[0] == chances[2]:
        return "tie"
    return VERDICTS[int(np.argmax(chances))]
