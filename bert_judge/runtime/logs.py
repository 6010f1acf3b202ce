"""The log of a job: one file with times, and for bad input one line on the terminal instead of a traceback."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bert_judge.runtime.errors import InputError

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
# Bars redraw themselves many times a second and make a log file unreadable; the libraries look at these when they are imported.
NO_BARS = ("HF_HUB_DISABLE_PROGRESS_BARS", "HF_DATASETS_DISABLE_PROGRESS_BARS", "TQDM_DISABLE")
log = logging.getLogger(__name__)


@contextmanager
def job_log(path: str | Path | None, offline: bool = True) -> Iterator[None]:
    """Send this package's log from INFO on, others' from WARNING on, and Python's warnings to a file.

    Enter it before anything of transformers or datasets is imported: it sets the environment that they read then (no progress bars,
    no network), and leaves it set. A variable that is set already is respected.

    Args:
        path: the file, written anew, its folder made when missing; None: the terminal's stderr.
        offline: keep the Hugging Face hub from being asked. Only the stage that downloads passes False.

    Raises:
        SystemExit: 1 for an `InputError`, after `error: …` for each of its lines on stderr. Any other exception passes on, its
            traceback in the log.
    """
    quiet_libraries()
    if offline:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
    handler = _handler(path)
    with _attached(handler):
        try:
            yield
        except InputError as error:
            for line in str(error).splitlines():
                if path is not None:
                    log.error(line)
                # In one write: several processes of a launched stage share this stream, and `print` ends a line in a second one.
                sys.stderr.write(f"error: {line}\n")
            raise SystemExit(1) from error
        except Exception:
            log.exception("the job failed")
            raise


def quiet_libraries() -> None:
    """Keep transformers, datasets and the hub from drawing bars, when it is called before they are imported."""
    for variable in NO_BARS:
        os.environ.setdefault(variable, "1")


def _handler(path: str | Path | None) -> logging.Handler:
    handler: logging.Handler = logging.StreamHandler()
    if path is not None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        handler = logging.FileHandler(path, mode="w", encoding="utf-8", errors="backslashreplace")
    handler.setFormatter(logging.Formatter(FORMAT))
    return handler


@contextmanager
def _attached(handler: logging.Handler) -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("bert_judge")
    levels = root.level, ours.level
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    ours.setLevel(logging.INFO)
    logging.captureWarnings(True)
    try:
        yield
    finally:
        logging.captureWarnings(False)
        root.setLevel(levels[0])
        ours.setLevel(levels[1])
        root.removeHandler(handler)
        handler.close()
