"""Generation with vLLM, in this process or in one of another Python environment.

vLLM pins its own torch and therefore has its own environment. A job that runs there (`--software-deployment-method conda`) uses
it directly. Any other job starts a worker with the Python that the environment variable BERT_JUDGE_VLLM_PYTHON names.
"""

from __future__ import annotations

import importlib.util
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from bert_judge.candidates.generators.protocol import Completion, Generator, Request
from bert_judge.runtime.errors import InputError
from bert_judge.tasks import Sample

if TYPE_CHECKING:
    from bert_judge.assets.prepare import Manifest

log = logging.getLogger(__name__)

PYTHON = "BERT_JUDGE_VLLM_PYTHON"
PACKAGE_ROOT = Path(__file__).parents[3]


def load(name: str, settings: Mapping[str, Any], manifest: Manifest) -> Generator:
    """Load a model with vLLM; `settings` are the values of `config.VLLMModel`.

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
                [python, "-m", "bert_judge.candidates.generators.vllm", str(write_end)],
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
    for line in stream:
        log.info("%s: vLLM: %s", name, line.rstrip())


# --- the worker process, driven through pipes ---


def main(output_fd: int) -> None:
    """Serve requests until standard input ends, or the parent process.

    One JSON value per line. Standard input carries the model, then lists of requests. The output, on a separate pipe because
    libraries print to standard output, carries the result of loading, then lists of completions.
    """
    # A scheduler sends SIGTERM to all processes of a job at once, and the parent finishes the current shard.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, args=(os.getppid(),), daemon=True).start()
    with os.fdopen(output_fd, "w", encoding="utf-8") as output:

        def send(value: object) -> None:
            output.write(json.dumps(value) + "\n")
            output.flush()

        model = json.loads(sys.stdin.readline())
        try:
            from bert_judge.candidates.generators.vllm_engine import VLLMEngine

            engine = VLLMEngine(model["name"], model["settings"], Path(model["folder"]))
        except InputError as error:
            send({"error": str(error)})
            return
        except ImportError as error:
            send({"error": f"models.{model['name']}: {sys.executable} has no working vLLM: {error}; install it there"})
            return
        send({})
        for line in sys.stdin:
            send([asdict(completion) for completion in engine.generate([_request(**values) for values in json.loads(line)])])


def _request(prompt: str, attempt: int, sample_id: str, choices: list[str] | None) -> Request:
    return Request(sample_id, attempt, prompt, Sample("", ()), tuple(choices) if choices else None)


def _exit_with_parent(parent: int) -> None:
    """End this process when its parent is gone, even in the middle of a shard."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
