"""Dynamic batching: rows of concurrent requests are combined into rounds, which one thread per judge processes in order.

While a round is processed, requests queue up for the next, so rounds grow with the load. Clients are scheduled round-robin, and
so are the requests of a client, so a single row is in the next round however many requests other clients send. The judge sorts a
round by length and splits it into batches exactly as for a file, so verdicts are identical. A row of some judges may take a second
and more; for them a round is one row.

All methods except `load` and `close` must run in one event loop; the judge runs in its thread.
"""

import asyncio
import logging
import math
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from bert_judge.runtime.errors import InputError
from bert_judge.serve.limits import Limits, Metrics, RequestRejected

Item = TypeVar("Item")
Answer = TypeVar("Answer")
log = logging.getLogger(__name__)

# Rows of a request per round-robin turn.
TURN_ROWS = 32
MAX_RETRY_SECONDS = 60
# Weight of the latest round in the moving average of the speed.
SPEED_WEIGHT = 0.3


class JudgeFailed(Exception):
    """A judge raised an unexpected error, which is logged."""


@dataclass(eq=False)
class _Job(Generic[Item, Answer]):
    """Rows of one request; `num_scheduled` of them are in rounds, `answers` are in their order."""

    items: Sequence[Item]
    costs: Sequence[int]
    future: asyncio.Future[list[Answer]]
    num_scheduled: int = 0
    answers: list[Answer] = field(default_factory=list)


# Consecutive rows of a request in a round.
_Slice = tuple[_Job[Item, Answer], Sequence[Item]]


class Batcher(Generic[Item, Answer]):
    """Judge behind a queue that combines rows of several requests.

    Args:
        load: called once in the judge's thread; returns the function that judges, with one answer per item, in order.
        cost: returns the characters of an item.
        row_by_row: the judge may take a second and more for a row, and gains nothing from several together.
    """

    def __init__(
        self,
        name: str,
        load: Callable[[], Callable[[Sequence[Item]], Sequence[Answer]]],
        cost: Callable[[Item], int],
        limits: Limits,
        *,
        metrics: Metrics,
        row_by_row: bool = False,
    ) -> None:
        self.name = name
        self.limits = limits
        self._round_characters = 0 if row_by_row else limits.round_characters
        self._load, self._cost, self._metrics = load, cost, metrics
        self._worker = ThreadPoolExecutor(1, thread_name_prefix=f"judge-{name}")
        # Client → its requests; the next client, and the next request of each, come first.
        self._jobs: OrderedDict[str, deque[_Job[Item, Answer]]] = OrderedDict()
        self._open: set[asyncio.Future[list[Answer]]] = set()
        self._rows = self._characters = 0
        # Moving average of characters per second.
        self._speed = 0.0
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def load(self) -> None:
        """Load the judge in its thread. Raises InputError: it cannot be loaded."""
        self._judge = self._worker.submit(self._load).result()

    def start(self) -> None:
        """Start processing, until `stop`."""
        self._task = asyncio.create_task(self._run(), name=f"rounds of {self.name}")

    async def stop(self) -> None:
        """Stop processing and reject waiting requests."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._jobs.clear()
        for future in self._open:
            if not future.done():
                future.set_exception(RequestRejected(503, "the server is stopping", 1))

    def close(self) -> None:
        """Wait for the current round and stop the thread."""
        self._worker.shutdown()

    @property
    def alive(self) -> bool:
        return self._task is not None and not self._task.done()

    async def submit(self, items: Sequence[Item], client: str = "") -> list[Answer]:
        """Return one answer per item, in order. Cancelling removes all rows that are not in the current round.

        Args:
            client: address of the client; clients share the judge's time.

        Raises:
            RequestRejected: the queue is full.
            InputError: the judge rejects the items.
            JudgeFailed: it raised another error.
        """
        if not items:
            return []
        costs = [self._cost(item) for item in items]
        self._check_capacity(len(items), sum(costs), client)
        job: _Job[Item, Answer] = _Job(items, costs, asyncio.get_running_loop().create_future())
        self._jobs.setdefault(client, deque()).append(job)
        self._open.add(job.future)
        self._update_queue(len(items), sum(costs))
        self._wake.set()
        try:
            return await job.future
        finally:
            self._open.discard(job.future)
            if job.num_scheduled < len(items):
                self._update_queue(job.num_scheduled - len(items), -sum(costs[job.num_scheduled :]))
                job.num_scheduled = len(items)

    def _check_capacity(self, rows: int, characters: int, client: str) -> None:
        full = self._rows + rows > self.limits.queue_rows or self._characters + characters > self.limits.queue_characters
        # A client without a request in the queue may add one, so that others cannot shut it out.
        if full and client in self._jobs:
            seconds = math.ceil(self._characters / self._speed) if self._speed else 1
            raise RequestRejected(
                503,
                f"{self.name}: the queue is full ({self._rows:,} rows); try again later",
                min(max(seconds, 1), MAX_RETRY_SECONDS),
            )

    def _update_queue(self, rows: int, characters: int) -> None:
        self._rows += rows
        self._characters += characters
        self._metrics.waiting(self.name, self._rows)

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            # Wait for rows that arrive at the same time.
            await asyncio.sleep(self.limits.linger_seconds)
            while slices := self._next_round():
                await self._judge_round(slices)
            self._wake.clear()

    def _next_round(self) -> list[_Slice[Item, Answer]]:
        """Return the next rows of each client and request in turn, up to the character limit, and at least one."""
        slices: list[_Slice[Item, Answer]] = []
        remaining = self._round_characters
        while self._jobs and (remaining > 0 or not slices):
            client, jobs = next(iter(self._jobs.items()))
            job = jobs.popleft()
            start = job.num_scheduled
            while job.num_scheduled < min(len(job.items), start + TURN_ROWS) and (
                remaining > 0 or (not slices and job.num_scheduled == start)
            ):
                remaining -= job.costs[job.num_scheduled]
                job.num_scheduled += 1
            if job.num_scheduled > start:
                slices.append((job, job.items[start : job.num_scheduled]))
                self._update_queue(start - job.num_scheduled, -sum(job.costs[start : job.num_scheduled]))
            if job.num_scheduled < len(job.items):
                jobs.append(job)
            if jobs:
                self._jobs.move_to_end(client)
            else:
                del self._jobs[client]
        return slices

    async def _judge_round(self, slices: Sequence[_Slice[Item, Answer]]) -> None:
        answers = await self._run_judge(slices)
        if isinstance(answers, Exception) and len(slices) > 1:
            # Isolate the request that fails.
            for piece in slices:
                self._set_results([piece], await self._run_judge([piece]))
        else:
            self._set_results(slices, answers)

    async def _run_judge(self, slices: Sequence[_Slice[Item, Answer]]) -> list[Answer] | Exception:
        """Return the answers of a round, or the error of the judge."""
        items = [item for _, rows in slices for item in rows]
        started = time.monotonic()
        loop, finished = asyncio.get_running_loop(), asyncio.Event()
        future = self._worker.submit(self._judge, items)
        future.add_done_callback(lambda _: loop.call_soon_threadsafe(finished.set))
        await finished.wait()
        seconds = time.monotonic() - started
        error = future.exception()
        if isinstance(error, InputError | RequestRejected):
            return error
        if error is not None:
            log.error("%s: a round of %d rows failed", self.name, len(items), exc_info=error)
            return JudgeFailed(self.name)
        answers = list(future.result())
        if len(answers) != len(items):
            log.error("%s: the judge returned %d answers for %d rows", self.name, len(answers), len(items))
            return JudgeFailed(self.name)
        self._metrics.judged(self.name, len(items), seconds)
        speed = sum(map(self._cost, items)) / max(seconds, 1e-6)
        self._speed += (speed - self._speed) * (SPEED_WEIGHT if self._speed else 1)
        return answers

    def _set_results(self, slices: Sequence[_Slice[Item, Answer]], answers: list[Answer] | Exception) -> None:
        end = 0
        for job, rows in slices:
            start, end = end, end + len(rows)
            # Cancelled, or another slice of the request failed.
            if job.future.done():
                continue
            if isinstance(answers, Exception):
                job.future.set_exception(answers)
                continue
            job.answers += answers[start:end]
            if len(job.answers) == len(job.items):
                job.future.set_result(job.answers)
