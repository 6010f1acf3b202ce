"""Training: batch order, learning, and resuming after a kill."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from helpers import tiny_models
from helpers.trainings import SETTINGS, problem
from hypothesis import given
from hypothesis import strategies as st

from bert_judge.config import Training
from bert_judge.encoder import backend, trainer
from bert_judge.encoder.torch_model import TorchBackend
from bert_judge.runtime.errors import InputError


@given(st.lists(st.integers(1, 60), min_size=1, max_size=80), st.integers(1, 7), st.sampled_from([0.5, 1.0, 2.0, 2.5]))
def test_every_epoch_holds_each_row_once(lengths: list[int], batch_size: int, epochs: float) -> None:
    settings = Training(epochs=epochs, batch_size=batch_size)
    order = trainer.batch_order(lengths, settings)
    assert len(order) == max(1, round(epochs * len(lengths)))
    counts = [order.count(i) for i in range(len(lengths))]
    assert max(counts) - min(counts) <= 1
    assert order == trainer.batch_order(lengths, settings)


def test_batches_have_rows_of_similar_length() -> None:
    lengths = [i % 50 + 1 for i in range(1600)]
    order = trainer.batch_order(lengths, Training(epochs=1, batch_size=32))
    spreads = [
        max(batch) - min(batch) for start in range(0, 1600, 32) if (batch := [lengths[i] for i in order[start : start + 32]])
    ]
    assert max(spreads) <= 2


def test_fit_learns_and_leaves_the_model_in_eval_mode(tmp_path: Path) -> None:
    loaded, examples = problem(tiny_models.encoder(tmp_path / "backbone"))
    statistics = trainer.fit(loaded, examples, SETTINGS, tmp_path / "work")
    assert statistics["steps"] == 120
    scores = backend.compute_logits(TorchBackend(loaded.model), examples.rows, loaded.tokenizer.pad_token_id)
    assert [float(score > 0) for score in scores] == examples.labels
    assert not loaded.model.training


def test_divergence_ends_training_with_one_line(tmp_path: Path) -> None:
    loaded, examples = problem(tiny_models.encoder(tmp_path / "backbone"))
    with pytest.raises(InputError, match=r"diverged: at step \d of 120 .* lower its learning_rate, 1e\+30 now$"):
        trainer.fit(loaded, examples, SETTINGS.model_copy(update={"learning_rate": 1e30}), tmp_path / "work")


def test_no_checkpoint_has_weights_that_are_not_finite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also between two logged steps, whose gradients nobody looks at."""
    loaded, examples = problem(tiny_models.encoder(tmp_path / "backbone"))
    monkeypatch.setattr(trainer.resume, "stop_requested", lambda: True)
    *_, weights = loaded.model.parameters()
    weights.register_hook(lambda gradient: torch.full_like(gradient, torch.nan))
    with pytest.raises(InputError, match="diverged: at step 1 of 120"):
        trainer.fit(loaded, examples, SETTINGS, tmp_path / "work")
    assert not list((tmp_path / "work").glob("checkpoint-*"))


def test_gradient_accumulation_gives_the_same_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also for the last step, which is smaller. In float32, because bfloat16 sums depend on the order."""
    monkeypatch.setattr(trainer, "best_dtype", lambda device: "float32")
    backbone = tiny_models.encoder(tmp_path / "backbone")
    ends = []
    for micro_batch_size in (None, 2):
        loaded, examples = problem(backbone, rows=21)
        settings = SETTINGS.model_copy(update={"epochs": 2, "micro_batch_size": micro_batch_size})
        assert trainer.fit(loaded, examples, settings, tmp_path / str(micro_batch_size))["steps"] == 11
        ends.append(loaded.model.state_dict())
    for name, tensor in ends[0].items():
        torch.testing.assert_close(ends[1][name], tensor, rtol=0, atol=1e-4, msg=name)


def test_the_same_training_gives_the_same_weights(tmp_path: Path) -> None:
    backbone, states = tiny_models.encoder(tmp_path / "backbone"), []
    for run in ("first", "second"):
        loaded, examples = problem(backbone, rows=40)
        trainer.fit(loaded, examples, SETTINGS, tmp_path / run)
        states.append(loaded.model.state_dict())
    assert all(torch.equal(tensor, states[1][name]) for name, tensor in states[0].items())


def test_rows_of_weight_0_change_nothing(tmp_path: Path) -> None:
    loaded, examples = problem(tiny_models.encoder(tmp_path / "backbone"), rows=8)
    loaded.trained = True  # so that its head is kept
    before = {name: tensor.clone() for name, tensor in loaded.model.state_dict().items()}
    silent = trainer.Examples(examples.rows, examples.labels, [0.0] * 8)
    trainer.fit(loaded, silent, Training(epochs=1, batch_size=4, weight_decay=0.0), tmp_path / "work")
    assert all(torch.equal(tensor, before[name]) for name, tensor in loaded.model.state_dict().items())


def test_incomplete_checkpoints_are_removed(tmp_path: Path) -> None:
    for step, content in ((10, '{"global_step": 10}'), (20, '{"global_st'), (30, None)):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        if content is not None:
            (folder / "trainer_state.json").write_text(content)
    assert trainer.find_last_checkpoint(tmp_path) == str(tmp_path / "checkpoint-10")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint-10"]


CHILD = """
import sys
from pathlib import Path
from helpers.trainings import SETTINGS, problem
from bert_judge.encoder import trainer
loaded, examples = problem(Path(sys.argv[1]))
trainer.fit(loaded, examples, SETTINGS, Path(sys.argv[2]))
"""


# On pre-emption, SIGTERM saves the current step, and the exit status tells the scheduler that the work is unfinished.
@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 128 + signal.SIGTERM)])
def test_a_killed_run_resumes_with_the_same_result(tmp_path: Path, number: signal.Signals, status: int) -> None:
    backbone = tiny_models.encoder(tmp_path / "backbone")
    uninterrupted, examples = problem(backbone)
    trainer.fit(uninterrupted, examples, SETTINGS, tmp_path / "uninterrupted")

    # As many threads as in this process, see `tiny_models`: another number rounds differently.
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(backbone), str(tmp_path / "work")], env=environment)
    deadline = time.monotonic() + 600
    while not has_checkpoint(tmp_path / "work"):
        assert child.poll() is None and time.monotonic() < deadline, "the child must be killed in the middle of its work"
        time.sleep(0.01)
    os.kill(child.pid, number)
    assert child.wait(timeout=600) == status

    resumed, examples = problem(backbone)
    assert trainer.find_last_checkpoint(tmp_path / "work") is not None
    trainer.fit(resumed, examples, SETTINGS, tmp_path / "work")
    for name, tensor in uninterrupted.model.state_dict().items():
        torch.testing.assert_close(resumed.model.state_dict()[name], tensor, rtol=0, atol=1e-6, msg=name)


def has_checkpoint(folder: Path) -> bool:
    """Return whether a complete checkpoint exists."""
    states = (path / "trainer_state.json" for path in folder.glob("checkpoint-*"))
    return any(state.is_file() and state.read_text().rstrip().endswith("}") for state in states)


@pytest.mark.parametrize("architecture", tiny_models.ENCODERS[1:])
def test_every_backbone_trains(tmp_path: Path, architecture: str) -> None:
    loaded, examples = problem(tiny_models.encoder(tmp_path / "backbone", architecture), rows=16)
    statistics = trainer.fit(loaded, examples, Training(epochs=1, batch_size=8), tmp_path / "work")
    assert statistics["steps"] == 2 and statistics["loss"] > 0
