"""Scores do not depend on the company of a row."""

import random
from pathlib import Path

import numpy as np
import pytest
import tiny_models
from hypothesis import given
from hypothesis import strategies as st

from bert_judge.encoder import checkpoint
from bert_judge.encoder.backends.pytorch import TorchBackend
from bert_judge.encoder.batching import by_token_budget
from bert_judge.encoder.inference import logits


@given(st.lists(st.integers(1, 50), max_size=60), st.integers(1, 200))
def test_batches_hold_every_row_once_within_the_budget(lengths: list[int], budget: int) -> None:
    batches = list(by_token_budget(lengths, budget))
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= budget


@pytest.mark.parametrize("architecture", tiny_models.ENCODERS)
def test_batches_order_and_duplicates_do_not_change_logits(tmp_path: Path, architecture: str) -> None:
    loaded = checkpoint.load(tiny_models.encoder(tmp_path / "model", architecture))
    candidates = ["Paris", "It is Paris, I think.", "no " * 40, "Größe 東京", ""] * 3
    rows = loaded.encoder.encode(["What is the capital of France?"] * 15, candidates, ["Paris"] * 15)
    pad = loaded.tokenizer.pad_token_id
    torch_backend = TorchBackend(loaded.model)
    alone = np.concatenate([logits(torch_backend, [row], pad) for row in rows])
    together = logits(torch_backend, rows, pad)
    shuffled = list(range(15))
    random.Random(0).shuffle(shuffled)
    reordered = logits(torch_backend, [rows[i] for i in shuffled], pad, batch_tokens=100)
    spread = np.ptp(alone)
    assert spread > 1e-5, "the rows must differ, or the test says nothing"
    np.testing.assert_allclose(together, alone, atol=spread / 100)
    np.testing.assert_allclose(reordered, alone[shuffled], atol=spread / 100)
