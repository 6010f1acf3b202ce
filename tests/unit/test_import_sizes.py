"""`bert-judge import` of files of rows takes no more memory for more rows."""

from __future__ import annotations

import csv
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.framework_files import (
    jsonl,
    lm_eval_row,
    made,
    parquet,
)

IMPORT = """
import sys
from bert_judge.cli import app
try:
    app(sys.argv[1:])
except SystemExit as end:
    print(end.code, *(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""
# The peaks of Arrow's own allocator differ by twenty megabytes from run to run, those of an arena per thread by nine, and those of
# freed blocks that are kept by six; without all three by half a megabyte.
STEADY = {
    "ARROW_DEFAULT_MEMORY_POOL": "system",
    "MALLOC_ARENA_MAX": "1",
    "MALLOC_TRIM_THRESHOLD_": "0",
    "MALLOC_MMAP_THRESHOLD_": "65536",
}
# Folder and number of rows → what follows `bert-judge import`.
Make = Callable[[Path, int], list[Any]]


def text(number: int) -> str:
    """Two thousand letters, which no other row has, and which do not compress well."""
    return f"{number}: {random.Random(number).randbytes(1000).hex()}"


def alone(framework: str, row: dict[str, Any]) -> Make:
    """Files of a framework that need no other."""
    return lambda folder, rows: [made(folder, framework, [row] * rows)]


def plain(ending: str) -> Make:
    """Rows without a framework; those of the hub lie where its data sets are looked for first."""

    def make(folder: Path, rows: int) -> list[Any]:
        told = [{"question": text(n), "references": "Paris", "candidate": "Lyon", "model": "m"} for n in range(rows)]
        path = folder / "owner" / "set" / f"train.{ending}"
        path.parent.mkdir(parents=True)
        if ending == "csv":
            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.DictWriter(file, list(told[0]))
                writer.writeheader()
                writer.writerows(told)
            return [path]
        return [{"jsonl": jsonl, "parquet": parquet}[ending](path, told)]

    return make


MADE: dict[str, tuple[Make, str]] = {
    "lm_eval": (alone("lm_eval", lm_eval_row()), "jsonl"),
    "rows as jsonl": (plain("jsonl"), "jsonl"),
    "rows as csv": (plain("csv"), "csv"),
    "rows as parquet": (plain("parquet"), "parquet"),
}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="a process's peak is read from /proc")
@pytest.mark.parametrize("kind", MADE)
def test_memory_does_not_grow_with_the_file(tmp_path: Path, kind: str) -> None:
    make, ending = MADE[kind]
    peaks = []
    for rows in (12_000, 22_000):
        folder = tmp_path / str(rows)
        command = ["import", *map(str, make(folder, rows)), "-o", str(tmp_path / f"{rows}.{ending}")]
        environment = os.environ | STEADY
        done = subprocess.run([sys.executable, "-c", IMPORT, *command], env=environment, capture_output=True, text=True, check=True)
        *_, code, peak = done.stdout.split()
        assert code == "0", done.stderr
        assert f": {rows:,} " in done.stdout
        peaks.append(int(peak))
    # Kilobytes; of ten thousand more rows the texts alone take twenty thousand. The fewer rows already fill Arrow's buffers.
    assert peaks[1] - peaks[0] < 8_000
