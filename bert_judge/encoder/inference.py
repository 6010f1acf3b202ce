"""The encoder of a judge on one of its backends."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from bert_judge.encoder import backend as backends
from bert_judge.encoder.backend import OPENVINO, TORCH, Backend, BackendChoice, compute_logits
from bert_judge.encoder.checkpoint import Checkpoint
from bert_judge.encoder.encoding import EncodedRow
from bert_judge.runtime import hardware
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class EncoderOutput:
    """Output of the encoder, each of shape (n,): logit₁ − logit₀ in float64, whether something of the row was cut, its tokens."""

    logits: np.ndarray
    truncated: np.ndarray
    tokens: np.ndarray


class Engine:
    """Scores rows with one backend, and in float32 where exact logits are needed; moves torch's model to the best device."""

    def __init__(
        self, checkpoint: Checkpoint, backend: str = "auto", precision: str = "auto", batch_tokens: int | None = None
    ) -> None:
        self.checkpoint = checkpoint
        self.batch_tokens = batch_tokens
        self.device = hardware.best_device()
        parameters, needs_torch = checkpoint.num_parameters, checkpoint.weights is None
        has_scales = checkpoint.weights is not None and bool(checkpoint.weights.input_scales)
        self.choice = backends.choose_backend(
            backend, precision, self.device, parameters, needs_torch=needs_torch, has_scales=has_scales
        )
        # An automatic choice may fall back to torch.
        self._is_explicit = backend != "auto" or precision != "auto"
        # By precision.
        self._compiled: dict[str, Backend] = {}
        if not checkpoint.trained:
            self.stay_on_torch("a model that is yet to be trained")

    @property
    def logit_error(self) -> float:
        """Rounding error of the logits of `score`; see `Backend`."""
        return self._select_backend(exact=False).logit_error

    def score(self, answers: Sequence[Sequence[EncodedRow]], *, exact: bool = False) -> EncoderOutput:
        """Return per answer the highest logit over its rows, whether anything was cut, and the tokens of all of them.

        Args:
            answers: one encoded row per reference.
            exact: in float32.
        """
        if not answers:
            # The backend is compiled for the first row that it has to read.
            return EncoderOutput(np.zeros(0), np.zeros(0, bool), np.zeros(0, int))
        rows = [row for rows in answers for row in rows]
        starts = np.cumsum([0, *(len(rows) for rows in answers[:-1])])
        return EncoderOutput(
            np.maximum.reduceat(self.logits(rows, exact=exact), starts),
            np.logical_or.reduceat([row.truncated for row in rows], starts),
            np.add.reduceat([len(row.ids) for row in rows], starts),
        )

    def logits(self, rows: Sequence[EncodedRow], *, exact: bool = False) -> np.ndarray:
        """Return logit₁ − logit₀ of encoded rows, float64, shape (n,), in the given order; `exact`: see `score`."""
        pad_id = cast(int, self.checkpoint.tokenizer.pad_token_id)
        return compute_logits(self._select_backend(exact), rows, pad_id, self.batch_tokens)

    def stay_on_torch(self, reason: str) -> None:
        """Run the model in memory from now on, because a converted copy would not follow its changes."""
        if self.choice.backend != TORCH:
            self.choice = BackendChoice(TORCH, hardware.best_dtype(self.device), reason)
            self._compiled.clear()

    def _select_backend(self, exact: bool) -> Backend:
        # What torch converts is compared with torch.
        if self.choice.backend == OPENVINO and not (exact and self.checkpoint.weights is None):
            precision = "float32" if exact else self.choice.precision
            try:
                return self._compiled.get(precision) or self._compile(precision)
            except InputError as error:
                if self._is_explicit:
                    raise
                log.warning("%s", error)
                self.stay_on_torch("the model cannot be converted")
        # It takes seconds to import.
        from bert_judge.encoder.torch_model import TorchBackend

        model = self.checkpoint.model.to(self.device)  # type: ignore[arg-type]
        return TorchBackend(model, "float32" if exact else self.choice.precision)

    def _compile(self, precision: str) -> Backend:
        compiled: Backend
        # OpenVINO is an optional package, and the conversion needs torch.
        if self.checkpoint.weights is None:
            from bert_judge.encoder.conversion import convert

            compiled = convert(self.checkpoint.model, precision)
        else:
            from bert_judge.encoder.openvino import compile_encoder

            compiled = compile_encoder(self.checkpoint.weights, precision)
        self._compiled[precision] = compiled
        return compiled
