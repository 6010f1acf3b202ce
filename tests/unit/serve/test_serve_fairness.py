"""One client cannot stop others: who waits for whom, in the order of the work."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from helpers.serve_clients import Exact, guarded, row

from bert_judge.judges.lexical import KIND
from bert_judge.labels.judge_loading import RULES
from bert_judge.serve import bodies
from bert_judge.serve.limits import Limits

Post = Callable[..., "asyncio.Task[httpx2.Response]"]


@asynccontextmanager
async def serving(judge: Exact, limits: Limits, row_by_row: bool = False) -> AsyncIterator[tuple[Post, httpx2.AsyncClient]]:
    """A function that posts rows from the address of a client, and a client that asks for other pages."""
    app, pool = guarded(judge, limits, row_by_row=row_by_row)
    for batcher in pool.all:
        batcher.start()

    def client(address: str) -> httpx2.AsyncClient:
        transport = httpx2.ASGITransport(app, client=(address, 50_000))
        return httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=60)

    async def post(address: str, rows: list[dict[str, Any]]) -> httpx2.Response:
        async with client(address) as http:
            return await http.post("/v1/judge", json={"rows": rows})

    async with client("127.0.3.1") as http:
        yield lambda address, rows: asyncio.create_task(post(address, rows)), http
    for batcher in pool.all:
        await batcher.stop()
    pool.close()


@pytest.mark.parametrize(("row_by_row", "round_characters", "rounds_before"), [(True, 65_536, 1), (False, 1000, 1)])
def test_a_row_waits_for_one_turn_of_each_other_client(row_by_row: bool, round_characters: int, rounds_before: int) -> None:
    """Whatever the number of their requests and rows."""
    judge = Exact()
    judge.open.clear()

    async def ask() -> None:
        limits = Limits(rate=0, round_characters=round_characters)
        async with serving(judge, limits, row_by_row) as (post, _):
            tasks = [post("127.0.2.1", [row("first")])]
            await asyncio.to_thread(judge.begun.wait, 60)
            tasks += [post("127.0.2.1", [row(f"attack {number}")] * 50) for number in range(20)]
            await asyncio.sleep(0.3)
            tasks.append(post("127.0.1.1", [row("honest")]))
            await asyncio.sleep(0.3)
            judge.open.set()
            assert [(await task).status_code for task in tasks] == [200] * 22

    asyncio.run(ask())
    [turn] = [number for number, candidates in enumerate(judge.rounds) if "honest" in candidates]
    assert turn - 1 <= rounds_before
    if row_by_row:
        assert set(map(len, judge.rounds)) == {1}


def test_rows_of_math_verify_are_judged_one_by_one() -> None:
    """Each may take a second, and the death of a worker."""
    by_rule = {name: KIND.judges_row_by_row({"metric": settings["metric"]}) for name, settings in RULES.items()}
    assert [name for name, one_by_one in by_rule.items() if one_by_one] == ["math_verify"]


@pytest.mark.parametrize("function", ["check_json", "to_item"])
def test_other_requests_are_answered_while_a_large_one_is_parsed_and_converted(
    function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parsing and conversion hold the thread until `/health` has answered, which it can only if they are not in its thread."""
    begun, answered = threading.Event(), threading.Event()
    owner = bodies if function == "check_json" else bodies.RowBody
    original, waits = getattr(owner, function), []

    def delayed(*arguments: Any) -> Any:
        begun.set()
        waits.append(answered.wait(20))
        return original(*arguments)

    monkeypatch.setattr(owner, function, delayed)

    async def ask() -> tuple[int, int]:
        async with serving(Exact(), Limits(rate=0)) as (post, http):
            task = post("127.0.2.1", [row()])
            await asyncio.to_thread(begun.wait, 60)
            health = await http.get("/health")
            answered.set()
            return health.status_code, (await task).status_code

    assert asyncio.run(ask()) == (200, 200)
    assert waits == [True]


def test_a_client_that_fills_the_queue_shuts_out_itself_only() -> None:
    judge = Exact()
    judge.open.clear()

    async def ask() -> list[int]:
        async with serving(judge, Limits(rate=0, queue_rows=5)) as (post, _):
            tasks = [post("127.0.2.1", [row("first")])]
            await asyncio.to_thread(judge.begun.wait, 60)
            tasks.append(post("127.0.2.1", [row("waits")] * 5))
            await asyncio.sleep(0.3)
            tasks += [post(address, [row("later")]) for address in ("127.0.2.1", "127.0.1.1")]
            await asyncio.sleep(0.3)
            judge.open.set()
            return [(await task).status_code for task in tasks]

    assert asyncio.run(ask()) == [200, 200, 503, 200]


def test_a_client_may_hold_half_of_the_memory_for_bodies() -> None:
    judge = Exact()
    judge.open.clear()

    async def ask() -> list[int]:
        async with serving(judge, Limits(rate=0, held_bytes=4000)) as (post, _):
            tasks = [post("127.0.2.1", [row("x" * 1500)])]
            await asyncio.to_thread(judge.begun.wait, 60)
            tasks += [post(address, [row("x" * 1500)]) for address in ("127.0.2.1", "127.0.1.1")]
            await asyncio.sleep(0.3)
            judge.open.set()
            return [(await task).status_code for task in tasks]

    assert asyncio.run(ask()) == [200, 503, 200]
