"""A served app for tests: judges that are quick, slow or broken on purpose, and clients of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from starlette.testclient import TestClient

from bert_judge.judges.protocol import Label, OrderVerdict, Pair, Preference, Row, combine_orders, decided
from bert_judge.runtime.errors import InputError
from bert_judge.serve.app import make_app
from bert_judge.serve.chat import Template
from bert_judge.serve.guard import Guard
from bert_judge.serve.judge_pool import JudgePool, pairwise, pointwise
from bert_judge.serve.limits import Limits, Metrics
from bert_judge.serve.server import Server, bind_socket

JSON = {"content-type": "application/json"}


class Exact:
    """Right is what is the same; remembers which candidates came at once. A candidate may ask for trouble."""

    def __init__(self) -> None:
        self.revisions: dict[str, str] = {}
        self.rounds: list[list[str]] = []
        # A first round has come; rounds wait for the other.
        self.begun, self.open = threading.Event(), threading.Event()
        self.open.set()

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        self.begun.set()
        self.open.wait(60)
        self.rounds.append([row.candidate for row in rows])
        for row in rows:
            if row.candidate == "refuse":
                raise InputError("this row is refused")
            if row.candidate == "break":
                raise ZeroDivisionError("a fault of the judge")
        return [decided(float(row.candidate in row.references)) for row in rows]


class Longer:
    """Prefers the longer answer; where one asks for it, the one that is shown first."""

    def __init__(self) -> None:
        self.revisions: dict[str, str] = {}

    def compare(self, pairs: Sequence[Pair]) -> list[Preference]:
        return [combine_orders(self._seen(pair), self._seen(pair.swapped).swapped) for pair in pairs]

    def _seen(self, pair: Pair) -> OrderVerdict:
        longer = len(pair.answer_a) - len(pair.answer_b)
        if "first" in (pair.answer_a, pair.answer_b):
            longer = 1
        return OrderVerdict("A", 1.0) if longer > 0 else OrderVerdict("B", 0.0) if longer < 0 else OrderVerdict("tie", 0.5)


class Short(Exact):
    """Forgets a row."""

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        return super().judge(rows)[1:]


def guarded(
    judge: Exact,
    limits: Limits,
    host: str = "127.0.0.1",
    token: str | None = None,
    row_by_row: bool = False,
    aliases: Sequence[str] = (),
    templates: Mapping[str, Template] | None = None,
) -> tuple[Guard, JudgePool]:
    metrics = Metrics()
    pool = JudgePool(
        {"exact": pointwise("exact", lambda: judge, limits, metrics, row_by_row=row_by_row)},
        {"longer": pairwise("longer", Longer, limits, metrics)},
        aliases,
    )
    pool.load()
    return Guard(make_app(pool, limits, metrics, templates), limits, host, token, metrics=metrics), pool


@contextmanager
def client(
    judge: Exact | None = None, limits: Limits | None = None, host: str = "127.0.0.1", token: str | None = None
) -> Iterator[TestClient]:
    app, pool = guarded(judge or Exact(), limits or Limits(rate=0), host, token)
    with TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False) as made:
        yield made
    pool.close()


@contextmanager
def running(guard: Guard, pool: JudgePool, limits: Limits, connections: int = 512) -> Iterator[tuple[str, Server]]:
    """A real server on a port of this machine: its address, and itself."""
    sock = bind_socket("127.0.0.1", 0)
    server = Server(guard, limits, connections, backlog=128)
    thread = threading.Thread(target=server.run, args=([sock],))
    thread.start()
    until(lambda: server.started)
    try:
        yield f"http://127.0.0.1:{sock.getsockname()[1]}", server
    finally:
        server.should_exit = True
        thread.join(60)
        pool.close()
    assert not thread.is_alive()


def until(what: Callable[[], bool]) -> None:
    """Wait until something is so; a minute at most."""
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end, "it never came to be"
        time.sleep(0.02)


def row(candidate: str = "Paris", references: str | list[str] = "Paris") -> dict[str, object]:
    return {"question": "Capital of France?", "references": references, "candidate": candidate}
