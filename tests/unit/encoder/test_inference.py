"""Batching: a row's logit does not depend on the other rows."""

import random
from pathlib import Path

import numpy as np
import pytest
from helpers import tiny_models
from hypothesis import given
from hypothesis import strategies as st

from bert_judge.assets.prepare import GENERAL_FOLDER
from bert_judge.encoder import checkpoint
from bert_judge.encoder.backend import batch_by_tokens, compute_logits
from bert_judge.encoder.inference import Engine
from bert_judge.encoder.torch_model import TorchBackend
from bert_judge.runtime import hardware


@given(st.lists(st.integers(1, 50), max_size=60), st.integers(1, 200))
def test_batches_have_every_row_once_within_the_limit(lengths: list[int], limit: int) -> None:
    batches = list(batch_by_tokens(lengths, limit))
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[i] for i in batch) <= limit


@pytest.mark.parametrize("architecture", tiny_models.ENCODERS)
def test_batches_order_and_duplicates_do_not_change_logits(tmp_path: Path, architecture: str) -> None:
    loaded = checkpoint.load(tiny_models.encoder(tmp_path / "model", architecture))
    candidates = ["Paris", "It is Paris, I think.", "no " * 40, "Größe 東京", ""] * 3
    rows = loaded.encoder.encode(["What is the capital of France?"] * 15, candidates, ["Paris"] * 15)
    pad = loaded.tokenizer.pad_token_id
    torch_backend = TorchBackend(loaded.model)
    alone = np.concatenate([compute_logits(torch_backend, [row], pad) for row in rows])
    together = compute_logits(torch_backend, rows, pad)
    shuffled = list(range(15))
    random.Random(0).shuffle(shuffled)
    reordered = compute_logits(torch_backend, [rows[i] for i in shuffled], pad, batch_tokens=100)
    spread = np.ptp(alone)
    assert spread > 1e-5, "the rows must differ for the test to be meaningful"
    np.testing.assert_allclose(together, alone, atol=spread / 100)
    np.testing.assert_allclose(reordered, alone[shuffled], atol=spread / 100)


class RecordingBackend:
    """Torch with padded lengths and parallel batches; records the shapes of batches."""

    name, logit_error = "recording", 0.0

    def __init__(self, exact: TorchBackend, batch_tokens: int, parallel_batches: int, length_multiple: int) -> None:
        self.exact, self.batch_tokens = exact, batch_tokens
        self.parallel_batches, self.length_multiple = parallel_batches, length_multiple
        self.shapes: list[tuple[int, int]] = []

    def run(self, batch: dict[str, np.ndarray]) -> np.ndarray:
        self.shapes.append(batch["input_ids"].shape)
        return self.exact.run(batch)


@pytest.fixture(scope="module")
def general() -> checkpoint.Checkpoint:
    return checkpoint.load(GENERAL_FOLDER)


@pytest.mark.parametrize(
    ("backend", "precision"),
    [("torch", "float32"), ("torch", "bfloat16"), ("openvino", "float32"), ("openvino", "bfloat16"), ("openvino", "int8")],
)
def test_a_logit_depends_on_its_row_only(general: checkpoint.Checkpoint, backend: str, precision: str) -> None:
    """Except for float32, and for torch in bfloat16 with AMX, to the last bit: in another order, in any company and in batches of
    any size."""
    if precision == "bfloat16" and hardware.best_dtype("cpu") != "bfloat16":
        pytest.skip("this CPU does not compute in bfloat16")
    engine, generator = Engine(general, backend, precision), random.Random(0)
    tolerance = 5e-6 if precision == "float32" else 0
    if (backend, precision) == ("torch", "bfloat16") and hardware.supports_amx():
        tolerance = engine.logit_error
    words = ["Paris", "Lyon", "no", "it", "is", "the", "capital", "of", "1789", "Größe", "東京", "maybe", "not"]
    candidates = [" ".join(generator.choices(words, k=generator.choice([1, 3, 8, 20, 40, 90]))) for _ in range(60)]
    rows = general.encoder.encode(["What is the capital of France?"] * 60, candidates, ["Paris"] * 60)
    expected = dict(zip(rows, engine.logits(rows), strict=True))
    for batch_tokens in (None, 1, 150, 4096):
        engine.batch_tokens = batch_tokens
        some = generator.sample(rows, 25)
        error = np.abs(engine.logits(some) - [expected[row] for row in some]).max()
        assert error <= tolerance


@pytest.mark.parametrize("architecture", tiny_models.ENCODERS)
def test_padding_to_a_multiple_changes_no_logit(tmp_path: Path, architecture: str) -> None:
    loaded = checkpoint.load(tiny_models.encoder(tmp_path / "model", architecture))
    rows = loaded.encoder.encode(["q"] * 40, ["no " * n for n in range(40)], ["Größe 東京"] * 40)
    pad, exact = loaded.tokenizer.pad_token_id, TorchBackend(loaded.model)
    backend = RecordingBackend(exact, batch_tokens=512, parallel_batches=2, length_multiple=16)
    expected = compute_logits(exact, rows, pad)
    np.testing.assert_allclose(compute_logits(backend, rows, pad), expected, atol=np.ptp(expected) / 100)
    assert {length % 16 for _, length in backend.shapes} == {0}
    # The longest row fills the position embeddings exactly.
    [full] = loaded.encoder.encode(["q"], ["no " * 500], ["Paris"])
    assert len(full.ids) == 128
    compute_logits(backend, [full], pad)
    assert backend.shapes[-1] == (1, 128)


@pytest.mark.parametrize(
    ("rows", "parallel_batches", "batches"),
    # One batch at a time is as large as allowed; with two at a time, each thread gets several.
    [(10, 1, 1), (200, 1, 3), (10, 2, 1), (50, 2, 5), (200, 2, 17), (1000, 2, 17)],
)
def test_parallel_batches_are_small_enough_to_share_the_work(
    tmp_path: Path, rows: int, parallel_batches: int, batches: int
) -> None:
    loaded = checkpoint.load(tiny_models.encoder(tmp_path / "model"))
    encoded = loaded.encoder.encode(
        ["q"] * rows, [f"{n:04} makes forty-one tokens of the rest of the row" for n in range(rows)], ["P"] * rows
    )
    backend = RecordingBackend(TorchBackend(loaded.model), batch_tokens=4096, parallel_batches=parallel_batches, length_multiple=1)
    compute_logits(backend, encoded, loaded.tokenizer.pad_token_id)
    assert sum(count for count, _ in backend.shapes) == rows
    assert len(backend.shapes) == batches
