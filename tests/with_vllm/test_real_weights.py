"""SmolLM2-135M in vLLM, as engine and as server: its answers to questions of the demo beside those of transformers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bert_judge.assets.prepare import Manifest
from bert_judge.candidates.generators import vllm
from bert_judge.candidates.generators.hf import HFGenerator
from bert_judge.candidates.generators.openai import OpenAIGenerator
from bert_judge.candidates.generators.protocol import Completion, Generator, Request
from bert_judge.config import HFModel, OpenAIModel, VLLMModel
from bert_judge.tasks import Sample
from bert_judge.tasks.registry import prompt

pytestmark = pytest.mark.vllm

LABELS = Path(__file__).parents[2] / "configs" / "smollm2_labels.csv"
QUESTIONS = 24
WINDOW = 512
COMMON: dict[str, Any] = {"max_new_tokens": 48}
LOCAL: dict[str, Any] = {**COMMON, "dtype": "float32"}


def requests() -> list[Request]:
    rows = pd.read_csv(LABELS, nrows=QUESTIONS).to_dict("records")
    samples = [Sample(row["question"], tuple(json.loads(row["references"]))) for row in rows]
    return [Request(f"s{number}", 0, prompt(sample, "short_answer", "soft"), sample) for number, sample in enumerate(samples)]


def manifest(path: Path) -> Manifest:
    return Manifest(str(path), "local:1", path, ())


@contextmanager
def engine(path: Path, **more: Any) -> Iterator[Generator]:
    block = {"generator": "vllm", "model": str(path), **LOCAL, "max_model_len": WINDOW, "enforce_eager": True, **more}
    model = vllm.load("smollm2", VLLMModel.model_validate(block).model_dump(mode="json"), manifest(path))
    assert isinstance(model, vllm.VLLMProcess)
    yield model
    model.process.kill()
    model.process.wait()


def client(address: str, **more: Any) -> Generator:
    block = {"generator": "openai", "model": "served", "base_url": address, **COMMON, **more}
    return OpenAIGenerator("smollm2", OpenAIModel.model_validate(block).model_dump(mode="json"))


@pytest.fixture(scope="module")
def answers(smollm: Path) -> list[Completion]:
    """Those of transformers."""
    block = HFModel.model_validate({"generator": "hf", "model": str(smollm), **LOCAL})
    return HFGenerator("smollm2", block.model_dump(mode="json"), manifest(smollm)).generate(requests())


def check_greedy(name: str, theirs: list[Completion], ours: list[Completion], capsys: pytest.CaptureFixture[str]) -> None:
    """Both compute in float32, but in another order: a near tie between two tokens may be broken the other way."""
    equal = [left.text == right.text for left, right in zip(theirs, ours, strict=True)]
    with capsys.disabled():
        print(f"\n{name}: {sum(equal)} of {len(equal)} greedy answers are those of transformers")
    assert sum(equal) >= 0.9 * len(equal)
    assert [answer.prompt_tokens for answer in theirs] == [answer.prompt_tokens for answer in ours]


def check_sampled(generator: Generator) -> None:
    """Four attempts differ, and come again with the same seed, whatever shares their batch."""
    asked = [Request("s", attempt, "Name a colour and a fruit.", Sample("?", ())) for attempt in range(4)]
    sampled = [answer.text for answer in generator.generate(asked)]
    assert len(set(sampled)) == 4
    assert [answer.text for answer in generator.generate(asked[::-1])] == sampled[::-1]


def test_engine(smollm: Path, answers: list[Completion], capsys: pytest.CaptureFixture[str]) -> None:
    with engine(smollm) as generator:
        check_greedy("engine", generator.generate(requests()), answers, capsys)
        too_long, fits = generator.generate([Request("s", 0, "Paris " * WINDOW, Sample("?", ())), *requests()[:1]])
    assert too_long.status == "error" and "no room for an answer" in str(too_long.reason)
    assert fits.text == answers[0].text


def test_sampling_of_the_engine(smollm: Path) -> None:
    with engine(smollm, temperature=0.8, top_p=0.95) as generator:
        check_sampled(generator)


def test_server(smollm_server: str, answers: list[Completion], capsys: pytest.CaptureFixture[str]) -> None:
    check_greedy("server", client(smollm_server).generate(requests()), answers, capsys)
    check_sampled(client(smollm_server, temperature=0.8, top_p=0.95))
    [too_long] = client(smollm_server).generate([Request("s", 0, "Paris " * WINDOW, Sample("?", ()))])
    assert too_long.status == "error"
