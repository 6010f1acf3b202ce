"""A model behind a server in the workflow: a kill in the middle, a server that fails, and a key that is written nowhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.chat_server import ChatServer, serving
from helpers.workspace import Workspace
from test_kills import resumed

from bert_judge.candidates.stage import SHARD_ROWS

pytestmark = pytest.mark.workflow

KEY = "sk-very-secret-0123456789"
QUESTIONS = 1300
TARGET = "results/candidates/served/long_test.parquet"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.setenv("SERVER_KEY", KEY)
    with serving() as made:
        yield made


def workspace(folder: Path, server: ChatServer, **more: Any) -> Workspace:
    model = {"generator": "openai", "model": "m", "base_url": server.url, "api_key_env": "SERVER_KEY", "concurrency": 4, **more}
    config = {
        "models": {"served": model},
        "tasks": {"test": ["mini_test", "long_test"]},
        "task_files": ["mini_tasks.py"],
        "judges": {"strict": {"kind": "lexical", "metric": "exact_match"}},
        "scorers": ["strict"],
    }
    return Workspace.create(folder, config)


def rows(run: Workspace, task: str = "long_test") -> pd.DataFrame:
    return pd.read_parquet(run.folder / f"results/candidates/served/{task}.parquet")


def test_a_killed_job_asks_no_question_twice_beyond_a_shard(tmp_path: Path, server: ChatServer) -> None:
    run = workspace(tmp_path / "run", server)
    run.kill_when(lambda: len(run.found("results/.work/store/served/[0-9a-f]*.parquet")) > 1, TARGET)
    assert not run.found("results/candidates/served/*")
    resumed(run, TARGET)
    assert QUESTIONS <= len(server.seen) <= QUESTIONS + SHARD_ROWS
    answers = rows(run)
    assert (answers["status"] == "ok").all() and answers["sample_id"].nunique() == QUESTIONS
    assert (answers["candidate"] == "answer to " + answers["question"]).all()


def test_a_server_that_refuses_and_dies(tmp_path: Path, server: ChatServer) -> None:
    run = workspace(tmp_path / "run", server, retries=0)
    run.done("scores")
    assert (rows(run)["status"] == "ok").all()
    # Another address, other limits: nothing to do.
    config = run.config
    config["models"]["served"] |= {"base_url": "http://127.0.0.1:9/v1", "concurrency": 2, "timeout": 5}
    run.configure(config)
    assert run.run("scores").idle
    # Nobody is at that address: the job ends, and every row is there.
    config["models"]["served"]["attempts"] = 2
    run.configure(config)
    run.done("scores")
    for task, count in (("mini_test", 30), ("long_test", QUESTIONS)):
        frame = rows(run, task)
        assert frame["status"].tolist() == ["ok", "error"] * count
    # The server is back: only what failed is asked.
    config["models"]["served"]["base_url"] = server.url
    run.configure(config)
    server.seen.clear()
    run.done("scores", "--forcerun", "generate_candidates_openai")
    assert len(server.seen) == QUESTIONS + 30
    assert (rows(run)["status"] == "ok").all()
    written = [path for path in run.folder.rglob("*") if path.is_file()]
    assert len(written) > 20
    assert not [path for path in written if KEY.encode() in path.read_bytes()]


def test_a_wrong_key_ends_the_run_with_one_line(tmp_path: Path, server: ChatServer) -> None:
    server.refuse = "401"
    run = workspace(tmp_path / "run", server)
    result = run.run(TARGET)
    assert result.code != 0
    line = f"error: models.served: {server.url} rejects the key (401); check the environment variable SERVER_KEY"
    assert result.text.count(line) == 1
    assert KEY not in result.text
    assert len(server.seen) < 20
