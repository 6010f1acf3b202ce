"""Training speed while other processes share the cores, with several settings of OpenMP.

    BERT_JUDGE_DATA=… python benchmarks/train_shared_cores.py [--rows 320] [--rounds 2] [--busy 0 1]

Each measurement is a process of its own, because OpenMP reads its settings when torch is loaded: one epoch of a small encoder, in
tokens per second without start and end. `--busy`: numbers of other processes that compute without a pause. Settings are
interleaved; the best round of each counts, and the worst one stands behind it.
"""

from __future__ import annotations

import argparse
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import timing

CORES = str(len(os.sched_getaffinity(0)))
# OpenMP's defaults: as many threads as cores, which wait in a loop for some milliseconds before they sleep.
SPINNING = {"GOMP_SPINCOUNT": "300000", "OMP_WAIT_POLICY": ""}
SETTINGS: Mapping[str, Mapping[str, str]] = {
    f"{CORES} threads, waiting in a loop": {"OMP_NUM_THREADS": CORES, **SPINNING},
    f"{CORES} threads, sleeping": {"OMP_NUM_THREADS": CORES, "OMP_WAIT_POLICY": "PASSIVE"},
    "1 thread": {"OMP_NUM_THREADS": "1"},
}


def train(rows: int) -> None:
    """Print the tokens per second of one epoch."""
    from bert_judge.assets.prepare import load_manifest, prepare
    from bert_judge.config import Training
    from bert_judge.encoder import checkpoint, trainer

    logging.getLogger("transformers").setLevel(logging.ERROR)
    texts = timing.mixed(rows)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare({"repository": "minilm", "revision": None, "remote_code": False}, folder / "backbone.json")
        model = checkpoint.load(load_manifest(folder / "backbone.json").path)
        encoded = model.encoder.encode(texts.questions, texts.candidates, texts.references)
        examples = trainer.Examples(encoded, texts.labels, [1.0] * len(encoded))
        statistics = trainer.fit(model, examples, Training(epochs=1), folder / "work")
    print(f"{statistics['tokens_per_second']:.0f}")


@contextmanager
def busy_processes(number: int) -> Iterator[None]:
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def measure(rows: int, setting: Mapping[str, str]) -> float:
    environment = {name: value for name, value in {**os.environ, **setting}.items() if value}
    command = [sys.executable, __file__, "--train", "--rows", str(rows)]
    return float(subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout.split()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=320)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--busy", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--train", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.train:
        train(options.rows)
        return
    print(f"{timing.machine()}\n", flush=True)
    rates: dict[tuple[int, str], list[float]] = {}
    for _ in range(options.rounds):
        for busy in options.busy:
            for name, setting in SETTINGS.items():
                with busy_processes(busy):
                    rates.setdefault((busy, name), []).append(measure(options.rows, setting))
                print(f"{busy} busy, {name}: {rates[busy, name][-1]:.0f} tokens/s", file=sys.stderr, flush=True)
    header = ("threads", *(f"tokens/s, {busy} busy processes" for busy in options.busy))
    cells = {key: f"{max(values):.0f} ({min(values):.0f})" for key, values in rates.items()}
    print(timing.table(header, [[name, *(cells[busy, name] for busy in options.busy)] for name in SETTINGS]))


if __name__ == "__main__":
    main()
