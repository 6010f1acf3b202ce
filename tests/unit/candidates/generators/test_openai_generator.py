"""The OpenAI generator against a real local server that fails in every way a server can."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.chat_server import ChatServer, serving

from bert_judge import tables
from bert_judge.candidates.generators.model_names import is_alias
from bert_judge.candidates.generators.openai import OpenAIGenerator
from bert_judge.candidates.generators.protocol import Completion, Request
from bert_judge.candidates.stage import answer_cache, generate_candidates
from bert_judge.config import OpenAIModel
from bert_judge.runtime.errors import InputError
from bert_judge.tasks import Sample

KEY = "sk-very-secret-0123456789"


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving() as server:
        yield server


@pytest.fixture(autouse=True)
def fast_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVER_KEY", KEY)
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)


def block(server: ChatServer, **more: Any) -> dict[str, Any]:
    values = {"generator": "openai", "model": "m", "base_url": server.url, "api_key_env": "SERVER_KEY", "retries": 3, **more}
    return OpenAIModel.model_validate(values).model_dump(mode="json")


def generator(server: ChatServer, **more: Any) -> OpenAIGenerator:
    return OpenAIGenerator("served", block(server, **more))


def request(prompt: str, attempt: int = 0, choices: tuple[str, ...] | None = None) -> Request:
    return Request(f"id of {prompt[:20]}", attempt, prompt, Sample(prompt, ("Paris",)), choices)


def ask(server: ChatServer, *prompts: str, **more: Any) -> list[Completion]:
    return generator(server, **more).generate([request(prompt) for prompt in prompts])


def test_completions_are_in_the_order_of_the_requests(server: ChatServer) -> None:
    server.delay = 0.01
    prompts = [f"Größe {n}?" for n in range(30)]
    client = generator(server)
    answers = client.generate([request(prompt) for prompt in prompts])
    assert [answer.text for answer in answers] == [f"answer to {prompt}" for prompt in prompts]
    assert {(a.status, a.prompt_tokens, a.completion_tokens, a.reasoning) for a in answers} == {("ok", 2, 5, None)}
    assert client.revisions == {"served": "m-2026"}
    assert set(server.keys) == {f"Bearer {KEY}"}
    assert client.generate([]) == []


@pytest.mark.parametrize("concurrency", [1, 4])
def test_concurrency_limit(server: ChatServer, concurrency: int) -> None:
    server.delay = 0.03
    ask(server, *map(str, range(12)), concurrency=concurrency)
    assert server.parallel == concurrency


def test_rate_limit(server: ChatServer) -> None:
    started = time.monotonic()
    ask(server, *map(str, range(6)), requests_per_minute=60 / 0.05)
    assert time.monotonic() - started >= 5 * 0.05


FAILURES = ["429", "500", "503", "408", "half", "garbage", "notjson", "strange", "empty", "silent", "reported", "drop", "hang"]
REASONS = {
    "half": "no connection: ",
    "garbage": "the response is not JSON",
    "notjson": "the response is not JSON",
    "strange": "a field of the response has the wrong type",
    "empty": "the response lacks the field 'choices'",
    "silent": "the response has no answer",
    "reported": "the server reports: the model is loading",
    "drop": "no connection: ",
    "hang": "no response in 0.3 seconds",
}


@pytest.mark.parametrize("failure", FAILURES)
def test_temporary_failure_is_retried(server: ChatServer, failure: str) -> None:
    prompt = f"fail:{failure}*2 Hi"
    answer = ask(server, prompt, timeout=0.5)[0]
    assert (answer.text, answer.status) == (f"answer to {prompt}", "ok")
    assert server.tries[prompt] == 3


@pytest.mark.parametrize("failure", FAILURES)
def test_permanent_failure_is_an_error_of_its_row(server: ChatServer, failure: str) -> None:
    prompt = f"fail:{failure}*9 Hi"
    answers = ask(server, "before", prompt, "after", timeout=0.3)
    assert [answer.status for answer in answers] == ["ok", "error", "ok"]
    assert answers[1] == Completion("", "error", reason=answers[1].reason)
    assert REASONS.get(failure, f"Error code: {failure} - ") in str(answers[1].reason)
    assert KEY not in str(answers[1].reason)
    assert server.tries[prompt] == 4


@pytest.mark.parametrize("code", ["400", "413", "422"])
def test_rejected_request_is_not_retried(server: ChatServer, code: str) -> None:
    prompt = f"fail:{code}*9 Hi"
    assert [answer.status for answer in ask(server, prompt, "Hi")] == ["error", "ok"]
    assert server.tries[prompt] == 1


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("401", r"models\.served: http://127.* rejects the key \(401\); check the environment variable SERVER_KEY$"),
        ("403", r"rejects the key \(403\)"),
        ("404", r"models\.served\.model: http://127.* does not serve 'm' \(404\); check the model and base_url$"),
    ],
)
def test_failure_of_all_rows_ends_the_job(server: ChatServer, code: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        ask(server, *(f"fail:{code}*9 {n}" for n in range(40)), concurrency=2)
    assert KEY not in str(caught.value)
    assert len(server.seen) < 10


def test_missing_key(monkeypatch: pytest.MonkeyPatch, server: ChatServer) -> None:
    monkeypatch.delenv("SERVER_KEY")
    assert ask(server, "Hi")[0].status == "ok"
    with pytest.raises(InputError, match=r"models\.served\.api_key_env: the environment variable SERVER_KEY is not set; set it"):
        generator(server, base_url="https://api.openai.com/v1")


def test_rows_are_not_sent_to_a_server_that_died(server: ChatServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "bert_judge")
    client = generator(server, concurrency=2)
    assert client.generate([request("Hi")])[0].status == "ok"
    server.dead = True
    answers = client.generate([request(str(n)) for n in range(200)])
    assert [answer.status for answer in answers] == ["error"] * 200
    assert {str(answer.reason).split(":")[0] for answer in answers} == {"no connection", "not sent"}
    # Some rows find it out with all their tries; the others are not sent.
    assert len(server.seen) < 40
    # One line per cause, however many rows it has.
    lines = [record.getMessage() for record in caplog.records if "requests failed" in record.getMessage()]
    assert len(lines) == 2 and lines[0].endswith("of 200 requests failed: not sent: the server has stopped responding")
    assert sum(int(line.split()[1]) for line in lines) == 200
    server.dead = False
    assert [client.generate([request(prompt)])[0].status for prompt in ("Hi", "Ho")] == ["ok", "ok"]


def test_another_model_than_the_requested_one_is_named_once(server: ChatServer, caplog: pytest.LogCaptureFixture) -> None:
    ask(server, "Hi")
    assert "replies as" not in caplog.text
    server.model = "weights/other.gguf"
    client = generator(server)
    completions = client.generate([request(prompt) for prompt in ("Hi", "Ho")]) + client.generate([request("Hey")])
    assert [completion.model for completion in completions] == ["weights/other.gguf"] * 3
    line = f"served: {server.url} was asked for the model 'm' and replies as 'weights/other.gguf'; check which one it runs"
    assert caplog.text.count(line) == 1


@pytest.mark.parametrize(
    ("name", "served", "expected"),
    [
        ("gpt-4o-mini", "gpt-4o-mini-2024-07-18", True),
        ("claude-sonnet-4", "claude-sonnet-4-20250514", True),
        ("gpt-4", "gpt-4-0613", True),
        ("gemini-1.5-pro", "gemini-1.5-pro-002", True),
        ("mistral-large-latest", "mistral-large-2411", True),
        ("qwen3", "qwen3:latest", True),
        ("openai/gpt-4o-mini", "gpt-4o-mini-2024-07-18", True),
        ("/models/Qwen3-8B.gguf", "qwen3-8b", True),
        ("gpt-4o-mini-2024-07-18", "gpt-4o-mini-2024-07-18", True),
        ("gpt-4o", "gpt-4o-mini", False),
        ("gpt-4o", "gpt-4o-mini-2024-07-18", False),
        ("gpt-4", "gpt-4.1", False),
        ("gpt-4-0613", "gpt-4-0314", False),
        ("llama-3", "llama-3-70b", False),
        ("qwen3", "smollm2", False),
    ],
)
def test_aliases_of_a_model(name: str, served: str, expected: bool) -> None:
    assert is_alias(name, served) is expected


def test_token_budget(server: ChatServer, caplog: pytest.LogCaptureFixture) -> None:
    # Each answer uses one token of prompt and five of completion.
    answers = ask(server, *map(str, range(10)), concurrency=1, budget_tokens=18)
    assert [answer.status for answer in answers] == ["ok"] * 3 + ["error"] * 7
    assert {answer.reason for answer in answers} == {None, "not sent: the budget of 18 tokens is spent"}
    assert len(server.seen) == 3
    assert "the budget of 18 tokens is spent; raise budget_tokens" in caplog.text


def test_budget_of_a_server_that_reports_no_tokens(server: ChatServer) -> None:
    """Tokens are estimated: ten of each prompt of 40 characters, two of each reply of eight, at 1 per token."""
    server.reply, server.usage = {"message": {"content": "violet.."}}, None
    price = {"prompt": 1e6, "completion": 1e6}
    answers = ask(server, *(f"{n:040}" for n in range(10)), concurrency=1, price=price, budget_cost=30.0)
    assert [answer.status for answer in answers] == ["ok"] * 3 + ["error"] * 7
    assert all(answer.prompt_tokens is None for answer in answers)


@pytest.mark.parametrize(
    ("message", "choice", "expected"),
    [
        ({"content": "Paris"}, {}, ("Paris", "ok", None)),
        ({"content": "Par"}, {"finish_reason": "length"}, ("Par", "truncated", None)),
        ({"content": ""}, {}, ("", "empty", None)),
        ({"content": None}, {}, ("", "empty", None)),
        ({"content": None, "refusal": "no"}, {"finish_reason": "content_filter"}, ("", "empty", None)),
        ({"content": "Paris", "reasoning_content": "hm"}, {}, ("Paris", "ok", "hm")),
        ({"content": "Paris", "reasoning": "hm"}, {}, ("Paris", "ok", "hm")),
        ({"content": None, "reasoning_content": "hm"}, {"finish_reason": "length"}, ("", "truncated", "hm")),
        ({"content": "<think>hm</think>Paris"}, {}, ("Paris", "ok", "hm")),
        ({"content": "hm</think>Paris"}, {}, ("Paris", "ok", "hm")),
        ({"content": "<think>hm, Par"}, {"finish_reason": "length"}, ("", "truncated", "hm, Par")),
    ],
)
def test_status_of_a_completion(
    server: ChatServer, message: dict[str, Any], choice: dict[str, Any], expected: tuple[str, str, str | None]
) -> None:
    server.reply = {"message": message, "choice": choice}
    answer = ask(server, "Hi")[0]
    assert (answer.text, answer.status, answer.reasoning) == expected
    assert answer.reason == ("stopped by the server: content_filter" if "refusal" in message else None)


def test_request_body(server: ChatServer) -> None:
    ask(server, "Hi")
    ask(server, "Hi", system="Be brief", temperature=0.7, top_p=0.9, max_new_tokens=7, thinking=False, extra={"min_p": 0.1})
    ask(server, "Hi", temperature=None, max_tokens_field="max_completion_tokens")
    user = {"role": "user", "content": "Hi"}
    assert server.seen[0] == {"model": "m", "messages": [user], "max_tokens": 2048, "temperature": 0, "top_p": 1}
    assert server.seen[1].pop("seed") in range(2**31)
    assert server.seen[1] == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief"}, user],
        "max_tokens": 7,
        "temperature": 0.7,
        "top_p": 0.9,
        "chat_template_kwargs": {"enable_thinking": False, "thinking": False},
        "min_p": 0.1,
    }
    assert server.seen[2].keys() == {"model", "messages", "max_completion_tokens", "top_p", "seed"}


def test_each_attempt_has_its_own_seed(server: ChatServer) -> None:
    for seed in (0, 1):
        generator(server, temperature=1, seed=seed).generate([request("Hi", attempt) for attempt in range(3)])
    assert len({body["seed"] for body in server.seen}) == 6


CHOICES = ("correct", "incorrect")


@pytest.mark.parametrize(
    ("way", "sent"),
    [
        ("none", {}),
        ("structured_outputs", {"structured_outputs": {"choice": ["correct", "incorrect"]}}),
        ("grammar", {"grammar": 'root ::= "correct" | "incorrect"'}),
    ],
)
def test_choice_constraint_in_the_request(server: ChatServer, way: str, sent: dict[str, Any]) -> None:
    client = generator(server, structured_output=way, logprobs=True)
    client.generate([request("Hi", choices=CHOICES)])
    client.generate([request("Hi")])
    plain = server.seen[1]
    assert server.seen[0] == {**plain, **sent, "logprobs": True, "top_logprobs": 20}


def test_choice_in_json(server: ChatServer) -> None:
    server.reply = {"message": {"content": '{"answer": "incorrect"}'}}
    answer = generator(server, structured_output="json_schema").generate([request("Hi", choices=CHOICES)])[0]
    schema = server.seen[0]["response_format"]["json_schema"]
    assert schema["schema"]["properties"]["answer"]["enum"] == list(CHOICES)
    assert answer.text == "incorrect"


def logged(*tokens: tuple[str, dict[str, float]]) -> dict[str, Any]:
    content = [
        {"token": said, "logprob": -1.0, "top_logprobs": [{"token": t, "logprob": math.log(p)} for t, p in likely.items()]}
        for said, likely in tokens
    ]
    return {"logprobs": {"content": content}}


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("correct", [("correct", {"correct": 0.6, "in": 0.2})]),
        ("incorrect", [("in", {"correct": 0.6, "in": 0.2}), ("correct", {"correct": 1.0})]),
        (
            '{"answer": "correct"}',
            [('{"', {'{"': 1.0}), ('answer":', {"x": 1.0}), (' "', {' "': 1.0}), ("correct", {"correct": 0.6, "in": 0.2})],
        ),
        (
            "is it correct? correct",
            [("is", {"is": 1.0}), (" correct", {" correct": 1.0}), ("?", {"?": 1.0}), (" correct", {" correct": 0.6, " in": 0.2})],
        ),
    ],
)
def test_choice_probabilities(server: ChatServer, text: str, tokens: list[tuple[str, dict[str, float]]]) -> None:
    server.reply = {"message": {"content": text}, "choice": logged(*tokens)}
    answer = generator(server, logprobs=True).generate([request("Hi", choices=CHOICES)])[0]
    assert answer.choice_probabilities == pytest.approx({"correct": 0.75, "incorrect": 0.25})
    server.reply = {"message": {"content": text}}
    assert generator(server).generate([request("Hi", choices=CHOICES)])[0].choice_probabilities is None


def test_no_row_is_lost_and_the_key_is_written_nowhere(
    server: ChatServer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Generate a table with an unreliable server; the next run only repeats what failed."""
    caplog.set_level(logging.DEBUG)
    failures = ["", "fail:429*1", "fail:500*9", "fail:half*1", "fail:garbage*9", "fail:400*9"]
    questions = [f"{failures[n % 6]} question {n}?" for n in range(60)]
    frame = pd.DataFrame({"sample_id": [tables.sample_id("t", q, ["r"]) for q in questions], "question": questions})
    tables.write(frame.assign(references=[["r"]] * 60, choices=None, answer_kind="text"), tmp_path / "t.parquet", tables.TASK, {})
    settings = block(server, retries=1, concurrency=4)
    spec_settings = {k: v for k, v in settings.items() if k not in OpenAIModel.run_time}
    spec = {"model": "served", "task": "t", "family": "short_answer", "settings": spec_settings, "prompt_style": "free"}

    def run() -> pd.DataFrame:
        cache = answer_cache(spec, tmp_path / "store", lambda: OpenAIGenerator("served", settings), shard_rows=20)
        generate_candidates(spec, tmp_path / "t.parquet", tmp_path / "c.parquet", cache)
        return tables.read(tmp_path / "c.parquet", tables.CANDIDATES)

    first = run()
    assert len(first) == 60
    assert first["status"].tolist() == ["ok" if n % 6 in (0, 1, 3) else "error" for n in range(60)]
    assert (first["reason"].notna() == (first["status"] == "error")).all()
    assert "10 x Error code: 500 - refused Bearer [key]; 10 x the response is not JSON" in caplog.text
    assert (first["candidate"] == [f"answer to {q}" if n % 6 in (0, 1, 3) else "" for n, q in enumerate(questions)]).all()
    server.seen.clear()
    server.tries.update(dict.fromkeys(questions, 20))
    second = run()
    assert sorted(body["messages"][0]["content"] for body in server.seen) == sorted(
        q for n, q in enumerate(questions) if n % 6 in (2, 4, 5)
    )
    assert second["status"].unique().tolist() == ["ok"]
    assert "refused Bearer [key]" in caplog.text
    written = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert len(written) > 3
    assert not any(KEY.encode() in content for content in [*written, caplog.text.encode()])
