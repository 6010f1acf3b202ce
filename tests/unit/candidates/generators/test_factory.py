"""From a block of the configuration to a generator; what is no part of a table's meaning."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from helpers import tiny_models
from pydantic import TypeAdapter

from bert_judge import plan, tables
from bert_judge.assets.prepare import Manifest, prepare
from bert_judge.candidates.generators import make_generator, vllm
from bert_judge.candidates.generators.hf import HFGenerator
from bert_judge.candidates.generators.openai import OpenAIGenerator
from bert_judge.candidates.generators.simulated import SimulatedGenerator
from bert_judge.config import Model
from bert_judge.runtime.errors import InputError


def settings(**block: Any) -> dict[str, Any]:
    made: Any = TypeAdapter(Model).validate_python(block)
    return made.model_dump(mode="json")


def test_each_generator(tmp_path: Path) -> None:
    folder = tiny_models.causal_lm(tmp_path / "tiny")
    manifest = tmp_path / "manifest.json"
    prepare({"repository": str(folder), "revision": None, "remote_code": False}, manifest)
    local = settings(generator="hf", model=str(folder), dtype="float32")
    assert isinstance(make_generator("m", local, manifest), HFGenerator)
    served = settings(generator="openai", model="m", base_url="http://127.0.0.1:9/v1")
    assert isinstance(make_generator("m", served, None), OpenAIGenerator)
    assert isinstance(make_generator("m", settings(generator="simulated", p_correct=1), None), SimulatedGenerator)


@pytest.mark.parametrize(
    ("block", "fault"),
    [
        ({"generator": "imported", "from": "x"}, "models.m: a model of kind 'imported' does not generate answers"),
        ({"generator": "hf", "model": "x"}, "models.m: the manifest of its files is missing; run the prepare stage first"),
        ({"generator": "vllm", "model": "x"}, "models.m: the manifest of its files is missing; run the prepare stage first"),
    ],
)
def test_invalid_model(block: dict[str, Any], fault: str) -> None:
    with pytest.raises(InputError, match=fault):
        make_generator("m", settings(**block), None)


SERVED = {"generator": "openai", "model": "m"}
ENGINE = {"generator": "vllm", "model": "m"}


@pytest.mark.parametrize(
    ("block", "key", "value", "counts"),
    [
        (SERVED, "base_url", "http://node17:8000/v1", False),
        (SERVED, "api_key_env", "OTHER_KEY", False),
        (SERVED, "concurrency", 2, False),
        (SERVED, "requests_per_minute", 5, False),
        (SERVED, "timeout", 3, False),
        (SERVED, "retries", 0, False),
        (SERVED, "budget_tokens", 9, False),
        (SERVED, "model", "other", True),
        (SERVED, "extra", {"min_p": 0.1}, True),
        (SERVED, "max_new_tokens", 7, True),
        (ENGINE, "tensor_parallel_size", 2, False),
        (ENGINE, "gpu_memory_utilization", 0.5, False),
        (ENGINE, "enforce_eager", True, False),
        (ENGINE, "max_model_len", 99, True),
        (ENGINE, "quantization", "awq", True),
    ],
)
def test_spec_excludes_runtime_settings(block: dict[str, Any], key: str, value: Any, counts: bool) -> None:
    def spec(model: dict[str, Any]) -> str:
        judges = {"strict": {"kind": "lexical", "metric": "exact_match"}}
        raw = {"models": {"a": model}, "tasks": {"test": ["facts_test"]}, "judges": judges, "scorers": ["strict"]}
        return tables.canonical(plan.build_plan(raw).candidates_spec("a", "facts_test"))

    assert (spec(block) != spec({**block, key: value})) == counts


@pytest.mark.parametrize(
    ("python", "fault"),
    [
        (None, "models.m: vLLM is not installed in this environment; set BERT_JUDGE_VLLM_PYTHON to the Python of an environment"),
        (
            "/no/such/python",
            "BERT_JUDGE_VLLM_PYTHON: /no/such/python cannot be started: No such file or directory; name the Python",
        ),
        # This one has no vLLM: its tests have an environment of their own.
        (sys.executable, f"models.m: {sys.executable} has no working vLLM: No module named 'vllm'; install it there"),
    ],
)
def test_missing_vllm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, python: str | None, fault: str) -> None:
    monkeypatch.setenv(vllm.PYTHON, python or "")
    with pytest.raises(InputError) as caught:
        vllm.load("m", settings(**ENGINE), Manifest("m", "local:1", tmp_path, ()))
    assert str(caught.value).startswith(fault)
