"""Throughput of the server under thousands of concurrent clients, relative to the judge offline.

    BERT_JUDGE_DATA=… python benchmarks/serve_load.py --judge results/judges/bert [--rows 2000] [--rounds 2]

Needs the extra `serve`. A server in its own process gets one request per row, all at the same time, each on its
own connection; a rejected request (503) is repeated after the time in its header. The same judge scores the same rows offline in
one call; the two are interleaved. In a last round some clients disconnect without waiting, and the server gets SIGTERM in the
middle: the answers that the other clients receive are counted. Ratios use the processor seconds of judge and server, because the
clients share the cores.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import timing

from bert_judge.judges.protocol import Row
from bert_judge.labels import judge_loading

RETRIES = 100
# Of a client that does not wait for its answer.
PATIENCE = 0.5
HEADER = (
    *("offline, rows/s", "served, rows/s", "of it, by the clock", "by the processor", "p50, s", "p99, s"),
    *("peak, MB", "retries", "lost", "other verdict"),
)


@dataclass(frozen=True)
class Answered:
    """Attributes: verdicts: None where a request got no answer. seconds: of each request, its retries included."""

    verdicts: list[tuple[str, float] | None]
    seconds: list[float]
    retries: int
    wall: float


@contextmanager
def served(judge: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server of this judge, and its address."""
    code = "from bert_judge.cli import app; app()"
    options = ["serve", "--judge", str(judge), "--port", "0", "--rate", "0", "--seconds", "1200"]
    server = subprocess.Popen([sys.executable, "-c", code, *options], stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        yield server, next(found[0] for line in server.stderr if (found := re.findall(r"http://[\d.]+:\d+", line)))
    finally:
        server.kill()
        server.communicate()


async def post(address: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an answer, over a connection of its own. No client library: they take longer than the server."""
    host, port = address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        head = f"POST /v1/judge HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        answer = await reader.read()
    finally:
        writer.close()
    top, separator, content = answer.partition(b"\r\n\r\n")
    if not separator:
        raise ConnectionError("no answer")
    first, *lines = top.decode("latin-1").split("\r\n")
    return int(first.split()[1]), dict(line.lower().split(": ", 1) for line in lines), content


async def one(address: str, row: dict[str, Any], leaves: bool) -> tuple[tuple[str, float] | None, float, int]:
    """A request until it is answered; None where the connection broke, or the client does not wait."""
    started, body = time.monotonic(), json.dumps(row).encode()
    for attempt in range(RETRIES):
        try:
            async with asyncio.timeout(PATIENCE if leaves else None):
                status, headers, content = await post(address, body)
        except (OSError, TimeoutError):
            break
        if status == 200:
            found = json.loads(content)
            return (found["verdict"], found["score"]), time.monotonic() - started, attempt
        if status != 503:
            break
        await asyncio.sleep(int(headers["retry-after"]))
    return None, time.monotonic() - started, attempt


async def load(
    address: str, rows: Sequence[dict[str, Any]], leaving: Sequence[bool], stop: subprocess.Popen[str] | None
) -> Answered:
    """All rows at once; a server to stop gets SIGTERM when the first answers are there."""
    started = time.monotonic()
    tasks = [asyncio.create_task(one(address, row, leaves)) for row, leaves in zip(rows, leaving, strict=True)]
    if stop is not None:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.sleep(1)
        stop.send_signal(signal.SIGTERM)
    found = await asyncio.gather(*tasks)
    verdicts, seconds, retries = zip(*found, strict=True)
    return Answered(list(verdicts), list(seconds), sum(retries), time.monotonic() - started)


def cpu_and_peak(pid: int) -> tuple[float, int]:
    """Processor seconds of a process, and the most memory that it had, in MB."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    peak = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert peak is not None
    return (int(fields[11]) + int(fields[12])) / 100, int(peak[1]) // 1024


def offline(judge: Any, rows: Sequence[Row]) -> tuple[list[tuple[str, float]], float, float]:
    """Verdicts, and the seconds by the clock and of the processor."""
    wall, cpu = time.monotonic(), time.process_time()
    labels = judge.judge(rows)
    return [(label.verdict, label.score) for label in labels], time.monotonic() - wall, time.process_time() - cpu


def compared(options: argparse.Namespace) -> None:
    """Print the table of both, and what became of every request."""
    texts = timing.mixed(options.rows, options.files)
    columns = list(zip(texts.questions, texts.references, texts.candidates, strict=True))
    rows = [Row("", 0, "", question, (reference,), candidate) for question, reference, candidate in columns]
    asked = [{"question": q, "references": [r], "candidate": c} for q, r, c in columns]
    judge = judge_loading.load_judges([str(options.judge)])[0].judge
    judge.judge(rows[:8])  # converted before the clock starts
    lines: list[list[str]] = []
    waits = [False] * len(rows)
    with served(options.judge) as (server, address):
        asyncio.run(load(address, asked[:8], waits[:8], None))
        for _ in range(options.rounds):
            truth, wall, cpu = offline(judge, rows)
            before, _ = cpu_and_peak(server.pid)
            found = asyncio.run(load(address, asked, waits, None))
            after, peak = cpu_and_peak(server.pid)
            lines.append(
                [
                    f"{len(rows) / wall:.1f}",
                    f"{len(rows) / found.wall:.1f}",
                    f"{wall / found.wall:.0%}",
                    f"{cpu / (after - before):.0%}",
                    f"{np.quantile(found.seconds, 0.5):.1f}",
                    f"{np.quantile(found.seconds, 0.99):.1f}",
                    f"{peak}",
                    f"{found.retries}",
                    f"{found.verdicts.count(None)}",
                    f"{sum(said is not None and said[0] != right[0] for said, right in zip(found.verdicts, truth, strict=True))}",
                ]
            )
            print(f"round {len(lines)}: {lines[-1]}", flush=True)
        draw = random.Random(0)
        leaving = [draw.random() < options.leave for _ in rows]
        last = asyncio.run(load(address, asked, leaving, server))
        code = server.wait(600)
    print(f"\n{timing.table(HEADER, lines)}\n")
    stayed = [said for said, left in zip(last.verdicts, leaving, strict=True) if not left]
    print(
        f"{sum(leaving)} of {len(rows)} clients left after {PATIENCE} seconds, SIGTERM in the middle: of the others' {len(stayed)} "
        f"requests {len(stayed) - stayed.count(None)} were answered and {stayed.count(None)} got none; the server ended with {code}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", type=Path, required=True, help="folder of a trained judge")
    parser.add_argument("--rows", type=int, default=2000, help="requests at the same time, of one row each")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--leave", type=float, default=0.2, help="share of the clients of the last round that go away")
    parser.add_argument("--files", nargs="+", default=list(timing.FILES), help="files of BERT_JUDGE_DATA that the rows are from")
    options = parser.parse_args()
    print(f"{timing.machine()}\njudge: {options.judge}; {options.rows} rows of {len(options.files)} files\n", flush=True)
    compared(options)


if __name__ == "__main__":
    main()
