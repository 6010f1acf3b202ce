"""Running a stage in several processes with `accelerate launch`, or in this process.

`python -m bert_judge.candidates.finetuning.launch FILE` is what each of the processes runs: it calls the stage that FILE names.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bert_judge.runtime import sigterm
from bert_judge.runtime.errors import InputError

log = logging.getLogger("bert_judge.candidates.finetuning.launch")

MODULE = "bert_judge.candidates.finetuning.launch"
# Prefix of an `InputError` in the output of `logs.job_log`.
ERROR_PREFIX = "error: "


def world_size() -> int:
    """Return the number of processes that train one model together."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def is_launched() -> bool:
    """Return whether accelerate started this process (possibly a single one) and controls where the weights are placed."""
    return "WORLD_SIZE" in os.environ


def run(stage: Callable[..., None], arguments: Mapping[str, Any], config_file: str | None) -> None:
    """Call a stage.

    Args:
        stage: a function of a module; each process calls it, and all but the first write nothing.
        arguments: plain values and paths.
        config_file: of accelerate; None: this process only.

    Raises:
        InputError: reported by a process, or the launch failed.
    """
    if config_file is None:
        stage(**arguments)
        return
    path = str(Path(config_file).expanduser())
    with tempfile.TemporaryDirectory() as folder:
        call_file = Path(folder, "stage.json")
        call = {"module": stage.__module__, "function": stage.__qualname__, "arguments": dict(arguments)}
        call_file.write_text(json.dumps(call, default=str), encoding="utf-8")
        command = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", path, "-m", MODULE, str(call_file)]
        log.info("started: %s", " ".join(command[1:]))
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace")
        with child, _forward_sigterm(child) as signals:
            errors = _log_output(child)
            status = child.wait()
    if signals:
        sigterm.stop("the last checkpoint of several processes")
    if status:
        raise InputError("\n".join(errors) or f"{config_file}: accelerate ended with status {status}; see the log")


def _log_output(child: subprocess.Popen[str]) -> list[str]:
    """Write the output of a process to the log until it ends; return the distinct errors that it reported."""
    assert child.stdout is not None
    errors: dict[str, None] = {}
    for line in child.stdout:
        if line.strip():
            log.info("%s", line.rstrip())
        if line.startswith(ERROR_PREFIX):
            errors[line.removeprefix(ERROR_PREFIX).strip()] = None
    return list(errors)


@contextmanager
def _forward_sigterm(child: subprocess.Popen[str]) -> Iterator[list[int]]:
    """Terminate the launcher on SIGTERM; its processes keep their last checkpoint. Yield the signals received."""
    signals: list[int] = []

    def forward(number: int, _: object) -> None:
        signals.append(number)
        child.terminate()

    previous = signal.signal(signal.SIGTERM, forward)
    try:
        yield signals
    finally:
        signal.signal(signal.SIGTERM, previous)


def main(call_file: Path) -> None:
    """Call the stage that a file names; the log goes to stderr, which the parent process reads."""
    from bert_judge.runtime.logs import job_log

    call = json.loads(call_file.read_text("utf-8"))
    with job_log(None):
        if os.environ.get("RANK", "0") != "0":
            # All processes log the same.
            logging.getLogger("bert_judge").setLevel(logging.WARNING)
        getattr(importlib.import_module(call["module"]), call["function"])(**call["arguments"])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
