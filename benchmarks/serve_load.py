"""Throughput of the server under thousands of concurrent clients, relative to the judge offline, and beside hostile clients.

    BERT_JUDGE_DATA=… python benchmarks/serve_load.py --judge general [--rows 2000] [--rounds 2] [--seconds 60]

Needs the extra `serve`. A server in its own process gets one request per row, all at the same time, each on its
own connection; a rejected request (503) is repeated after the time in its header. The same judge scores the same rows offline in
one call; the two are interleaved. In a last round some clients disconnect without waiting, and the server gets SIGTERM in the
middle: the answers that the other clients receive are counted. Ratios use the processor seconds of judge and server, because the
clients share the cores.

Then 200 clients ask for one row after the other on connections that they keep, for `--seconds` each, in turn alone and beside 200
slow clients, which never finish a request or never read an answer, and 50 hostile ones, which send what is too large, broken or
abandoned. Every honest client has an address of its own, the others have one together, and the server has its default limits.
`--rounds 0` leaves the first part out, `--seconds 0` the second.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from asyncio import StreamReader, StreamWriter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import timing

from bert_judge.judges.protocol import Row
from bert_judge.labels import judge_loading

RETRIES = 100
# Seconds until a client hangs up that does not wait for its answer.
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
def served(judge: str, *options: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server of this judge, and its address."""
    code = "from bert_judge.cli import app; app()"
    command = [sys.executable, "-c", code, "serve", "--judge", judge, "--port", "0", *options]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    address = next(found[0] for line in server.stderr if (found := re.findall(r"http://[\d.]+:\d+", line)))
    # A full pipe would stop it.
    threading.Thread(target=list, args=(server.stderr,), daemon=True).start()
    host, port = address.removeprefix("http://").split(":")
    try:
        # It logs its address just before it listens.
        while server.poll() is None:
            with suppress(ConnectionRefusedError):
                socket.create_connection((host, int(port))).close()
                break
        yield server, address
    finally:
        server.kill()
        server.wait()


@asynccontextmanager
async def connected(address: str, source: str | None = None) -> AsyncIterator[tuple[StreamReader, StreamWriter]]:
    """A connection to the server from one of this machine's addresses."""
    host, port = address.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port), local_addr=None if source is None else (source, 0))
    try:
        yield reader, writer
    finally:
        writer.close()


def request(body: bytes, *headers: str, length: int | None = None) -> bytes:
    """The bytes of a request; `length` is what the header says."""
    lines = ("POST /v1/judge HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json", *headers)
    return "\r\n".join((*lines, f"Content-Length: {len(body) if length is None else length}", "", "")).encode() + body


async def read_answer(reader: StreamReader) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of an answer. No client library: they take longer than the server."""
    try:
        first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").rstrip().split("\r\n")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        return int(first.split()[1]), headers, await reader.readexactly(int(headers["content-length"]))
    except asyncio.IncompleteReadError as error:
        raise ConnectionError("no answer") from error


async def post(address: str, body: bytes) -> tuple[int, dict[str, str], bytes]:
    """The answer to a request on a connection of its own."""
    async with connected(address) as (reader, writer):
        writer.write(request(body, "Connection: close"))
        return await read_answer(reader)


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


def compared(options: argparse.Namespace, judge: Any, rows: Sequence[Row], asked: Sequence[dict[str, Any]]) -> None:
    """Print the table of both, and what became of every request."""
    lines: list[list[str]] = []
    waits = [False] * len(rows)
    with served(options.judge, "--rate", "0", "--seconds", "1200") as (server, address):
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


# Never complete, never read, or byte by byte. The second part follows after a second, and then one byte each second.
SLOW = (
    (b"", b""),
    (b"POST /v1/judge HTTP/1.1\r\nHost: 127", b""),
    (request(b'{"rows": [', length=1000), b""),
    (b"POST /v1/judge HTTP/1.1\r\n", b"x: " + b"a" * 500),
    (request(json.dumps({"rows": [{"references": "x", "candidate": "x"}] * 200}).encode()) * 20, b""),
)
# Too large, of too many values, nested, no HTTP, with endless headers, of a wrong host, of an unknown place; and abandoned.
HOSTILE = (
    request(b'{"candidate": "' + b"x" * 9 * 2**20 + b'"}'),
    request(b'{"rows": [' + b"{}," * 2_700_000 + b"{}]}"),
    request(b'{"candidate": ' + b"[" * 50_000 + b"]" * 50_000 + b"}"),
    b"\x16\x03\x01" + bytes(range(256)) * 40,
    b"GET /health HTTP/1.1\r\n" + b"".join(b"x-%d: y\r\n" % number for number in range(20_000)),
    request(b"{}").replace(b"Host: 127.0.0.1", b"Host: ["),
    request(b"{}").replace(b"/v1/judge", b"/../../etc/passwd"),
    request(json.dumps({"rows": [{"references": "x", "candidate": "y"}] * 1000}).encode()),
)
CROWD_HEADER = (
    *("clients", "rows/s", "p50, s", "p99, s", "memory, first half, MB", "second half"),
    *("retries", "lost", "other verdict"),
)
HOSTILE_SOURCE, HOSTILE_PAUSE = "127.0.2.1", 0.5


@dataclass
class Honest:
    """What the honest clients saw. Attributes: seconds: of each answered request. retries: answers that asked for them."""

    seconds: list[float] = field(default_factory=list)
    retries: int = 0
    lost: int = 0
    other_verdicts: int = 0


async def ask(address: str, source: str, work: Iterator[tuple[dict[str, Any], str]], end: float, record: Honest) -> None:
    """Honest client: one row after the other on a connection that it keeps, and on a new one if that breaks."""
    while time.monotonic() < end:
        try:
            async with connected(address, source) as (reader, writer):
                while time.monotonic() < end:
                    await ask_once(reader, writer, *next(work), record)
        except OSError:
            record.lost += 1


async def ask_once(reader: StreamReader, writer: StreamWriter, row: dict[str, Any], verdict: str, record: Honest) -> None:
    started = time.monotonic()
    while True:
        writer.write(request(json.dumps(row).encode()))
        status, headers, content = await read_answer(reader)
        if status not in (429, 503):
            break
        record.retries += 1
        await asyncio.sleep(int(headers["retry-after"]))
    if status != 200:
        record.lost += 1
        return
    record.seconds.append(time.monotonic() - started)
    record.other_verdicts += json.loads(content)["verdict"] != verdict


async def delay(address: str, parts: tuple[bytes, bytes]) -> None:
    """Slow client: send the first part, and the second byte by byte, until the server closes the connection; then again."""
    while True:
        with suppress(OSError):
            async with connected(address, HOSTILE_SOURCE) as (reader, writer):
                writer.write(parts[0])
                for byte in parts[1]:
                    await asyncio.sleep(1)
                    writer.write(bytes([byte]))
                    await writer.drain()
                # With many answers under way, it never reads on.
                await (asyncio.sleep(20) if len(parts[0]) > 10_000 else reader.read())
        await asyncio.sleep(HOSTILE_PAUSE)


async def attack(address: str, content: bytes) -> None:
    """Hostile client: send something, read the answer or be gone, and again."""
    while True:
        with suppress(OSError, asyncio.LimitOverrunError, ValueError, KeyError, IndexError):
            async with connected(address, HOSTILE_SOURCE) as (reader, writer):
                writer.write(content)
                if content is not HOSTILE[-1]:
                    await read_answer(reader)
        await asyncio.sleep(HOSTILE_PAUSE)


async def crowd(
    address: str, pid: int, work: Iterator[tuple[dict[str, Any], str]], seconds: float, others: bool
) -> tuple[Honest, list[int]]:
    """What 200 honest clients saw, alone or with others, and the memory of the server by the second, in MB."""
    record, memory, end = Honest(), [], time.monotonic() + seconds
    async with asyncio.TaskGroup() as group:
        unwanted = [group.create_task(delay(address, SLOW[n % len(SLOW)])) for n in range(200 * others)]
        unwanted += [group.create_task(attack(address, HOSTILE[n % len(HOSTILE)])) for n in range(50 * others)]
        honest = [group.create_task(ask(address, f"127.0.1.{n + 1}", work, end, record)) for n in range(200)]
        while not all(task.done() for task in honest):
            memory.append(int(re.findall(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())[0]) // 1024)
            await asyncio.sleep(1)
        for task in unwanted:
            task.cancel()
    return record, memory


def beside_others(options: argparse.Namespace, judge: Any, rows: Sequence[Row], asked: Sequence[dict[str, Any]]) -> None:
    """Print what honest clients see alone and beside others, in turn."""
    verdicts = [verdict for verdict, _ in offline(judge, rows)[0]]
    work = itertools.cycle(zip(asked, verdicts, strict=True))
    lines = []
    with served(options.judge) as (server, address):
        for others in (False, True, False, True):
            started = time.monotonic()
            found, memory = asyncio.run(crowd(address, server.pid, work, options.seconds, others))
            p50, p99 = np.quantile(found.seconds, [0.5, 0.99])
            half = len(memory) // 2
            lines.append(
                [
                    "200, beside 200 slow and 50 hostile ones" if others else "200",
                    f"{len(found.seconds) / (time.monotonic() - started):.1f}",
                    *(f"{p50:.2f}", f"{p99:.2f}", f"{max(memory[:half])}", f"{max(memory[half:])}"),
                    *map(str, (found.retries, found.lost, found.other_verdicts)),
                ]
            )
            print(f"{lines[-1]}", flush=True)
        server.send_signal(signal.SIGTERM)
        code = server.wait(600)
    print(f"\n{timing.table(CROWD_HEADER, lines)}\n\nthe server ended with {code}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judge", required=True, help="folder of a trained judge, or general")
    parser.add_argument("--rows", type=int, default=2000, help="requests at the same time, of one row each")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60, help="of each of the four rounds beside other clients")
    parser.add_argument("--leave", type=float, default=0.2, help="share of the clients of the last round that go away")
    parser.add_argument("--files", nargs="+", default=list(timing.FILES), help="files of BERT_JUDGE_DATA that the rows are from")
    options = parser.parse_args()
    print(f"{timing.machine()}\njudge: {options.judge}; {options.rows} rows of {len(options.files)} files\n", flush=True)
    texts = timing.mixed(options.rows, options.files)
    columns = list(zip(texts.questions, texts.references, texts.candidates, strict=True))
    rows = [Row("", 0, "", question, (reference,), candidate) for question, reference, candidate in columns]
    asked = [{"question": q, "references": [r], "candidate": c} for q, r, c in columns]
    judge = judge_loading.load_judges([options.judge])[0].judge
    judge.judge(rows[:8])  # converted before the clock starts
    if options.rounds:
        compared(options, judge, rows, asked)
    if options.seconds:
        beside_others(options, judge, rows, asked)


if __name__ == "__main__":
    main()
