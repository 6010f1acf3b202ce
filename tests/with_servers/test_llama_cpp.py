"""The three ways to name a language model, against llama.cpp: what it is asked, counted by its log, and that a kill costs nothing
twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from with_servers.conftest import CONTEXT, LlamaServer

from bert_judge.candidates.generators.openai import OpenAIGenerator
from bert_judge.config import OpenAIModel
from bert_judge.judges.llm.judge import LLMJudge
from bert_judge.judges.protocol import Row
from bert_judge.labels import judge_loading

pytestmark = pytest.mark.servers

SURE = [("What is {n} + {n}?", "{m}", "{m}"), ("What is {n} times ten?", "{n}0", "{m}1")]
UNSURE = ("Why does number {n} rust?", "iron reacts with oxygen and water", "moist air attacks metal number {n}")
PROGRAM = [sys.executable, "-m", "bert_judge", "score", "answers.jsonl"]
# Questions of a probe: `structured_outputs`, which llama.cpp ignores, and `grammar`.
PROBES = 2


def write_answers(folder: Path, count: int, unsure: int) -> None:
    rows = [SURE[n % 2] for n in range(count - unsure)] + [UNSURE] * unsure
    texts = [[text.format(n=n, m=2 * n) for text in row] for n, row in enumerate(rows)]
    lines = [json.dumps(dict(zip(("question", "reference", "answer"), row, strict=True))) for row in texts]
    (folder / "answers.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


def score(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PROGRAM, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=280)


def verdicts(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "answers.scored.jsonl").read_text("utf-8").splitlines()]


def test_only_uncertain_answers_are_asked(server: LlamaServer, tmp_path: Path) -> None:
    write_answers(tmp_path, 20, 5)
    done = score(tmp_path, "--judge", f"general+{server.url}")
    assert done.returncode == 0, done.stderr
    assert "SmolLM2-135M-Instruct.Q4_1: grammar; log-probabilities" in done.stderr
    assert "will be asked about the 5 of 20 answers on which general is uncertain" in done.stderr
    assert server.finished() == PROBES + 5
    assert len(verdicts(tmp_path)) == 20
    # 135M parameters prefer other words, so that their verdicts are uncertain.
    assert all(0.25 < row["score"] < 0.75 and row["certain"] is False for row in verdicts(tmp_path)[-5:])
    again = score(tmp_path, "--judge", f"general+{server.url}#SmolLM2-135M-Instruct.Q4_1", "--force")
    assert "; 5 replies are stored" in again.stderr and server.finished() == 2 * PROBES + 5


def test_max_rows_of_a_server_alone(server: LlamaServer, tmp_path: Path) -> None:
    write_answers(tmp_path, 20, 5)
    done = score(tmp_path, "--judge", server.url, "--max-rows", "3")
    assert done.returncode == 0, done.stderr
    assert server.finished() == PROBES + 3
    assert sum(row["verdict"] != "invalid" for row in verdicts(tmp_path)) == 3


def test_a_kill_asks_no_answered_request_again(server: LlamaServer, tmp_path: Path) -> None:
    write_answers(tmp_path, 12, 12)
    command = [*PROGRAM, "--judge", f"general+{server.url}"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    store = tmp_path / "results" / ".work" / "store" / "verdicts" / "SmolLM2-135M-Instruct.Q4_1" / "_any"
    deadline = time.monotonic() + 280
    while sum(len(path.read_text().splitlines()) for path in store.glob("*.journal")) < 3:
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    time.sleep(1)
    stored = sum(len(path.read_text().splitlines()) for path in store.glob("*.journal"))
    before = server.finished()
    done = score(tmp_path, "--judge", f"general+{server.url}")
    assert done.returncode == 0, done.stderr
    assert 3 <= stored < 12 and f"; {stored} replies are stored" in done.stderr
    # The two slots of the server may have worked on requests whose replies nobody received.
    assert 0 <= server.finished() - before - (PROBES + 12 - stored) <= 2


def test_a_wrong_server_ends_the_call_before_any_answer(
    server: LlamaServer, servers_python: str, gguf: Path, tmp_path: Path
) -> None:
    write_answers(tmp_path, 4, 2)
    locked = LlamaServer(servers_python, gguf, tmp_path / "locked.log", "secret")
    problems = {
        f"{server.url}#qwen3": "does not serve 'qwen3'; ",
        f"{server.address}/v2": "has no list of models; check the address, which often ends in /v1",
        "http://127.0.0.1:9/v1": "no connection: ",
        locked.url: "rejects the key (401); check the environment variable OPENAI_API_KEY",
    }
    try:
        for name, problem in problems.items():
            done = score(tmp_path, "--judge", f"general+{name}")
            [line] = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
            assert done.returncode == 1 and problem in line
        assert not (tmp_path / "answers.scored.jsonl").exists() and server.finished() == locked.finished() == 0
    finally:
        locked.stop()


def test_another_model_than_the_requested_one(server: LlamaServer, caplog: pytest.LogCaptureFixture) -> None:
    """llama.cpp answers whatever the name in the request is, with its own name in the reply."""
    block = {"generator": "openai", "model": "qwen3", "base_url": server.url}
    client = OpenAIGenerator("judge", OpenAIModel.model_validate(block).model_dump(mode="json"))
    client.check_features()
    assert caplog.text.count(f"judge: {server.url} was asked for the model 'qwen3' and replies as ") == 1
    assert "SmolLM2-135M-Instruct.Q4_1.gguf'; check which one it runs" in caplog.text


def test_a_context_that_is_too_small_for_an_answer(server: LlamaServer) -> None:
    [judge] = judge_loading.load_judges([server.url])
    rows = [Row(str(n), 0, "m", "Capital?", ("Paris",), answer) for n, answer in enumerate(["Paris", "word " * 3 * CONTEXT])]
    assert isinstance(judge.judge, LLMJudge)
    short, long = judge.judge.judge(rows)
    assert short.verdict != "invalid" and long.verdict == "invalid"
    assert "exceed" in str(long.reason) and "context" in str(long.reason) and "\n" not in str(long.reason)
