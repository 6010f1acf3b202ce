"""The encoder of a judge together with the programs that can run it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import torch

from bert_judge.judges.bert import backends, inference
from bert_judge.judges.bert.backends.choice import BackendChoice, choose_backend
from bert_judge.judges.bert.backends.protocol import Backend
from bert_judge.judges.bert.backends.pytorch import TorchBackend
from bert_judge.judges.bert.checkpoint import Checkpoint
from bert_judge.judges.bert.encoding import EncodedRow
from bert_judge.judges.bert.inference import EncoderOutput
from bert_judge.runtime import hardware
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)


class Engine:
    """Reads rows with one back end, and with torch where exact numbers are wanted.

    Args:
        checkpoint: its model is moved to the best device.
        backend, precision, work_folder: see `BERTJudge`.
        batch_tokens: tokens per batch, padding included; fitting the back end when left out.

    Attributes:
        choice: back end and precision, and why.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        backend: str = "auto",
        precision: str = "auto",
        batch_tokens: int | None = None,
        work_folder: str | Path | None = None,
    ) -> None:
        self.checkpoint = checkpoint
        self.batch_tokens = batch_tokens
        self.work_folder = None if work_folder is None else Path(work_folder)
        self.device = hardware.best_device()
        checkpoint.model.to(self.device)  # type: ignore[arg-type]
        self.choice = choose_backend(backend, precision, self.device, checkpoint.model.num_parameters())
        # What nobody asked for may fail to be: then torch does it.
        self._asked = backend != "auto" or precision != "auto"
        self._converted: Backend | None = None
        if not checkpoint.trained:
            self.stay_on_torch("a model that is yet to be trained")

    @property
    def error(self) -> float:
        """What rounding may do to the logits of `score`; see `protocol.Backend`."""
        return self._backend.error

    def score(
        self, questions: Sequence[str], references: Sequence[Sequence[str]], candidates: Sequence[str], exact: bool = False
    ) -> EncoderOutput:
        """Per row the logit of its best reference, whether anything was cut, and the tokens read over all references.

        Args:
            references: at least one per row.
            exact: with the model in memory, not with a rounded copy.
        """
        if not len(candidates):
            return EncoderOutput(np.zeros(0), np.zeros(0, bool), np.zeros(0, int))
        counts = [len(listed) for listed in references]
        seen = inference.score_rows(
            self._torch if exact else self._backend,
            self.checkpoint.encoder,
            [question for question, n in zip(questions, counts, strict=True) for _ in range(n)],
            [candidate for candidate, n in zip(candidates, counts, strict=True) for _ in range(n)],
            [reference for listed in references for reference in listed],
            self.batch_tokens,
        )
        starts = np.cumsum([0, *counts[:-1]])
        cut = np.logical_or.reduceat(seen.truncated, starts)
        return EncoderOutput(np.maximum.reduceat(seen.logits, starts), cut, np.add.reduceat(seen.tokens, starts))

    def logits(self, rows: Sequence[EncodedRow]) -> np.ndarray:
        """logit₁ − logit₀ of encoded rows, float64, shape (n,); the same for a row whatever the order of the rows."""
        ordered = sorted(set(rows), key=lambda row: (len(row.ids), row.ids, row.types))
        pad_id = cast(int, self.checkpoint.tokenizer.pad_token_id)
        found = inference.compute_logits(self._backend, ordered, pad_id, self.batch_tokens)
        of = dict(zip(ordered, found.tolist(), strict=True))
        return np.array([of[row] for row in rows], dtype=float)

    def stay_on_torch(self, why: str) -> None:
        """Run the model in memory from now on: a converted copy would not follow its changes."""
        if self.choice.backend != "torch":
            dtype = hardware.best_dtype(self.device)
            self.choice = BackendChoice("torch", str(dtype).removeprefix("torch."), why)
            self._converted = None

    @property
    def _torch(self) -> TorchBackend:
        dtype = getattr(torch, self.choice.precision) if self.choice.backend == "torch" else torch.float32
        return TorchBackend(self.checkpoint.model, dtype)

    @property
    def _backend(self) -> Backend:
        """What runs the encoder; a model that must be converted is, the first time."""
        if self.choice.backend != "torch" and self._converted is None:
            try:
                self._converted = backends.convert_model(self.choice, self.checkpoint.model, self.work_folder)
            except InputError as error:
                if self._asked:
                    raise
                log.warning("%s", error)
                self.stay_on_torch("the model cannot be converted")
        return self._converted or self._torch
