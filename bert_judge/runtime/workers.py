"""Worker processes that work ahead of their caller: results come in order, and only a few items are under way at a time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from typing import Any

from bert_judge.runtime.errors import InputError

# Workers end after so long without work, also those of a caller that was killed, and start again with the next item. loky warns if
# an item comes at that very moment, so this is longer than an encoder takes for a batch.
IDLE_SECONDS = 300


def possible_processes(wanted: int) -> int:
    """Return how many processes can start: 1 in a daemon (a worker of `multiprocessing.Pool`) or without semaphores."""
    import joblib

    # joblib warns of a daemon.
    processes: int = 1 if multiprocessing.current_process().daemon else joblib.effective_n_jobs(wanted)
    return processes


class Workers:
    """Processes that call methods of one object, of which each gets a copy when it starts.

    Attributes:
        target: the object; it can be pickled.
        processes: their number.
    """

    def __init__(self, target: object, processes: int) -> None:
        # Its processes start without running the caller's script again.
        from joblib.externals.loky import ProcessPoolExecutor

        self.target = target
        self.processes = processes
        self._has_lost_process, self._caller_pid = False, os.getpid()
        self._executor = ProcessPoolExecutor(
            processes,
            timeout=IDLE_SECONDS,
            initializer=_set_target,
            initargs=(target,),
            env={"OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"},
        )
        # At the end of the interpreter, before the modules that the executor needs are gone.
        weakref.finalize(self, self._executor.shutdown, kill_workers=True)

    @property
    def is_usable(self) -> bool:
        """Whether methods can be called: no process was killed, and this is not a fork of the caller."""
        return not self._has_lost_process and self._caller_pid == os.getpid()

    def map(self, method: str, items: Iterable[tuple[Any, ...]], ahead: int) -> Iterator[Any]:
        """Call a method with each item's values as arguments; yield the results in order. Several calls may run at once.

        Args:
            ahead: items that are taken and computed before the caller asks for their results.

        Raises:
            InputError: a process was killed. Exceptions of the method are raised too.
        """
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        under_way: deque[Future[Any]] = deque()
        try:
            for item in items:
                under_way.append(self._executor.submit(_call, method, item))
                if len(under_way) > ahead:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        except TerminatedWorkerError as error:
            self._has_lost_process = True
            raise InputError(
                "a worker process ended; if no error is printed above, it was killed, perhaps because memory ran out: each process "
                "needs 0.1 to 0.2 GB, and OMP_NUM_THREADS sets their number"
            ) from error
        finally:
            for future in under_way:
                future.cancel()


# --- in a worker process ---

_target: object = None


def _set_target(target: object) -> None:
    global _target
    _target = target
    # The caller decides when to stop, and finishes what is under way.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


def _call(method: str, arguments: tuple[Any, ...]) -> Any:
    return getattr(_target, method)(*arguments)
