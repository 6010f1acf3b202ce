"""Generation with vLLM, in this process or in one of another Python environment.

vLLM pins its own torch and therefore has its own environment. A job that runs there (`--software-deployment-method conda`) uses
it directly. Any other job starts a worker with the Python that the environment variable BERT_JUDGE_VLLM_PYTHON names.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from bert_judge.assets.prepare import Manifest
from bert_judge.candidates.generators.protocol import Completion, Generator, Request
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

PYTHON = "BERT_JUDGE_VLLM_PYTHON"
PACKAGE_ROOT = Path(__file__).parents[3]


def load(name: str, settings: Mapping[str, Any], manifest: Manifest) -> Generator:
    """Load a model with vLLM.

    Args:
        name: the model's name in the configuration.
        settings: the values of `config.VLLMModel`.
        manifest: manifest of the model's files.

    Raises:
        InputError: vLLM is not installed, the model cannot be loaded, or a setting does not fit it.
    """
    if python := os.environ.get(PYTHON):
        return VLLMProcess(name, settings, manifest, python)
    if importlib.util.find_spec("vllm") is None:
        fix = f"set {PYTHON} to the Python of an environment that has it, or run with --software-deployment-method conda"
        raise InputError(f"models.{name}: vLLM is not installed in this environment; {fix}")
    from bert_judge.candidates.generators.vllm_engine import VLLMEngine

    return VLLMEngine(name, settings, manifest.path, {name: manifest.revision})


class VLLMProcess:
    """The engine in a process of another Python.

    Raises:
        InputError: the Python does not exist, or the engine cannot load the model.
    """

    def __init__(self, name: str, settings: Mapping[str, Any], manifest: Manifest, python: str) -> None:
        self.name, self.revisions = name, {name: manifest.revision}
        read_end, write_end = os.pipe()
        path = os.pathsep.join([str(PACKAGE_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        try:
            self.process = subprocess.Popen(
                [python, "-m", "bert_judge.candidates.generators.vllm_worker", str(write_end)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[write_end],
                env=os.environ | {"PYTHONPATH": path},
                encoding="utf-8",
                errors="backslashreplace",
                # A scheduler's SIGTERM is meant for the job, which finishes the current shard.
                start_new_session=True,
            )
        except OSError as error:
            os.close(read_end)
            raise InputError(f"{PYTHON}: {python} cannot be started: {error.strerror}; name the Python of vLLM") from error
        finally:
            os.close(write_end)
        self.responses = os.fdopen(read_end, encoding="utf-8")
        assert self.process.stdout is not None
        threading.Thread(target=_log_lines, args=(name, self.process.stdout), daemon=True).start()
        loaded = self._exchange({"name": name, "settings": dict(settings), "folder": str(manifest.path)})
        if "error" in loaded:
            raise InputError(loaded["error"])

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Return one completion per request, in order."""
        values = [{key: getattr(request, key) for key in ("prompt", "attempt", "sample_id", "choices")} for request in requests]
        return [Completion(**completion) for completion in self._exchange(values)]

    def _exchange(self, value: Any) -> Any:
        """Send a value and wait for the response.

        Raises:
            RuntimeError: the engine's process has ended.
        """
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(value) + "\n")
            self.process.stdin.flush()
            line = self.responses.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise RuntimeError(f"{self.name}: the vLLM process ended with status {self.process.wait()}; see the log")
        return json.loads(line)


def _log_lines(name: str, stream: IO[str]) -> None:
    """Write the engine's output to the job's log."""
    for line in stream:
        log.info("%s: vLLM: %s", name, line.rstrip())
