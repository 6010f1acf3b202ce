"""How a client treats a server that fails, limits or vanishes: back-off, pace, budget, and when to stop waiting."""

from __future__ import annotations

import random
import threading
import time

# Waiting times in seconds.
FIRST_WAIT, LONGEST_WAIT = 0.5, 60.0
PROBE_EVERY = 30.0


def waiting_time(tries: int, asked_for: str | None = None) -> float:
    """Seconds to wait after so many failed tries: what the server asked for (`Retry-After`), else doubled each time.

    Half of it is drawn at random, so that many clients that failed together do not come back together.
    """
    try:
        wait = float(asked_for) if asked_for else 0.0
    except ValueError:
        # The header may hold a date; the usual time does as well.
        wait = 0.0
    if wait > 0:
        return min(wait, LONGEST_WAIT)
    return min(FIRST_WAIT * 2**tries, LONGEST_WAIT) * random.uniform(0.5, 1.0)


class Pace:
    """Spaces requests evenly, so that no more than a number of them starts in a minute. None: no limit."""

    def __init__(self, per_minute: float | None) -> None:
        self.space = 60.0 / per_minute if per_minute else 0.0
        self.lock = threading.Lock()
        self.next = 0.0

    def wait(self) -> None:
        """Return when the next request may start."""
        with self.lock:
            now = time.monotonic()
            start = max(now, self.next)
            self.next = start + self.space
        time.sleep(start - now)


class Budget:
    """Tokens that may be used; None: no limit."""

    def __init__(self, tokens: int | None) -> None:
        self.limit = tokens
        self.used = 0
        self.lock = threading.Lock()

    def spend(self, tokens: int) -> None:
        with self.lock:
            self.used += tokens

    @property
    def is_spent(self) -> bool:
        return self.limit is not None and self.used >= self.limit


class Outage:
    """Notices that a server answers nobody any more. From then on only a request every half minute finds out whether it is back.

    Args:
        patience: rows that must fail one after the other, each with all its retries.
    """

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self.failed = 0
        self.probed = 0.0
        self.lock = threading.Lock()

    def note(self, answered: bool) -> None:
        with self.lock:
            self.failed = 0 if answered else self.failed + 1
            self.probed = time.monotonic()

    @property
    def lasts(self) -> bool:
        return self.failed >= self.patience

    def spares(self) -> bool:
        """Whether a request is not worth sending."""
        with self.lock:
            if not self.lasts or time.monotonic() - self.probed > PROBE_EVERY:
                self.probed = time.monotonic()
                return False
            return True
