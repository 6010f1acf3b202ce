"""Logging of a job: a file with timestamps, progress lines, and one line on the terminal for input errors."""

import atexit
import gc
import logging
import os
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from operator import itemgetter
from pathlib import Path

from bert_judge.runtime.errors import InputError, describe_missing

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
# Progress bars make a log file unreadable. The libraries read these variables on import.
PROGRESS_BAR_VARIABLES = ("HF_HUB_DISABLE_PROGRESS_BARS", "HF_DATASETS_DISABLE_PROGRESS_BARS", "TQDM_DISABLE")
SECONDS_BETWEEN_LINES = 10.0
# Python's default threshold of 700 collects half a million modules, classes and functions seven times while they are created.
GARBAGE_THRESHOLD = 50_000
# Characters that a terminal may take for commands (C0, C1) or that reorder a line, as their escape sequences.
CONTROLS = {
    code: f"\\u{code:04x}"
    for codes in (range(0x20), range(0x7F, 0xA0), range(0x202A, 0x202F), range(0x2066, 0x206A))
    for code in codes
    if chr(code) not in "\n\t"
}
# Words with a digit, in which failures of one cause differ: counts of tokens, identifiers of requests; but no status code.
_NUMBER = re.compile(r"(?<!code: )\b\w*\d\w*")
log = logging.getLogger(__name__)


@lru_cache(maxsize=1024)
def log_once(logger: logging.Logger, line: str) -> None:
    """Log a decision about a file, which is read several times, as a warning once per process."""
    logger.warning("%s", line)


def count_causes(reasons: Iterable[str]) -> list[tuple[str, int]]:
    """Return the first reason and the number of failures of each cause, the most frequent one first."""
    causes: dict[str, tuple[str, int]] = {}
    for reason, count in Counter(reasons).items():
        first, total = causes.get(cause := _NUMBER.sub("#", reason), (reason, 0))
        causes[cause] = first, total + count
    return sorted(causes.values(), key=itemgetter(1), reverse=True)


def escape_controls(text: str) -> str:
    """Escape control characters, so that a name or an answer cannot control the terminal; JSON keeps its value."""
    return text.translate(CONTROLS)


class _Formatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return escape_controls(super().format(record))


@contextmanager
def job_log(path: str | Path | None, offline: bool = True) -> Iterator[None]:
    """Log to a file: this package from INFO, other packages from WARNING, and Python warnings.

    Enter it before importing transformers or datasets: it sets the environment variables they read on import (no progress bars,
    no network) and leaves them set. Variables that are already set are kept.

    Args:
        path: the log file, overwritten, its folder created if missing; None: stderr.
        offline: keep the Hugging Face libraries offline. Only the stage that downloads passes False.

    Raises:
        SystemExit: 1 for an `InputError` or a missing package of an extra, after printing `error: …` for each line on stderr; 130
            after Ctrl-C. Other exceptions propagate, with their traceback in the log.
    """
    disable_progress_bars()
    limit_garbage_collection()
    if offline:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
    handler = _handler(path)
    with _attached(handler):
        try:
            yield
        except (InputError, ModuleNotFoundError) as error:
            message = describe_missing(error.name) if isinstance(error, ModuleNotFoundError) else str(error)
            if message is None:
                log.exception("the job failed")
                raise
            for line in message.splitlines():
                if path is not None:
                    log.error(line)
                # One write: jobs share this stream, and `print` writes line ends separately.
                sys.stderr.write(f"error: {escape_controls(line)}\n")
            raise SystemExit(1) from error
        except KeyboardInterrupt as error:
            log.error("interrupted; repeat the command to resume")
            raise SystemExit(128 + signal.SIGINT) from error
        except Exception:
            log.exception("the job failed")
            raise


def limit_garbage_collection() -> None:
    """Collect garbage rarely, and none when the program ends: scoring two answers took 17 s of processor time, and takes 10."""
    gc.set_threshold(GARBAGE_THRESHOLD)
    atexit.register(gc.freeze)


def disable_progress_bars() -> None:
    """Disable the progress bars of transformers, datasets and huggingface_hub; call it before importing them."""
    for variable in PROGRESS_BAR_VARIABLES:
        os.environ.setdefault(variable, "1")


def _handler(path: str | Path | None) -> logging.Handler:
    handler: logging.Handler = logging.StreamHandler()
    if path is not None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        handler = logging.FileHandler(path, mode="w", encoding="utf-8", errors="backslashreplace")
    handler.setFormatter(_Formatter(FORMAT))
    return handler


@contextmanager
def _attached(handler: logging.Handler) -> Iterator[None]:
    root, package = logging.getLogger(), logging.getLogger("bert_judge")
    levels = root.level, package.level
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    package.setLevel(logging.INFO)
    logging.captureWarnings(True)
    try:
        yield
    finally:
        logging.captureWarnings(False)
        root.setLevel(levels[0])
        package.setLevel(levels[1])
        root.removeHandler(handler)
        handler.close()


class ProgressLogger:
    """Report the progress of work, at most once per `seconds`; if the total is known, the last line is always emitted.

    Args:
        unit: plural noun for the items, e.g. `answers`.
    """

    def __init__(
        self, unit: str, total: int | None = None, seconds: float = SECONDS_BETWEEN_LINES, emit: Callable[[str], object] = log.info
    ) -> None:
        self.unit, self.total, self.seconds, self.emit = unit, total, seconds, emit
        self.started = self.last_line = time.monotonic()

    def update(self, finished: int, fraction: float | None = None) -> None:
        """Record progress. `fraction`: of the work, for a total that is unknown."""
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
