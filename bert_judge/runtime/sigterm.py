"""SIGTERM, which a scheduler sends some time before it kills: long work notes it and ends at the next place where nothing is lost.

On SLURM it comes before pre-emption, at the time limit and with `scancel`; what is left until SIGKILL is the cluster's grace time.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

log = logging.getLogger(__name__)

# What a shell reports of a process that SIGTERM ended; schedulers take it for a failure, so that the job may run again.
STATUS = 128 + signal.SIGTERM

_noted: list[int] = []


class Stopped(Exception):
    """Work gave up in the middle of a shard, because it was asked to stop.

    Attributes:
        done: place in the shard → its result; what is not in it is done again.
    """

    def __init__(self, done: Mapping[int, Any]) -> None:
        self.done = dict(done)
        super().__init__(f"asked to stop with {len(self.done)} results")


@contextmanager
def sigterm_waits() -> Iterator[None]:
    """Let the work in hand look at `asked` instead of ending at once; a second SIGTERM acts as it did before.

    In threads other than the main one, which may not say what a signal does, nothing changes.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGTERM) or signal.SIG_DFL

    def note(number: int, _: object) -> None:
        _noted.append(number)
        signal.signal(number, before)

    signal.signal(signal.SIGTERM, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        _noted.clear()


def asked() -> bool:
    """Whether SIGTERM has come since the work began."""
    return bool(_noted)


def stop(done: str) -> NoReturn:
    """End the process after what is done is saved.

    Args:
        done: how far the work is, for the log: `512 of 1300 answers`.

    Raises:
        SystemExit: with `STATUS`.
    """
    log.warning("asked to stop after %s; the next run goes on from here", done)
    raise SystemExit(STATUS)
