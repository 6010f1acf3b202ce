"""Progress lines of long work: rare enough not to flood a log."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

log = logging.getLogger(__name__)
SECONDS_BETWEEN_LINES = 10.0


class ProgressLogger:
    """Report the progress of work, at most once per `seconds`; if the total is known, the last line is always emitted.

    Args:
        unit: plural noun for the items, e.g. `answers`.
        total: number of items, if known.
        seconds: minimum time between two lines.
        emit: receives each line.
    """

    def __init__(
        self, unit: str, total: int | None = None, seconds: float = SECONDS_BETWEEN_LINES, emit: Callable[[str], object] = log.info
    ) -> None:
        self.unit, self.total, self.seconds, self.emit = unit, total, seconds, emit
        self.started = self.last_line = time.monotonic()

    def update(self, finished: int, fraction: float | None = None) -> None:
        """Record progress.

        Args:
            finished: items finished so far.
            fraction: of the work, for a total that is unknown.
        """
        now = time.monotonic()
        if finished != self.total and now - self.last_line < self.seconds:
            return
        self.last_line = now
        if self.total is not None:
            fraction = finished / max(self.total, 1)
        elapsed = max(now - self.started, 1e-9)
        count = f"{finished}/{self.total}" if self.total is not None else f"{finished}"
        line = f"{count} {self.unit}, {finished / elapsed:.1f}/s"
        if fraction:
            line += f", {elapsed * (1 - fraction) / fraction:.0f} s left"
        self.emit(line)
