"""The worker process that runs vLLM in its own environment and is driven through pipes.

One JSON value per line. Standard input carries the model, then lists of requests. The output, on a separate pipe because libraries
print to standard output, carries the result of loading, then lists of completions. The worker ends with its parent.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path

from bert_judge.candidates.generators.protocol import Request
from bert_judge.runtime.errors import InputError
from bert_judge.tasks import Sample

NO_SAMPLE = Sample("", ())


def main(output_fd: int) -> None:
    """Serve requests until standard input ends."""
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
    return Request(sample_id, attempt, prompt, NO_SAMPLE, tuple(choices) if choices else None)


def _exit_with_parent(parent: int) -> None:
    """End this process when its parent is gone, even in the middle of a shard."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
