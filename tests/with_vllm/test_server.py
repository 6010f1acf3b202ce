"""vLLM's own server, asked through OpenAI's protocol: the same answers as its engine's, by the same model in transformers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bert_judge.assets.prepare import Manifest
from bert_judge.candidates.generators.hf import HFGenerator
from bert_judge.candidates.generators.openai import OpenAIGenerator
from bert_judge.candidates.generators.protocol import Request
from bert_judge.candidates.generators.server_features import PROBE
from bert_judge.config import HFModel, OpenAIModel
from bert_judge.judges.prompted import PROBABILITY
from bert_judge.judges.protocol import Row
from bert_judge.labels.judge_loading import load_judges
from bert_judge.runtime.errors import InputError
from bert_judge.tasks import Sample

pytestmark = pytest.mark.vllm

PROMPTS = ["What is the capital of France?", "Hi", "東京は日本の首都です。"]


def client(server: str, **more: Any) -> OpenAIGenerator:
    block = {"generator": "openai", "model": "served", "base_url": server, "max_new_tokens": 12, **more}
    return OpenAIGenerator("tiny", OpenAIModel.model_validate(block).model_dump(mode="json"))


def request(prompt: str) -> Request:
    return Request("s", 0, prompt, Sample(prompt, ("Paris",)))


def test_greedy_answers_are_those_of_transformers(server: str, qwen: Path) -> None:
    block = HFModel.model_validate(
        {"generator": "hf", "model": str(qwen), "dtype": "float32", "max_new_tokens": 12, "thinking": False}
    )
    ours = HFGenerator("tiny", block.model_dump(mode="json"), Manifest(str(qwen), "local:1", qwen, ()))
    asked = [request(prompt) for prompt in PROMPTS]
    theirs = client(server, thinking=False)
    # The server names its model, and holds back half a character at the end.
    answers = ours.generate(asked)
    expected = [replace(answer, text=answer.text.rstrip("\N{REPLACEMENT CHARACTER}"), model="served") for answer in answers]
    assert theirs.generate(asked) == expected
    assert theirs.revisions == {"tiny": "served"}


def test_a_constrained_answer_is_a_choice(server: str) -> None:
    asked = [replace(request(prompt), choices=("correct", "incorrect")) for prompt in PROMPTS]
    for answer in client(server, structured_output="structured_outputs", logprobs=True, thinking=False).generate(asked):
        assert answer.text in ("correct", "incorrect")
        assert answer.status == "ok"
        assert answer.choice_probabilities is not None
        assert sum(answer.choice_probabilities.values()) == pytest.approx(1)


def test_a_probe_finds_what_the_server_honours(smollm_server: str) -> None:
    [judge] = load_judges([smollm_server])
    assert judge.name == "served"
    assert judge.judge.generator.check_features().describe() == "structured_outputs; log-probabilities"
    [label] = judge.judge.judge([Row("s", 0, "m", "What is the capital of France?", ("Paris",), "It is Paris.")])
    # The context of the server is smaller than the judge's limit of tokens.
    assert label.reason == PROBABILITY and label.score is not None and 0 < label.score < 1
    # A restriction that vLLM does not know is ignored without an error.
    assert client(smollm_server, structured_output="grammar").generate([PROBE])[0].text not in (PROBE.choices or ())


def test_what_the_server_refuses(server: str) -> None:
    answers = client(server).generate([request("a b " * 3000), request("Hi")])
    assert [answer.status == "error" for answer in answers] == [True, False]
    with pytest.raises(InputError, match=r"models\.tiny\.model: .* does not serve 'nobody' \(404\)"):
        client(server, model="nobody").generate([request("Hi")])
