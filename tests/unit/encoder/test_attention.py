"""Float32 attention for training on a CPU."""

from pathlib import Path

import pytest
import torch
from helpers import tiny_models
from transformers import AutoModelForCausalLM, PreTrainedModel

from bert_judge.encoder import checkpoint
from bert_judge.encoder.torch_model import collate
from bert_judge.encoder.trainer import SDPA_FLOAT32, float32_attention
from bert_judge.runtime import hardware

TEXTS = ["Paris", "no " * 30, "Größe 東京", ""]


@pytest.fixture(autouse=True)
def on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "best_device", lambda: "cpu")


def gradients(model: PreTrainedModel, inputs: dict[str, torch.Tensor], half: bool) -> torch.Tensor:
    model.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
        model(**inputs).logits.float().square().sum().backward()
    return torch.cat([weights.grad.flatten() for weights in model.parameters() if weights.grad is not None])


def check(model: PreTrainedModel, inputs: dict[str, torch.Tensor]) -> None:
    exact, usual = (gradients(model, inputs, half) for half in (False, True))
    before = model.config._attn_implementation
    with float32_attention(model):
        assert model.config._attn_implementation == (SDPA_FLOAT32 if before == "sdpa" else before)
        assert SDPA_FLOAT32 not in model.config.to_json_string()
        quick = gradients(model, inputs, half=True)
        torch.testing.assert_close(gradients(model, inputs, half=False), exact, rtol=1e-3, atol=1e-5)
    assert model.config._attn_implementation == before
    # No further from the exact ones than bfloat16 itself is.
    assert 0 < (quick - exact).norm() <= 1.5 * (usual - exact).norm() < exact.norm() / 5


@pytest.mark.parametrize("architecture", tiny_models.ENCODERS)
def test_gradients_of_encoders(tmp_path: Path, architecture: str) -> None:
    loaded = checkpoint.load(tiny_models.encoder(tmp_path / "model", architecture))
    rows = loaded.encoder.encode(["What is the capital of France?"] * len(TEXTS), TEXTS, ["Paris"] * len(TEXTS))
    check(loaded.model, collate(rows, loaded.tokenizer.pad_token_id, loaded.model.config))


@pytest.mark.parametrize("architecture", ["llama", "qwen3", "gpt2"])
def test_gradients_of_language_models(tmp_path: Path, architecture: str) -> None:
    folder = tiny_models.causal_lm(tmp_path / "model", architecture)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    ids = torch.randint(5, 500, (4, 40), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    mask[0, 20:] = 0
    check(model, {"input_ids": ids, "attention_mask": mask})


def test_an_exception_restores_the_attention(tmp_path: Path) -> None:
    model = checkpoint.load(tiny_models.encoder(tmp_path / "model")).model
    with pytest.raises(ZeroDivisionError), float32_attention(model):
        raise ZeroDivisionError
    assert model.config._attn_implementation == "sdpa"


def test_no_change_on_a_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hardware, "best_device", lambda: "cuda")
    model = checkpoint.load(tiny_models.encoder(tmp_path / "model")).model
    with float32_attention(model):
        assert model.config._attn_implementation == "sdpa"
