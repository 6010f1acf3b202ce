"""What a back end takes and gives."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from bert_judge.judges.bert.encoding import EncodedRow

Batch = dict[str, np.ndarray]
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


class Backend(Protocol):
    """Runs batches of encoded rows.

    Attributes:
        name: of program, device and number format, for log lines.
        budget: tokens per batch that suit it, padding included. 0: every row alone, because rounding to 8 bits would make a
            row's logits depend on its company.
        at_once: batches that it runs at the same time, each on a thread of its own.
        tile: lengths of batches that suit it are multiples of so many tokens.
        error: of a logit, against float32, that rounding seldom exceeds; 0 where it is too small to speak of.
    """

    name: str
    error: float
    budget: int
    at_once: int
    tile: int

    def run(self, batch: Batch) -> np.ndarray:
        """Logits of shape (rows, 2) for arrays `INPUTS` of shape (rows, tokens), int64."""
        ...


def padded(rows: Sequence[EncodedRow], pad_id: int, tile: int = 1) -> Batch:
    """Arrays of shape (rows, longest row up to a multiple of `tile`); padding stands on the right and has mask 0."""
    shape = (len(rows), math.ceil(max(len(row.ids) for row in rows) / tile) * tile)
    ids, mask, types = np.full(shape, pad_id, np.int64), np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for i, row in enumerate(rows):
        length = len(row.ids)
        ids[i, :length], types[i, :length], mask[i, :length] = row.ids, row.types, 1
    return dict(zip(INPUTS, (ids, mask, types), strict=True))


def takes(config: object) -> tuple[str, ...]:
    """Those of `INPUTS` that a model reads: only some know segments."""
    return INPUTS if getattr(config, "type_vocab_size", 0) > 1 else INPUTS[:2]
