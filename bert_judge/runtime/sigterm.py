"""Graceful shutdown on SIGTERM: long work checks `stop_requested` and ends at the next point where nothing is lost.

SLURM sends SIGTERM before pre-emption, at the time limit and on `scancel`; SIGKILL follows after the cluster's grace time.
"""

import logging
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

log = logging.getLogger(__name__)

# The status a shell reports for a process that SIGTERM ended. Schedulers treat it as a failure, so the job can be rerun.
EXIT_STATUS = 128 + signal.SIGTERM

_received: list[int] = []


class Stopped(Exception):
    """Work stopped in the middle of a shard because of SIGTERM.

    Attributes:
        results: position in the shard → its result; the next run computes the missing ones.
    """

    def __init__(self, results: Mapping[int, Any]) -> None:
        self.results = dict(results)
        super().__init__(f"stopped with {len(self.results)} results")


@contextmanager
def defer_sigterm() -> Iterator[None]:
    """Record SIGTERM for `stop_requested` instead of ending at once; a second SIGTERM has its original effect.

    No effect outside the main thread, where Python allows no signal handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    original = signal.getsignal(signal.SIGTERM) or signal.SIG_DFL

    def record(number: int, _: object) -> None:
        _received.append(number)
        signal.signal(number, original)

    signal.signal(signal.SIGTERM, record)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, original)
        _received.clear()


def stop_requested() -> bool:
    """Return whether SIGTERM arrived inside `defer_sigterm`."""
    return bool(_received)


def stop(progress: str) -> NoReturn:
    """End the process once all results are saved. Raises SystemExit: with `EXIT_STATUS`."""
    log.warning("stopped by SIGTERM after %s; the next run resumes from here", progress)
    raise SystemExit(EXIT_STATUS)
