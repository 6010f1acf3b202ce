"""Answers generated with vLLM, in this process or in that of another Python.

vLLM pins its own torch and so has an environment of its own. A job that runs there (`--software-deployment-method conda`) uses it
directly. Any other job starts a worker with the Python that the environment variable BERT_JUDGE_VLLM_PYTHON names.
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


def make(name: str, settings: Mapping[str, Any], manifest: Manifest) -> Generator:
    """Load a model with vLLM.

    Args:
        name: the model's name in the configuration.
        settings: the values of `config.VLLMModel`.
        manifest: where the model lies.

    Raises:
        InputError: there is no vLLM, the model cannot be loaded, or a setting does not fit it.
    """
    if python := os.environ.get(PYTHON):
        return VLLMProcess(name, settings, manifest, python)
    if importlib.util.find_spec("vllm") is None:
        cure = f"set {PYTHON} to the Python of an environment that has it, or run with --software-deployment-method conda"
        raise InputError(f"models.{name}: vLLM is not installed in this environment; {cure}")
    return VLLMHere(name, settings, manifest)


class VLLMHere:
    """The engine in this process."""

    def __init__(self, name: str, settings: Mapping[str, Any], manifest: Manifest) -> None:
        from bert_judge.candidates.generators.vllm_engine import VLLMEngine

        self.revisions = {name: manifest.revision}
        self.engine = VLLMEngine(name, settings, manifest.path)

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """One completion per request, in their order."""
        return self.engine.generate(requests)


class VLLMProcess:
    """The engine in a process of another Python.

    Raises:
        InputError: no such Python, or what the engine has against the model.
    """

    def __init__(self, name: str, settings: Mapping[str, Any], manifest: Manifest, python: str) -> None:
        self.name, self.revisions = name, {name: manifest.revision}
        read, write = os.pipe()
        path = os.pathsep.join([str(PACKAGE_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        try:
            self.process = subprocess.Popen(
                [python, "-m", "bert_judge.candidates.generators.vllm_worker", str(write)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=[write],
                env=os.environ | {"PYTHONPATH": path},
                encoding="utf-8",
                errors="backslashreplace",
                # A scheduler's SIGTERM is for the job, which lets the shard in hand be finished.
                start_new_session=True,
            )
        except OSError as error:
            os.close(read)
            raise InputError(f"{PYTHON}: {python} cannot be started: {error.strerror}; name the Python of vLLM") from error
        finally:
            os.close(write)
        self.answers = os.fdopen(read, encoding="utf-8")
        assert self.process.stdout is not None
        threading.Thread(target=_log_lines, args=(name, self.process.stdout), daemon=True).start()
        ready = self._exchange({"name": name, "settings": dict(settings), "folder": str(manifest.path)})
        if "error" in ready:
            raise InputError(ready["error"])

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """One completion per request, in their order."""
        values = [{key: getattr(request, key) for key in ("prompt", "attempt", "sample_id", "choices")} for request in requests]
        return [Completion(**answer) for answer in self._exchange(values)]

    def _exchange(self, value: Any) -> Any:
        """Send a value and wait for the answer.

        Raises:
            RuntimeError: the engine's process has ended.
        """
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(value) + "\n")
            self.process.stdin.flush()
            line = self.answers.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise RuntimeError(f"{self.name}: vLLM's process ended with status {self.process.wait()}; the log has its last lines")
        return json.loads(line)


def _log_lines(name: str, stream: IO[str]) -> None:
    """What the engine prints belongs in the job's log."""
    for line in stream:
        log.info("%s: vLLM: %s", name, line.rstrip())
