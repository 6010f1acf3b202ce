"""Everything that a GPU has to show, in at most ten minutes and one Markdown file.

    BERT_JUDGE_DATA=… python benchmarks/gpu_report.py -o gpu.md [--minutes 10] [--tiny]

Runs the other benchmarks one after the other, the most important first, each with its share of the time: a part that takes longer
is stopped and says so, and what it printed until then stays. The file is written again after every part, so that an interrupted run
leaves a report too. The last line of a part is the most memory that the GPU held meanwhile. `--tiny` rehearses all parts with a few
rows on any machine. BERT_JUDGE_VLLM_PYTHON names the Python of an environment with vLLM; without one, its two parts say so. Exits
with status 1 if a part failed; one that ran out of time is no failure.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

FOLDER = Path(__file__).parent
MEMORY_SECONDS = 1.0


class Part(NamedTuple):
    """A benchmark with its arguments, the ones of a rehearsal, and its share of the time."""

    title: str
    script: str
    arguments: str
    tiny: str
    share: float


PARTS = (
    Part(
        "The encoder at 32, 200 and 512 tokens, and the whole judge with and without early exit",
        "pipeline_stages.py",
        "--rows 4000 --rounds 1 --batch-tokens 65536 131072",
        "--rows 16 --rounds 1",
        0.25,
    ),
    Part(
        "Beside CrossEncoder and plain transformers, and an encoder of EuroBERT-210m's shape",
        "judge_speed.py",
        "--rows 4000 --slow-rows 500 --rounds 1 --large-rows 1000",
        "--rows 16 --rounds 1 --skip-plain --large-rows 2",
        0.25,
    ),
    Part("The encoder beside vLLM", "vllm_speed.py", "encoder --rows 8000 --rounds 1", "encoder --rows 16 --rounds 1", 0.2),
    Part("A language model as judge in vLLM", "vllm_speed.py", "language-model --rows 2000", "language-model --rows 8", 0.15),
    Part("Training, beside transformers' Trainer", "train_speed.py", "--rows 4000 --rounds 1", "--rows 8 --rounds 1", 0.15),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--tiny", action="store_true", help="a few rows, to rehearse")
    options = parser.parse_args()
    if "BERT_JUDGE_DATA" not in os.environ:
        parser.error("BERT_JUDGE_DATA is not set; set it to the folder with the data files")
    sections, has_failed = ["# What a GPU shows", query_gpu("name,driver_version,memory.total") or "No GPU of NVIDIA's."], False
    for part, seconds in share_time(60 * options.minutes):
        text, code = run(part, seconds, tiny=options.tiny)
        has_failed |= code != 0
        sections.append(f"## {part.title}\n\n{text}")
        options.output.write_text("\n\n".join(sections) + "\n", "utf-8")
        print(f"{part.script}: {'failed' if code else 'done'}", flush=True)
    sys.exit(int(has_failed))


def share_time(seconds: float) -> Iterator[tuple[Part, float]]:
    """Yield the parts with their seconds; what a part leaves is shared by those behind it."""
    end, shares = time.monotonic() + seconds, sum(part.share for part in PARTS)
    for part in PARTS:
        yield part, (end - time.monotonic()) * part.share / shares
        shares -= part.share


def run(part: Part, seconds: float, *, tiny: bool) -> tuple[str, int]:
    """Return what a part printed, in Markdown, and its exit status; 0 for one that ran out of time."""
    arguments = part.tiny if tiny else part.arguments
    command = [sys.executable, str(FOLDER / part.script), *arguments.split()]
    with (
        peak_memory() as read_peak,
        # A group of its own: its processes for features hold the pipes open too.
        subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=FOLDER.parent, start_new_session=True
        ) as process,
    ):
        started, note, code = time.monotonic(), "", 0
        try:
            output, errors = process.communicate(timeout=seconds)
            code = process.returncode
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            output, errors = process.communicate()
            note = f"\n\nStopped after its {seconds:.0f} s."
        if code:
            note = f"\n\nFailed with status {code}:\n\n```\n{errors[-2000:].strip()}\n```"
        took = time.monotonic() - started
    memory = f"; the GPU held {read_peak():,} MiB at most" if read_peak() else ""
    return f"`python benchmarks/{part.script} {arguments}`, {took:.0f} s{memory}\n\n{output.strip()}{note}", code


@contextmanager
def peak_memory() -> Iterator[Callable[[], int]]:
    """Yield a function that returns the most memory in MiB that the GPU held so far; 0 without a GPU."""
    peak, stopped = 0, threading.Event()

    def watch() -> None:
        nonlocal peak
        while not stopped.is_set() and (used := query_gpu("memory.used")):
            peak = max(peak, int(used.split()[0]))
            stopped.wait(MEMORY_SECONDS)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield lambda: peak
    finally:
        stopped.set()
        thread.join()


def query_gpu(fields: str) -> str:
    """Return fields of the first GPU; an empty text without one."""
    if shutil.which("nvidia-smi") is None:
        return ""
    command = ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.partition("\n")[0].strip()


if __name__ == "__main__":
    main()
