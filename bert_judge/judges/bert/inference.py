"""Texts or encoded rows in, logits out: each distinct row once, sorted by length, in batches of bounded size."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch

from bert_judge.judges.bert.backends.protocol import Backend, padded, takes
from bert_judge.judges.bert.encoding import EncodedRow, RowEncoder

log = logging.getLogger(__name__)

SECONDS_BETWEEN_LINES = 30
# Rows are encoded in chunks of about so many tokens, or so many batches where these are larger: enough to sort within, and little
# enough that the model starts at once and the token ids of a million rows are never there together.
CHUNK_TOKENS, CHUNK_BATCHES = 65_536, 8
# Where batches run side by side, a thread gets about so many of them, so that none waits long for the last; but none is smaller.
BATCHES_PER_THREAD, LEAST_TOKENS = 8, 512
CHARACTERS_PER_TOKEN = 4


@dataclass(frozen=True)
class EncoderOutput:
    """What the encoder says of n rows.

    Attributes:
        logits: logit₁ − logit₀, float64, shape (n,).
        truncated: something of the row was cut, shape (n,).
        tokens: tokens of the row, shape (n,).
    """

    logits: np.ndarray
    truncated: np.ndarray
    tokens: np.ndarray


def score_rows(
    backend: Backend,
    encoder: RowEncoder,
    questions: Sequence[str],
    candidates: Sequence[str],
    references: Sequence[str],
    batch_tokens: int | None = None,
) -> EncoderOutput:
    """Encode and score rows; the next chunk is tokenised while the model works on this one.

    Args:
        questions, candidates, references: one text each per row; equal rows are read once.
        batch_tokens: see `logits`.
    """
    shown = questions if encoder.settings.question else [""] * len(questions)
    where: dict[tuple[str, str, str], int] = {}
    positions = [where.setdefault(row, len(where)) for row in zip(shown, candidates, references, strict=True)]
    unique = list(where)
    result = EncoderOutput(np.zeros(len(unique)), np.zeros(len(unique), bool), np.zeros(len(unique), int))
    pad_id = cast(int, encoder.tokenizer.pad_token_id)
    progress = _Progress(len(unique))
    for chunk, rows in _encoded_ahead(encoder, unique, batch_tokens or backend.budget):
        result.logits[chunk] = compute_logits(backend, rows, pad_id, batch_tokens)
        result.truncated[chunk] = [row.truncated for row in rows]
        result.tokens[chunk] = [len(row.ids) for row in rows]
        progress.step(len(chunk))
    return EncoderOutput(result.logits[positions], result.truncated[positions], result.tokens[positions])


def compute_logits(backend: Backend, rows: Sequence[EncodedRow], pad_id: int, batch_tokens: int | None = None) -> np.ndarray:
    """logit₁ − logit₀ per row.

    Args:
        backend: runs the batches.
        rows: what to read.
        pad_id: token id of the padding.
        batch_tokens: tokens per batch, padding included; what suits the back end when left out. Rows that must run alone do.

    Returns:
        float64, shape (n,). A row's logit depends on the other rows by rounding only.
    """
    unique = list(dict.fromkeys(rows))
    lengths = [len(row.ids) for row in unique]
    budget = (batch_tokens or _budget(backend, sum(lengths))) if backend.budget else 0
    found = np.zeros(len(unique))

    def run(batch: list[int]) -> None:
        output = backend.run(padded([unique[position] for position in batch], pad_id, backend.tile))
        found[batch] = output[:, 1].astype(float) - output[:, 0]

    batches = batch_by_tokens(lengths, budget)
    if backend.at_once == 1:
        for batch in batches:
            run(batch)
    else:
        with ThreadPoolExecutor(backend.at_once) as pool:
            list(pool.map(run, batches))
    of = dict(zip(unique, found.tolist(), strict=True))
    return np.array([of[row] for row in rows], dtype=float)


def batch_by_tokens(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Positions of rows, longest first, in batches of at most `budget` tokens, padding included.

    A row longer than the budget makes a batch of its own. Longest first: a batch that does not fit into memory shows at once.
    """
    batch: list[int] = []
    longest = 0
    for position in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch and longest * (len(batch) + 1) > budget:
            yield batch
            batch = []
        if not batch:
            longest = lengths[position]
        batch.append(position)
    if batch:
        yield batch


def _budget(backend: Backend, tokens: int) -> int:
    """Tokens per batch that suit a back end and so many tokens to read."""
    if backend.at_once == 1:
        return backend.budget
    return min(backend.budget, max(LEAST_TOKENS, tokens // (BATCHES_PER_THREAD * backend.at_once)))


def collate(rows: Sequence[EncodedRow], pad_id: int, config: object) -> dict[str, torch.Tensor]:
    """Padded tensors of shape (rows, longest row), those that the model of this config reads."""
    batch = padded(rows, pad_id)
    return {name: torch.from_numpy(batch[name]) for name in takes(config)}


def _encoded_ahead(
    encoder: RowEncoder, rows: Sequence[tuple[str, str, str]], batch_tokens: int
) -> Iterator[tuple[list[int], list[EncodedRow]]]:
    """Chunks of positions with their encoded rows, longest texts first, one chunk ahead of the reader.

    Fast tokenizers let go of the interpreter while they work.
    """
    limit = encoder.max_length * CHARACTERS_PER_TOKEN
    lengths = [min(limit, sum(map(len, row))) for row in rows]
    size = max(CHUNK_TOKENS, CHUNK_BATCHES * batch_tokens) * CHARACTERS_PER_TOKEN

    def encode(chunk: list[int]) -> tuple[list[int], list[EncodedRow]]:
        questions, candidates, references = zip(*(rows[i] for i in chunk), strict=True)
        return chunk, encoder.encode(questions, candidates, references)

    with ThreadPoolExecutor(1) as ahead:
        pending = None
        for chunk in batch_by_tokens(lengths, size):
            following = ahead.submit(encode, chunk)
            if pending is not None:
                yield pending.result()
            pending = following
        if pending is not None:
            yield pending.result()


class _Progress:
    """A log line now and then, not one per batch."""

    def __init__(self, total: int) -> None:
        self.total, self.done = total, 0
        self.started = self.spoken = time.monotonic()

    def step(self, rows: int) -> None:
        self.done += rows
        now = time.monotonic()
        if now - self.spoken > SECONDS_BETWEEN_LINES:
            self.spoken = now
            rate = self.done / (now - self.started)
            # Longest rows come first, so what is left goes faster than this rate.
            left = (self.total - self.done) / rate
            log.info("judged %d of %d rows, %.0f rows/s, at most %.0f s left", self.done, self.total, rate, left)
