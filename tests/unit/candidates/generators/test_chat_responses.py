"""Reading of responses: recorded ones of llama.cpp, and others constructed after the documentation of their servers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from bert_judge.candidates.generators.cache import CachedGenerator
from bert_judge.candidates.generators.chat_responses import parse_response
from bert_judge.candidates.generators.protocol import Completion, Request, flatten
from bert_judge.tasks import Sample

CHOICES = ("correct", "incorrect")


def response(message: dict[str, Any], finish: str = "stop", logprobs: Any = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "finish_reason": finish, "message": message, "logprobs": logprobs}]}


def step(token: str, logprob: float, *likely: tuple[str, float]) -> dict[str, Any]:
    return {"token": token, "logprob": logprob, "top_logprobs": [{"token": text, "logprob": value} for text, value in likely]}


def test_equal_token_texts_add_up() -> None:
    likely = [("correct", -0.10536), ("incorrect", -2.52573), ("incorrect", -4.19971), ("correct", -7.6009)]
    logprobs = {"content": [step("correct", -0.10536, *likely)]}
    completion = parse_response(response({"content": "correct"}, logprobs=logprobs), "</think>", CHOICES)
    assert completion.choice_probabilities == pytest.approx({"correct": 0.9046, "incorrect": 0.0954}, abs=1e-4)


@pytest.mark.parametrize(
    "logprobs",
    [
        {"content": [{"token": "correct", "logprob": -0.3}]},
        {"content": [{"token": "correct", "logprob": -0.3, "top_logprobs": None}]},
        # The other verdict may have the rest of the probability.
        {"content": [{"token": "correct", "logprob": -0.3, "top_logprobs": []}]},
        {"content": [{"token": "correct", "logprob": None, "top_logprobs": [{"token": "correct", "logprob": None}]}]},
        {"content": [{"token": "correct", "logprob": "-0.3", "top_logprobs": [{"token": "correct", "logprob": "-0.3"}]}]},
        {"content": [step("correct", float("nan"), ("correct", float("nan")))]},
        {"content": []},
        {"tokens": ["correct"], "token_logprobs": [-0.3]},
    ],
)
def test_a_verdict_without_usable_probabilities(logprobs: dict[str, Any]) -> None:
    """Constructed; the reply that was paid for has a verdict."""
    completion = parse_response(response({"content": "correct"}, logprobs=logprobs), "</think>", CHOICES)
    assert (completion.text, completion.status, completion.choice_probabilities) == ("correct", "ok", None)


def test_a_word_that_an_unrestricted_model_would_not_have_said() -> None:
    """Recorded from llama.cpp 11549 with SmolLM2-135M and a grammar, the likely tokens cut to ten: `correct` is not among them."""
    likely = [("The", -2.33), ("Your", -2.89), ("I", -2.91), ("Correct", -3.0), ("You", -3.13), ("-", -3.5), ("No", -3.58)]
    logprobs = {"content": [step("correct", -6.18, *likely), step("", -1.47, (" or", -0.76))]}
    completion = parse_response(response({"content": "correct"}, logprobs=logprobs), "</think>", CHOICES)
    # "correct" and "Correct" have .0518 together, which is a tenth of the half from which shares are taken as they are.
    assert completion.choice_probabilities == pytest.approx({"correct": 0.5518, "incorrect": 0.4482}, abs=1e-3)


def test_tokens_that_a_restriction_forbids_have_no_share() -> None:
    """Constructed after vLLM 0.32, which gives forbidden tokens −9999."""
    logprobs = {"content": [step("in", -0.35, ("in", -0.3567), ("correct", -1.204), ("The", -9999.0)), step("correct", 0.0)]}
    completion = parse_response(response({"content": "incorrect"}, logprobs=logprobs), "</think>", CHOICES)
    assert completion.choice_probabilities == pytest.approx({"correct": 0.3, "incorrect": 0.7}, abs=1e-3)


@pytest.mark.parametrize(
    ("message", "finish", "expected"),
    [
        # Constructed after the documentation of vLLM (`reasoning_content` before 0.12, then `reasoning`) and DeepSeek.
        ({"content": "correct", "reasoning_content": "incorrect?"}, "stop", ("correct", "ok", "incorrect?")),
        ({"content": "\n\ncorrect", "reasoning": "incorrect?", "reasoning_content": None}, "stop", ("correct", "ok", "incorrect?")),
        # Constructed after the documentation of servers without a parser of reasoning.
        ({"content": "<think>incorrect?</think>\n\ncorrect"}, "stop", ("correct", "ok", "incorrect?")),
        ({"content": "<think>correct, or"}, "length", ("", "truncated", "correct, or")),
        ({"content": None, "reasoning_content": "correct, or"}, "length", ("", "truncated", "correct, or")),
        # A server may report the limit right after the word that it allows.
        ({"content": "correct"}, "length", ("correct", "truncated", None)),
    ],
)
def test_order_of_reading(message: dict[str, Any], finish: str, expected: tuple[str, str, str | None]) -> None:
    completion = parse_response(response(message, finish), "</think>", CHOICES)
    assert (completion.text, completion.status, completion.reasoning) == expected


def test_probabilities_become_equal_where_the_choices_are_unlikely() -> None:
    shares = {"correct": 0.8, "incorrect": 0.2}
    assert flatten(shares, 1.0) == flatten(shares, 0.5) == pytest.approx(shares)
    assert flatten(shares, 0.25) == pytest.approx({"correct": 0.65, "incorrect": 0.35})
    assert flatten(shares, 0.0) == {"correct": 0.5, "incorrect": 0.5}


class Dying:
    """A generator whose process is killed after two replies, as far as a test can do that."""

    def __init__(self) -> None:
        self.revisions: dict[str, str] = {}
        self.on_completion: Any = None
        self.asked: list[str] = []

    def generate(self, requests: list[Request]) -> list[Completion]:
        for request in requests:
            if len(self.asked) == 2:
                raise KeyboardInterrupt
            self.asked.append(request.prompt)
            self.on_completion(request, Completion(f"reply to {request.prompt}", "ok"))
        return [Completion(f"reply to {request.prompt}", "ok") for request in requests]


class Served:
    """A generator behind a server that names its model."""

    def __init__(self, model: str) -> None:
        self.revisions, self.model = {"judge": model}, model
        self.asked: list[str] = []

    def check_features(self) -> None:
        """Nothing is known of it."""

    def generate(self, requests: list[Request]) -> list[Completion]:
        self.asked += [request.prompt for request in requests]
        return [Completion(f"by {self.model}", "ok", model=self.model) for _ in requests]


def test_stored_replies_belong_to_the_model_that_wrote_them(tmp_path: Path) -> None:
    requests = [Request("s", 0, prompt, Sample("", ())) for prompt in "ab"]

    def replies(server: Served, count: int) -> list[str]:
        cache = CachedGenerator({"model": "m"}, tmp_path, lambda: server)
        cache.check_features()
        return [completion.text for completion in cache.generate(requests[:count])]

    assert replies(Served("smollm2.gguf"), 1) == ["by smollm2.gguf"]
    # Another model behind the same address and name; then a newer snapshot of it.
    assert replies(qwen := Served("qwen3-2025-04-28"), 2) == ["by qwen3-2025-04-28"] * 2
    assert replies(newer := Served("qwen3-2025-08-01"), 2) == ["by qwen3-2025-04-28"] * 2
    assert (qwen.asked, newer.asked) == (["a", "b"], [])
    # Without asking the server, nobody knows which model it runs.
    assert CachedGenerator({"model": "m"}, tmp_path, lambda: newer).find_missing(requests) == [False, False]


def test_replies_before_a_kill_are_kept_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [Request("s", 0, prompt, Sample("", ())) for prompt in "abcd"]
    first, second = Dying(), Dying()
    with pytest.raises(KeyboardInterrupt):
        CachedGenerator({}, tmp_path, lambda: first).generate(requests)
    [journal] = tmp_path.glob("*.journal")
    assert len(journal.read_text().splitlines()) == 2
    # The line that the kill interrupted.
    with journal.open("a") as file:
        file.write(json.dumps({"key": "x"})[:4])
    monkeypatch.setattr("os.getpid", lambda: 1)
    again = CachedGenerator({}, tmp_path, lambda: second)
    assert again.find_missing(requests) == [False, False, True, True]
    assert [completion.text for completion in again.generate(requests)] == [f"reply to {prompt}" for prompt in "abcd"]
    assert second.asked == ["c", "d"] and not list(tmp_path.glob("*.journal"))
