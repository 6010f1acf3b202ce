"""vLLM behind a pipe: the program that runs in vLLM's own environment while the job runs in another.

One JSON value per line. On standard input come first the model, then requests. Out go first whether the model is there, then
completions, on a pipe of its own because libraries print. It ends with its owner.
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


def main(channel: int) -> None:
    """Serve until standard input ends."""
    # A scheduler sends SIGTERM to all processes of a job at once, and the owner wants the shard in hand.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    with os.fdopen(channel, "w", encoding="utf-8") as out:

        def tell(value: object) -> None:
            out.write(json.dumps(value) + "\n")
            out.flush()

        model = json.loads(sys.stdin.readline())
        try:
            from bert_judge.candidates.generators.vllm_engine import VLLMEngine

            engine = VLLMEngine(model["name"], model["settings"], Path(model["folder"]))
        except InputError as error:
            tell({"error": str(error)})
            return
        except ImportError as error:
            tell({"error": f"models.{model['name']}: {sys.executable} has no working vLLM: {error}; install it there"})
            return
        tell({})
        for line in sys.stdin:
            tell([asdict(completion) for completion in engine.generate([_request(**values) for values in json.loads(line)])])


def _request(prompt: str, attempt: int, sample_id: str, choices: list[str] | None) -> Request:
    return Request(sample_id, attempt, prompt, NO_SAMPLE, tuple(choices) if choices else None)


def _end_with(owner: int) -> None:
    """End this process when its owner is gone, also in the middle of a shard that nobody waits for."""
    while os.getppid() == owner:
        time.sleep(0.5)
    os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]))
