"""vLLM's own server as a process."""

from __future__ import annotations

import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from helpers.ports import free_port

READY_SECONDS = 900


def serve(vllm_python: str, model: Path, window: int, log: Path, more: Sequence[str] = ()) -> Iterator[str]:
    """Start vLLM's own server of a model, called `served`, with more options; yield its address and stop it."""
    port = free_port()
    options = {"--model": model, "--served-model-name": "served", "--dtype": "float32", "--max-model-len": window, "--port": port}
    flat = [str(part) for pair in options.items() for part in pair]
    with log.open("w") as out:
        process = subprocess.Popen(
            [vllm_python, "-m", "vllm.entrypoints.openai.api_server", *flat, *more, "--host", "127.0.0.1", "--enforce-eager"],
            stdout=out,
            stderr=out,
        )
    try:
        _wait(f"http://127.0.0.1:{port}/health", process, log)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.terminate()
        process.wait(60)


def _wait(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()[-4000:]
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except OSError:
            time.sleep(0.5)
    pytest.fail(f"the server was not ready after {READY_SECONDS} s: {log.read_text()[-4000:]}")
