"""The server as a process: clients that go away, a full queue, SIGTERM, addresses that it may not have."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx2
import pytest
from helpers.serve_clients import JSON, Exact, guarded, row, running, until
from typer.testing import CliRunner

from bert_judge.cli import app
from bert_judge.runtime.errors import InputError
from bert_judge.serve import judge_pool
from bert_judge.serve.limits import Limits, Metrics
from bert_judge.serve.server import LimitedLog, bind_socket

TESTS = Path(__file__).parents[2]
FIVE = json.dumps({"rows": [row()] * 5}).encode()


def sent(address: str, body: object) -> socket.socket:
    """A connection on which a request was sent and no answer was read."""
    host, port = address.removeprefix("http://").split(":")
    content = json.dumps(body).encode()
    connection = socket.create_connection((host, int(port)))
    head = f"POST /v1/judge HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    connection.sendall(head.encode() + content)
    return connection


def figure(address: str, name: str) -> float:
    found = re.search(rf"^{re.escape(name)} (\S+)$", httpx2.get(f"{address}/metrics").text, re.M)
    return float(found[1]) if found else 0.0


WAITING, ROWS = 'bert_judge_waiting_rows{judge="exact"}', 'bert_judge_rows_total{judge="exact"}'
GONE = 'bert_judge_requests_total{route="/v1/judge",status="499"}'


def test_clients_that_vanish_take_their_work_along_and_nobody_elses() -> None:
    judge, limits = Exact(), Limits(rate=0)
    judge.open.clear()
    with running(*guarded(judge, limits), limits) as (address, _), ThreadPoolExecutor(1) as pool:
        # It is in the judge's hands already; what comes after it waits.
        first = sent(address, row())
        until(judge.begun.is_set)
        vanishing = [sent(address, {"rows": [row()] * 100}) for _ in range(5)]
        until(lambda: figure(address, WAITING) == 500)
        staying = pool.submit(httpx2.post, f"{address}/v1/judge", json={"rows": [row(), row("Lyon")]}, timeout=60)
        until(lambda: figure(address, WAITING) == 502)
        for connection in vanishing:
            connection.close()
        until(lambda: figure(address, WAITING) == 2)
        judge.open.set()
        assert [label["verdict"] for label in staying.result().json()["labels"]] == ["correct", "incorrect"]
        first.close()
        until(lambda: figure(address, GONE) == 5)
        assert figure(address, ROWS) == 3
        assert figure(address, "bert_judge_held_bytes") == 0


def test_a_full_queue_says_when_to_come_back_and_recovers() -> None:
    judge, limits = Exact(), Limits(rate=0, queue_rows=10)
    judge.open.clear()
    with running(*guarded(judge, limits), limits) as (address, _), ThreadPoolExecutor(2) as pool:
        held = pool.submit(httpx2.post, f"{address}/v1/judge", json=row(), timeout=60)
        until(judge.begun.is_set)
        queued = pool.submit(httpx2.post, f"{address}/v1/judge", json={"rows": [row()] * 8}, timeout=60)
        until(lambda: figure(address, WAITING) == 8)
        refused = httpx2.post(f"{address}/v1/judge", json={"rows": [row()] * 3})
        assert (refused.status_code, refused.headers["retry-after"].isdigit()) == (503, True)
        assert "the queue is full (8 rows)" in refused.json()["error"]
        judge.open.set()
        assert held.result().status_code == queued.result().status_code == 200
        # More than the queue holds, where nothing waits.
        assert httpx2.post(f"{address}/v1/judge", json={"rows": [row()] * 11}, timeout=60).status_code == 200


def test_requests_of_one_row_do_not_wait_for_those_of_many() -> None:
    judge, limits = Exact(), Limits(rate=0, round_characters=5000)
    judge.open.clear()
    with running(*guarded(judge, limits), limits) as (address, _), ThreadPoolExecutor(3) as pool:
        held = pool.submit(httpx2.post, f"{address}/v1/judge", json=row(), timeout=60)
        until(judge.begun.is_set)
        many = pool.submit(httpx2.post, f"{address}/v1/judge", json={"rows": [row()] * 900}, timeout=60)
        until(lambda: figure(address, WAITING) == 900)
        one = pool.submit(httpx2.post, f"{address}/v1/judge", json=row("Lyon"), timeout=60)
        until(lambda: figure(address, WAITING) == 901)
        judge.open.set()
        assert {held.result().status_code, one.result().status_code} == {200}
        assert len(many.result().json()["labels"]) == 900
    assert "Lyon" in judge.rounds[1] and len(judge.rounds) > 5
    assert max(map(len, judge.rounds)) < 100
    assert sum(map(len, judge.rounds)) == 902


@contextmanager
def process(gate: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The slow server in a process of its own, and its address."""
    paths = [*map(str, (TESTS, TESTS.parent)), os.environ.get("PYTHONPATH", "")]
    started = subprocess.Popen(
        [sys.executable, "-m", "helpers.serve_slow", str(gate)],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
    )
    try:
        assert started.stderr is not None
        line = next(line for line in started.stderr if "http://" in line)
        yield started, re.findall(r"http://[\d.]+:\d+", line)[0]
    finally:
        started.kill()
        started.communicate()


def test_sigterm_finishes_what_was_taken_and_exits_well(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with process(gate) as (server, address), ThreadPoolExecutor(20) as pool:
        until(lambda: answers(address))
        asked = [pool.submit(httpx2.post, f"{address}/v1/judge", content=FIVE, headers=JSON, timeout=60) for _ in range(20)]
        until(lambda: figure(address, "bert_judge_held_bytes") == 20 * len(FIVE))
        server.send_signal(signal.SIGTERM)
        until(lambda: not answers(address))
        assert server.poll() is None
        gate.touch()
        found = [request.result() for request in asked]
        assert [answer.status_code for answer in found] == [200] * 20
        assert all(len(answer.json()["labels"]) == 5 for answer in found)
        assert server.wait(60) == 0


def test_a_stopping_server_tells_clients_to_close_their_connections() -> None:
    limits = Limits(rate=0)
    guard, pool = guarded(Exact(), limits)
    with running(guard, pool, limits) as (address, server), httpx2.Client(base_url=address) as http:
        assert "connection" not in http.post("/v1/judge", json=row()).headers
        server.handle_exit(signal.SIGTERM, None)
        assert http.post("/v1/judge", json=row()).headers["connection"] == "close"
        # On a new connection, while the port is open.
        assert http.post("/v1/judge", json=row()).headers["connection"] == "close"


def opened(address: str, content: bytes) -> socket.socket:
    host, port = address.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=60)
    connection.sendall(content)
    return connection


def test_silent_clients_are_disconnected_and_shut_nobody_out() -> None:
    limits = Limits(rate=0, header_seconds=1.0)
    with running(*guarded(Exact(), limits), limits, connections=20) as (address, _):
        # Half of all connections may come from one address.
        slow = [opened(address, content) for content in (b"", b"GET / HTTP/1.1\r\nHost: 1") * 5]
        with opened(address, b"") as refused:
            answer = refused.recv(10_000)
        assert answer.startswith(b"HTTP/1.1 503 ") and b"10 connections from one address are the limit" in answer
        for connection in slow:
            # Closed by the server, with or without a reset.
            with suppress(ConnectionResetError):
                assert connection.recv(100) == b""
            connection.close()
        until(lambda: answers(address))
        # A connection with a request in progress is not silent.
        with httpx2.Client(base_url=address) as http:
            assert {http.post("/v1/judge", json=row()).status_code for _ in range(30)} == {200}


# Prints what a server says that may open few files, and how many it may.
FEW_FILES = """
import resource, sys
from bert_judge.serve.server import raise_file_limit
resource.setrlimit(resource.RLIMIT_NOFILE, (min(64, int(sys.argv[1])), int(sys.argv[1])))
print(*raise_file_limit(), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.parametrize(
    ("files", "output"), [(64, None), (128, "64 32 128 128"), (256, "192 32 256 256"), (2048, "1792 128 2048 2048")]
)
def test_few_open_files_leave_room_for_clients(files: int, output: str | None) -> None:
    result = subprocess.run([sys.executable, "-c", FEW_FILES, str(files)], capture_output=True, text=True, check=False)
    if output is None:
        assert "only 64 open files are allowed, and a server needs 128; raise the limit with ulimit -n" in result.stderr
    else:
        assert result.stdout.strip() == output


def test_a_message_about_clients_is_logged_once_in_a_while(caplog: pytest.LogCaptureFixture) -> None:
    log = logging.getLogger("test.limited")
    limited = LimitedLog(seconds=0.2)
    log.addFilter(limited)
    for _ in range(1000):
        log.warning("refused %s", "x")
    log.warning("another")
    assert caplog.messages == ["refused x", "another"]
    time.sleep(0.2)
    log.warning("refused %s", "y")
    assert caplog.messages[-1] == "refused y (999 more like this)"


def answers(address: str) -> bool:
    """Whether a new client gets through."""
    try:
        return httpx2.get(f"{address}/health").status_code == 200
    except httpx2.TransportError:
        return False


def test_it_does_not_start_beyond_this_machine_without_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BERT_JUDGE_TOKEN", raising=False)
    result = CliRunner().invoke(app, ["serve", "--host", "0.0.0.0", "--port", "0", "-j", "contains"])
    assert result.exit_code == 1
    assert "error: --host 0.0.0.0: reachable from other machines, which requires a token" in result.output


def test_a_port_that_another_program_has_is_told() -> None:
    taken = bind_socket("127.0.0.1", 0)
    taken.listen()
    port = taken.getsockname()[1]
    with pytest.raises(InputError, match=f"127.0.0.1:{port}: cannot bind"):
        bind_socket("127.0.0.1", port)
    taken.close()
    with pytest.raises(InputError, match="choose another --host"):
        bind_socket("256.0.0.1", 0)


CONFIG = """
models: {ada: {generator: simulated, p_correct: 0.5, style: terse}}
tasks: {test: [facts_test]}
judges:
  contains: {kind: lexical, metric: contains}
  truth: {kind: imported}
  later: {kind: bert, checkpoint: some/folder}
  pairs: {kind: pairwise, checkpoint: some/folder}
scorers: [contains]
"""


def test_a_file_of_judges_only_is_served(tmp_path: Path) -> None:
    file = tmp_path / "judges.yaml"
    file.write_text("judges:\n  mine: {kind: bert, checkpoint: general}\n  rule: {kind: lexical, metric: contains}\n")
    pool = judge_pool.select_judges([], [file], tmp_path, Limits(), metrics=Metrics())
    assert list(pool.pointwise) == ["mine", "rule"]
    pool.load()
    pool.close()


def test_the_policy_of_a_server_is_that_of_its_judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policies: list[str] = []

    def load(reference: judge_pool.JudgeReference) -> Exact:
        policies.append(reference.context.settings["policy"])
        return Exact()

    monkeypatch.setattr(judge_pool, "_load", load)
    for policy in (None, "lenient"):
        pool = judge_pool.select_judges(["general"], [], tmp_path, Limits(), metrics=Metrics(), policy=policy)
        pool.load()
        pool.close()
    assert policies == ["strict", "lenient"]
    with pytest.raises(InputError, match="--policy lenient: the judge exact_match cannot tell partly correct answers"):
        judge_pool.select_judges([], [], tmp_path, Limits(), metrics=Metrics(), policy="lenient")


def test_a_file_with_nothing_but_a_judge_of_pairs_is_served(tmp_path: Path) -> None:
    file = tmp_path / "judges.yaml"
    file.write_text("judges:\n  longer: {kind: pairwise, rule: longer}\n")
    pool = judge_pool.select_judges([], [file], tmp_path, Limits(), metrics=Metrics())
    assert (list(pool.pointwise), list(pool.pairwise)) == ([], ["longer"])


def test_the_judges_of_a_configuration_are_those_that_are_there(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(CONFIG)
    pool = judge_pool.select_judges([], [file], tmp_path, Limits(), metrics=Metrics())
    assert list(pool.pointwise) == ["contains"]
    assert list(pool.pairwise) == []
    assert "judge-pairs.json: no such file" in caplog.text
    assert "not served: --judge truth: is of kind imported" in caplog.text
    assert "judge-later.json: no such file; make it with bert-judge run" in caplog.text
    for name, line in (
        ("later", "make it with bert-judge run"),
        ("truth", "only judges the answers of a run"),
        ("nobody", "choose one of: contains, truth, later, pairs"),
    ):
        with pytest.raises(InputError, match=line):
            judge_pool.select_judges([name], [file], tmp_path, Limits(), metrics=Metrics())
    pool.close()


def test_without_names_trained_judges_come_before_rules(tmp_path: Path) -> None:
    (tmp_path / "judges" / "mine").mkdir(parents=True)
    (tmp_path / "judges" / "mine" / "judge.json").write_text("{}")
    (tmp_path / "judges" / "pairs").mkdir()
    (tmp_path / "judges" / "pairs" / "judge.json").write_text('{"pairwise": {"compare": "symmetric"}}')
    pool = judge_pool.select_judges([], [], tmp_path, Limits(), metrics=Metrics())
    assert list(pool.pointwise)[:2] == ["general", "mine"]
    assert list(pool.pairwise) == ["pairs"]
    assert len(set(pool.pointwise)) == len(judge_pool.judge_loading.RULES) + 2
    with pytest.raises(InputError):
        pool.load()
    pool.close()
    with pytest.raises(InputError, match="two judges are called 'mine'"):
        judge_pool.select_judges(["mine", "elsewhere/mine"], [], tmp_path, Limits(), metrics=Metrics())
