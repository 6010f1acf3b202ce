"""The encoder of a judge together with the backend that runs it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import cast

import numpy as np
import torch

from bert_judge.judges.bert import inference
from bert_judge.judges.bert.backend import Backend, TorchBackend
from bert_judge.judges.bert.backend_choice import BackendChoice, choose_backend
from bert_judge.judges.bert.checkpoint import Checkpoint
from bert_judge.judges.bert.encoding import EncodedRow
from bert_judge.judges.bert.inference import EncoderOutput
from bert_judge.runtime import hardware
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)


class Engine:
    """Scores rows with one backend, and with torch where exact logits are needed; moves the model to the best device."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        backend: str = "auto",
        precision: str = "auto",
        batch_tokens: int | None = None,
    ) -> None:
        self.checkpoint = checkpoint
        self.batch_tokens = batch_tokens
        self.device = hardware.best_device()
        checkpoint.model.to(self.device)  # type: ignore[arg-type]
        self.choice = choose_backend(backend, precision, self.device, checkpoint.model.num_parameters())
        # An automatic choice may fall back to torch.
        self._is_explicit = backend != "auto" or precision != "auto"
        self._converted: Backend | None = None
        if not checkpoint.trained:
            self.stay_on_torch("a model that is yet to be trained")

    @property
    def logit_error(self) -> float:
        """Rounding error of the logits of `score`; see `Backend`."""
        return self._backend.logit_error

    def score(
        self, questions: Sequence[str], references: Sequence[Sequence[str]], candidates: Sequence[str], *, exact: bool = False
    ) -> EncoderOutput:
        """Return per row the highest logit over its references, whether anything was cut, and the tokens of all of them.

        `exact`: use the model in memory, not a converted copy.
        """
        if not len(candidates):
            return EncoderOutput(np.zeros(0), np.zeros(0, bool), np.zeros(0, int))
        counts = [len(texts) for texts in references]
        output = inference.score_rows(
            self._torch if exact else self._backend,
            self.checkpoint.encoder,
            [question for question, n in zip(questions, counts, strict=True) for _ in range(n)],
            [text for texts in references for text in texts],
            [candidate for candidate, n in zip(candidates, counts, strict=True) for _ in range(n)],
            self.batch_tokens,
        )
        starts = np.cumsum([0, *counts[:-1]])
        return EncoderOutput(
            np.maximum.reduceat(output.logits, starts),
            np.logical_or.reduceat(output.truncated, starts),
            np.add.reduceat(output.tokens, starts),
        )

    def logits(self, rows: Sequence[EncodedRow]) -> np.ndarray:
        """Return logit₁ − logit₀ of encoded rows, float64, shape (n,), in the given order."""
        unique = sorted(set(rows), key=lambda row: (len(row.ids), row.ids, row.types))
        pad_id = cast(int, self.checkpoint.tokenizer.pad_token_id)
        logits = inference.compute_logits(self._backend, unique, pad_id, self.batch_tokens)
        logit_of = dict(zip(unique, logits.tolist(), strict=True))
        return np.array([logit_of[row] for row in rows], dtype=float)

    def stay_on_torch(self, reason: str) -> None:
        """Run the model in memory from now on, because a converted copy would not follow its changes."""
        if self.choice.backend != "torch":
            dtype = hardware.best_dtype(self.device)
            self.choice = BackendChoice("torch", str(dtype).removeprefix("torch."), reason)
            self._converted = None

    @property
    def _torch(self) -> TorchBackend:
        dtype = getattr(torch, self.choice.precision) if self.choice.backend == "torch" else torch.float32
        return TorchBackend(self.checkpoint.model, dtype)

    @property
    def _backend(self) -> Backend:
        if self.choice.backend != "torch" and self._converted is None:
            try:
                # An optional package.
                from bert_judge.judges.bert import openvino

                self._converted = openvino.convert(self.checkpoint.model, self.choice.precision)
            except InputError as error:
                if self._is_explicit:
                    raise
                log.warning("%s", error)
                self.stay_on_torch("the model cannot be converted")
        return self._converted or self._torch
