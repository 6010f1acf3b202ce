"""Batched inference: each distinct row once, sorted by length, in batches of bounded size, by the backend of a judge's `Engine`."""

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import cast

import numpy as np

from bert_judge.encoder import backend as backends
from bert_judge.encoder.backend import OPENVINO, TORCH, Backend, BackendChoice, compute_logits
from bert_judge.encoder.checkpoint import Checkpoint
from bert_judge.encoder.encoding import EncodedRow, RowEncoder
from bert_judge.runtime import hardware
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import ProgressLogger

log = logging.getLogger(__name__)
SECONDS_BETWEEN_LOG_LINES = 30
# Rows are encoded in chunks of this many tokens, or batches if these are larger: enough to sort by length, few enough that the
# model starts at once and the token ids of a large table are never in memory together.
CHUNK_TOKENS, CHUNK_BATCHES = 65_536, 8
CHARACTERS_PER_TOKEN = 4


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
        return self._backend.logit_error

    def score(
        self, questions: Sequence[str], references: Sequence[Sequence[str]], candidates: Sequence[str], *, exact: bool = False
    ) -> EncoderOutput:
        """Return per row the highest logit over its references, whether anything was cut, and the tokens of all of them.

        `exact`: in float32.
        """
        if not len(candidates):
            return EncoderOutput(np.zeros(0), np.zeros(0, bool), np.zeros(0, int))
        counts = [len(texts) for texts in references]
        output = score_rows(
            self._select_backend(exact),
            self.checkpoint.encoder,
            [question for question, n in zip(questions, counts, strict=True) for _ in range(n)],
            [text for texts in references for text in texts],
            candidates=[candidate for candidate, n in zip(candidates, counts, strict=True) for _ in range(n)],
            batch_tokens=self.batch_tokens,
        )
        starts = np.cumsum([0, *counts[:-1]])
        reductions = (np.maximum, output.logits), (np.logical_or, output.truncated), (np.add, output.tokens)
        return EncoderOutput(*(function.reduceat(values, starts) for function, values in reductions))

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

    @property
    def _backend(self) -> Backend:
        return self._select_backend(exact=False)


def score_rows(
    backend: Backend,
    encoder: RowEncoder,
    questions: Sequence[str],
    references: Sequence[str],
    *,
    candidates: Sequence[str],
    batch_tokens: int | None,
) -> EncoderOutput:
    """Encode and score rows, equal ones once; the next chunk is tokenised while the model runs on this one."""
    visible_questions = questions if encoder.settings.question else [""] * len(questions)
    index: dict[tuple[str, str, str], int] = {}
    positions = [index.setdefault(row, len(index)) for row in zip(visible_questions, candidates, references, strict=True)]
    unique = list(index)
    output = EncoderOutput(np.zeros(len(unique)), np.zeros(len(unique), bool), np.zeros(len(unique), int))
    pad_id = cast(int, encoder.tokenizer.pad_token_id)
    progress, done = ProgressLogger("rows", seconds=SECONDS_BETWEEN_LOG_LINES), 0
    for chunk, rows in _encode_ahead(encoder, unique, batch_tokens or backend.batch_tokens):
        output.logits[chunk] = compute_logits(backend, rows, pad_id, batch_tokens)
        output.truncated[chunk] = [row.truncated for row in rows]
        output.tokens[chunk] = [len(row.ids) for row in rows]
        done += len(chunk)
        # The longest rows come first, so the logged remaining time is an upper bound.
        progress.update(done, fraction=done / len(unique))
    return EncoderOutput(output.logits[positions], output.truncated[positions], output.tokens[positions])


def batch_by_tokens(lengths: Sequence[int], limit: int) -> Iterator[list[int]]:
    """Yield positions of rows, longest first, in batches of at most `limit` tokens, padding included.

    A row longer than the limit is a batch of its own. Longest first, so that an out-of-memory error comes at once.
    """
    batch: list[int] = []
    longest = 0
    for position in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch and longest * (len(batch) + 1) > limit:
            yield batch
            batch = []
        if not batch:
            longest = lengths[position]
        batch.append(position)
    if batch:
        yield batch


def _encode_ahead(
    encoder: RowEncoder, rows: Sequence[tuple[str, str, str]], batch_tokens: int
) -> Iterator[tuple[list[int], list[EncodedRow]]]:
    """Yield chunks of positions with their encoded rows, longest first; a thread encodes the next one."""
    max_characters = encoder.max_length * CHARACTERS_PER_TOKEN
    lengths = [min(max_characters, sum(map(len, row))) for row in rows]
    chunk_characters = max(CHUNK_TOKENS, CHUNK_BATCHES * batch_tokens) * CHARACTERS_PER_TOKEN

    def encode(chunk: list[int]) -> tuple[list[int], list[EncodedRow]]:
        questions, candidates, references = zip(*(rows[i] for i in chunk), strict=True)
        return chunk, encoder.encode(questions, candidates, references)

    first, *rest = batch_by_tokens(lengths, chunk_characters)
    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(encode, first)
        for chunk in rest:
            following = pool.submit(encode, chunk)
            yield pending.result()
            pending = following
        yield pending.result()
