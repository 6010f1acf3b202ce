"""A stage in as many processes as a configuration of `accelerate` says, as `accelerate launch` starts them; or in this process."""

from __future__ import annotations

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

log = logging.getLogger(__name__)

LAUNCHED = "bert_judge.candidates.finetuning.worker"
# What `logs.job_log` puts before the line of an `InputError`.
ERROR = "error: "


def processes() -> int:
    """How many processes fit one model together, this one among them."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def launched() -> bool:
    """Whether accelerate started this process, maybe as the only one, and says where the model's weights lie."""
    return "WORLD_SIZE" in os.environ


def run(stage: Callable[..., None], arguments: Mapping[str, Any], config_file: str | None) -> None:
    """Call a stage.

    Args:
        stage: a function of a module; in several processes each calls it, and all but the first write nothing.
        arguments: by name; plain values and paths.
        config_file: of accelerate; None: this process alone.

    Raises:
        InputError: what a process says is wrong, or the launch failed.
        SystemExit: SIGTERM came.
    """
    if config_file is None:
        stage(**arguments)
        return
    file = str(Path(config_file).expanduser())
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder, "stage.json")
        named = {"module": stage.__module__, "function": stage.__qualname__, "arguments": dict(arguments)}
        asked.write_text(json.dumps(named, default=str), encoding="utf-8")
        command = [sys.executable, "-m", "accelerate.commands.launch", "--config_file", file, "-m", LAUNCHED, str(asked)]
        log.info("started: %s", " ".join(command[1:]))
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace")
        with child, _sigterm_passed_on(child) as asked_to_stop:
            faults = _followed(child)
            status = child.wait()
    if asked_to_stop:
        sigterm.stop("the last checkpoint of several processes")
    if status:
        unknown = f"{config_file}: accelerate ended with status {status}; its own words are in the log"
        raise InputError("\n".join(faults) or unknown)


def _followed(child: subprocess.Popen[str]) -> list[str]:
    """Write what a process says into the log until it ends.

    Returns:
        The faults that it told, each once, however many processes met it.
    """
    assert child.stdout is not None
    faults: dict[str, None] = {}
    for line in child.stdout:
        if line.strip():
            log.info("%s", line.rstrip())
        if line.startswith(ERROR):
            faults[line.removeprefix(ERROR).strip()] = None
    return list(faults)


@contextmanager
def _sigterm_passed_on(child: subprocess.Popen[str]) -> Iterator[list[int]]:
    """The launcher ends its processes when it is asked to; they leave their last checkpoint and save none.

    Yields:
        The signals that came.
    """
    came: list[int] = []

    def pass_on(number: int, _: object) -> None:
        came.append(number)
        child.terminate()

    before = signal.signal(signal.SIGTERM, pass_on)
    try:
        yield came
    finally:
        signal.signal(signal.SIGTERM, before)
