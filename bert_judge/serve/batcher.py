"""A judge behind a queue: rows of all requests are gathered into rounds, which one thread judges one after the other.

While a round is judged, requests pile up for the next, so batches fill by themselves as the load grows. Requests take turns: one
of a single row is in the next round, however many rows others have sent before. The judge sorts a round by length and cuts it
into batches as it does with a file, so that a verdict is the same as there.

All methods but `load` and `close` belong to one event loop; the judge belongs to the thread.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from bert_judge.runtime.errors import InputError
from bert_judge.serve.limits import Limits, Refused

Item = TypeVar("Item")
Answer = TypeVar("Answer")
log = logging.getLogger(__name__)

# Rows of a request in a round before the next request has its turn.
TURN_ROWS = 32
LONGEST_WAIT = 60
# How much the newest round says of the speed.
NEWEST = 0.3


class JudgeFailed(Exception):
    """A judge broke on some rows; the log says how."""


class Listener(Protocol):
    """Hears what a judge does, for the metrics."""

    def judged(self, judge: str, rows: int, seconds: float) -> None: ...

    def waiting(self, judge: str, rows: int) -> None: ...


@dataclass(eq=False)
class _Job(Generic[Item, Answer]):
    """The rows of one request. `taken` of them are in rounds; `answers` come back in their order."""

    items: Sequence[Item]
    costs: Sequence[int]
    future: asyncio.Future[list[Answer]]
    taken: int = 0
    answers: list[Answer] = field(default_factory=list)


@dataclass
class _Part(Generic[Item, Answer]):
    """Some neighbouring rows of a request, in a round."""

    job: _Job[Item, Answer]
    items: Sequence[Item]


class Batcher(Generic[Item, Answer]):
    """Judges rows of many requests in common rounds.

    Args:
        name: of the judge.
        load: called once in the judge's thread; gives the function that judges: one answer per item, in their order.
        cost: characters of an item.
        listener: for the metrics.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], Callable[[Sequence[Item]], Sequence[Answer]]],
        cost: Callable[[Item], int],
        limits: Limits,
        listener: Listener,
    ) -> None:
        self.name = name
        self.limits = limits
        self._load, self._cost, self._listener = load, cost, listener
        self._worker = ThreadPoolExecutor(1, thread_name_prefix=f"judge-{name}")
        self._jobs: deque[_Job[Item, Answer]] = deque()
        self._open: set[asyncio.Future[list[Answer]]] = set()
        self._rows = self._characters = 0
        # Characters a second, of the last rounds.
        self._speed = 0.0
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def load(self) -> None:
        """Load the judge, in its thread.

        Raises:
            InputError: it cannot be loaded.
        """
        self._judge = self._worker.submit(self._load).result()

    def start(self) -> None:
        """Judge what comes, until `stop`."""
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(self._run(), name=f"rounds of {self.name}")

    async def stop(self) -> None:
        """Judge nothing more; whoever still waits is refused."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._jobs.clear()
        for future in self._open:
            if not future.done():
                future.set_exception(Refused(503, "the server is stopping", 1))

    def close(self) -> None:
        """Wait for the round in hand, and end the thread."""
        self._worker.shutdown()

    @property
    def alive(self) -> bool:
        """Whether it takes rows."""
        return self._task is not None and not self._task.done()

    @property
    def busy(self) -> bool:
        """Whether anybody waits for an answer."""
        return bool(self._open)

    async def submit(self, items: Sequence[Item]) -> list[Answer]:
        """One answer per item, in their order. A call that is cancelled leaves no work behind but that of the round in hand.

        Raises:
            Refused: the queue is full.
            InputError: the judge refuses the items.
            JudgeFailed: it broke on them.
        """
        if not items:
            return []
        costs = [self._cost(item) for item in items]
        self._check_room(len(items), sum(costs))
        job: _Job[Item, Answer] = _Job(items, costs, asyncio.get_running_loop().create_future())
        self._jobs.append(job)
        self._open.add(job.future)
        self._count(len(items), sum(costs))
        self._wake.set()
        try:
            return await job.future
        finally:
            self._open.discard(job.future)
            if job.taken < len(items):
                self._count(job.taken - len(items), -sum(costs[job.taken :]))
                job.taken = len(items)

    async def ask(self, items: Sequence[Item]) -> list[Answer]:
        """`submit` from any event loop, while the batcher's own is running."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self.submit(items), self._loop))

    def _check_room(self, rows: int, characters: int) -> None:
        # A request that fits into an empty queue is never refused for good.
        full = self._rows + rows > self.limits.queue_rows or self._characters + characters > self.limits.queue_characters
        if full and self._rows:
            seconds = math.ceil(self._characters / self._speed) if self._speed else 1
            raise Refused(
                503,
                f"{self.name}: {self._rows:,} rows are waiting, and there is no room for more; try again later",
                min(max(seconds, 1), LONGEST_WAIT),
            )

    def _count(self, rows: int, characters: int) -> None:
        self._rows += rows
        self._characters += characters
        self._listener.waiting(self.name, self._rows)

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            # Rows that come together are judged together.
            await asyncio.sleep(self.limits.linger_seconds)
            while parts := self._round():
                await self._judge_round(parts)
            self._wake.clear()

    def _round(self) -> list[_Part[Item, Answer]]:
        """The next rows of each request in turn, up to the characters of a round, and at least one."""
        parts: list[_Part[Item, Answer]] = []
        room = self.limits.round_characters
        while self._jobs and (room > 0 or not parts):
            job = self._jobs.popleft()
            start = job.taken
            while job.taken < min(len(job.items), start + TURN_ROWS) and (room > 0 or (not parts and job.taken == start)):
                room -= job.costs[job.taken]
                job.taken += 1
            if job.taken > start:
                parts.append(_Part(job, job.items[start : job.taken]))
                self._count(start - job.taken, -sum(job.costs[start : job.taken]))
            if job.taken < len(job.items):
                self._jobs.append(job)
        return parts

    async def _judge_round(self, parts: Sequence[_Part[Item, Answer]]) -> None:
        answers = await self._judged(parts)
        if isinstance(answers, Exception) and len(parts) > 1:
            # One request's rows must not fail the others'.
            for part in parts:
                self._hand_back([part], await self._judged([part]))
        else:
            self._hand_back(parts, answers)

    async def _judged(self, parts: Sequence[_Part[Item, Answer]]) -> list[Answer] | Exception:
        """The answers of a round, or what the judge raised."""
        items = [item for part in parts for item in part.items]
        started = time.monotonic()
        loop, done = asyncio.get_running_loop(), asyncio.Event()
        future = self._worker.submit(self._judge, items)
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(done.set))
        await done.wait()
        seconds = time.monotonic() - started
        error = future.exception()
        if isinstance(error, InputError | Refused):
            return error
        if error is not None:
            log.error("%s: a round of %d rows failed", self.name, len(items), exc_info=error)
            return JudgeFailed(self.name)
        answers = list(future.result())
        if len(answers) != len(items):
            log.error("%s: %d answers for %d rows, a fault of the judge", self.name, len(answers), len(items))
            return JudgeFailed(self.name)
        self._listener.judged(self.name, len(items), seconds)
        newest = sum(map(self._cost, items)) / max(seconds, 1e-6)
        self._speed += (newest - self._speed) * (NEWEST if self._speed else 1)
        return answers

    def _hand_back(self, parts: Sequence[_Part[Item, Answer]], answers: list[Answer] | Exception) -> None:
        at = 0
        for part in parts:
            job, start, at = part.job, at, at + len(part.items)
            # Nobody waits any more, or another part of the request has failed.
            if job.future.done():
                continue
            if isinstance(answers, Exception):
                job.future.set_exception(answers)
                continue
            job.answers += answers[start:at]
            if len(job.answers) == len(job.items):
                job.future.set_result(job.answers)
