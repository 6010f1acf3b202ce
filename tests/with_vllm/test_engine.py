"""The engine behind its pipe gives what transformers gives."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bert_judge.assets.prepare import Manifest
from bert_judge.candidates.generators import vllm
from bert_judge.candidates.generators.hf import HFGenerator
from bert_judge.candidates.generators.protocol import Completion, Generator, Request
from bert_judge.config import HFModel, VLLMModel
from bert_judge.runtime.errors import InputError
from bert_judge.tasks import Sample

pytestmark = pytest.mark.vllm

PROMPTS = ["What is the capital of France?", "Hi", "What is the capital of Spain?", "東京は日本の首都です。", "Größe\ud83d"]
CHOICES = ("correct", "incorrect")
COMMON: dict[str, Any] = {"dtype": "float32", "max_new_tokens": 12}


def request(prompt: str, attempt: int = 0) -> Request:
    return Request(f"id of {prompt[:9]}", attempt, prompt, Sample(prompt, ("Paris",)))


def settings(path: Path, **more: Any) -> dict[str, Any]:
    engine = {"max_model_len": 256, "enforce_eager": True}
    return VLLMModel.model_validate({"generator": "vllm", "model": str(path), **COMMON, **engine, **more}).model_dump(mode="json")


def manifest(path: Path) -> Manifest:
    return Manifest(str(path), "local:1", path, ())


@pytest.fixture(scope="module")
def engines(qwen: Path, llama: Path) -> Iterator[Callable[[str], vllm.VLLMProcess]]:
    """Each architecture's engine, started once."""
    started: dict[str, vllm.VLLMProcess] = {}

    def get(name: str) -> vllm.VLLMProcess:
        if name not in started:
            path = {"qwen3": qwen, "llama": llama}[name]
            # Sampling with a seed of the row's own, when a test asks for it by the temperature.
            model = vllm.load("tiny", settings(path, thinking=False), manifest(path))
            assert isinstance(model, vllm.VLLMProcess)
            started[name] = model
        return started[name]

    yield get
    for model in started.values():
        model.process.kill()
        model.process.wait()


@pytest.mark.parametrize("architecture", ["qwen3", "llama"])
def test_greedy_answers_are_those_of_transformers(
    engines: Callable[[str], Generator], qwen: Path, llama: Path, architecture: str
) -> None:
    path = {"qwen3": qwen, "llama": llama}[architecture]
    block = HFModel.model_validate({"generator": "hf", "model": str(path), **COMMON, "thinking": False}).model_dump(mode="json")
    asked = [request(prompt) for prompt in PROMPTS]
    theirs, ours = engines(architecture).generate(asked), HFGenerator("tiny", block, manifest(path)).generate(asked)
    assert theirs == ours
    assert len({answer.text for answer in theirs}) > 2
    assert engines(architecture).generate(asked[::-1]) == theirs[::-1]
    assert engines(architecture).revisions == {"tiny": "local:1"}


def test_what_cannot_be_asked_is_an_error_of_its_row(engines: Callable[[str], Generator]) -> None:
    answers = engines("qwen3").generate([request("Hi"), request("a b " * 300), request("Ho")])
    assert [answer.status == "error" for answer in answers] == [False, True, False]
    assert answers[1].prompt_tokens is not None and answers[1].prompt_tokens > 256
    assert engines("qwen3").generate([]) == []


def test_a_constrained_answer_is_a_choice_with_probabilities(engines: Callable[[str], Generator]) -> None:
    asked = [replace(request(prompt), choices=CHOICES) for prompt in PROMPTS[:4]]
    free = request("Hi")
    *answers, last = engines("qwen3").generate([*asked, free])
    assert last == engines("qwen3").generate([free])[0]
    for answer in answers:
        assert answer.text in CHOICES
        assert answer.status == "ok"
        assert answer.choice_probabilities is not None
        assert sum(answer.choice_probabilities.values()) == pytest.approx(1)


def test_errors_have_one_line(qwen: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"models\.tiny: .* vLLM cannot load it: .*; check the model's settings") as caught:
        vllm.load("tiny", settings(tmp_path), manifest(tmp_path))
    assert "\n" not in str(caught.value)
    monkeypatch.setenv(vllm.PYTHON, str(tmp_path / "python"))
    with pytest.raises(InputError, match="cannot be started: No such file or directory; name the Python of vLLM"):
        vllm.load("tiny", settings(qwen), manifest(qwen))
    monkeypatch.delenv(vllm.PYTHON)
    with pytest.raises(InputError, match="vLLM is not installed in this environment; set BERT_JUDGE_VLLM_PYTHON"):
        vllm.load("tiny", settings(qwen), manifest(qwen))


def test_killed_engine(engines: Callable[[str], vllm.VLLMProcess]) -> None:
    """Runs last: it ends the engine of the other tests."""
    model = engines("llama")
    os.kill(model.process.pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="tiny: the vLLM process ended with status -9"):
        model.generate([request("Hi")])


HERE = """
import json, sys
from pathlib import Path
from bert_judge.candidates.generators import vllm
from bert_judge.candidates.generators.protocol import Request
from bert_judge.assets.prepare import Manifest
from bert_judge.tasks import Sample
if __name__ == "__main__":
    settings, prompts = json.loads(sys.argv[1]), json.loads(sys.argv[2])
    model = vllm.load("tiny", settings, Manifest("m", "local:1", Path(settings["model"]), ()))
    assert type(model).__name__ == "VLLMEngine"
    answers = model.generate([Request(prompt, 0, prompt, Sample(prompt, ())) for prompt in prompts])
    print("ANSWERS " + json.dumps([answer.text for answer in answers]))
"""


def test_engine_in_this_process(engines: Callable[[str], Generator], qwen: Path) -> None:
    """As with conda: no pipe, no second process, the same answers."""
    command = [os.environ[vllm.PYTHON], "-c", HERE, json.dumps(settings(qwen, thinking=False)), json.dumps(PROMPTS)]
    environment = {name: value for name, value in os.environ.items() if name != vllm.PYTHON}
    done = subprocess.run(command, capture_output=True, text=True, env=environment | {"PYTHONPATH": str(vllm.PACKAGE_ROOT)})
    assert done.returncode == 0, done.stderr[-4000:]
    line = next(line for line in done.stdout.splitlines() if line.startswith("ANSWERS "))
    expected = [answer.text for answer in engines("qwen3").generate([request(prompt) for prompt in PROMPTS])]
    assert json.loads(line.removeprefix("ANSWERS ")) == expected


OWNER = """
import json, sys, time
from pathlib import Path
from bert_judge.candidates.generators.protocol import Request
from bert_judge.candidates.generators.vllm import VLLMProcess
from bert_judge.assets.prepare import Manifest
from bert_judge.tasks import Sample
settings, python = json.loads(sys.argv[1]), sys.argv[2]
model = VLLMProcess("tiny", settings, Manifest("m", "local:1", Path(settings["model"]), ()), python)
requests = [Request("id", attempt, "Hi", Sample("Hi", ())) for attempt in range(4)]
together, alone = model.generate(requests), [model.generate([request])[0] for request in requests]
answers = [[answer.text, answer.status, answer.reasoning] for answer in together]
print(json.dumps({"worker": model.process.pid, "answers": answers, "same alone": together == alone}), flush=True)
time.sleep(600)
"""


def test_sampling_follows_seed_and_attempt_and_the_worker_ends_with_its_parent(qwen: Path) -> None:
    sampled = settings(qwen, temperature=1.0, thinking=True)
    command = [sys.executable, "-c", OWNER, json.dumps(sampled), os.environ[vllm.PYTHON]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        printed = json.loads(owner.stdout.readline())
        worker = Path("/proc", str(printed["worker"]))
        assert worker.exists()
        owner.kill()
    assert printed["same alone"]
    # The template opens a block of reasoning, which a tiny model never closes.
    assert {(text, status) for text, status, _ in printed["answers"]} == {("", "truncated")}
    assert len({reasoning for _, _, reasoning in printed["answers"]}) == 4
    deadline = time.monotonic() + 30
    while worker.exists():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_completion_fields_are_json_values() -> None:
    """Every field of a completion is a JSON value."""
    assert set(Completion.__dataclass_fields__) == {
        "text",
        "status",
        "reason",
        "reasoning",
        "prompt_tokens",
        "completion_tokens",
        "choice_probabilities",
        "model",
    }
