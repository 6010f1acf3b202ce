"""Waiting times of `/health` and of one client's rows while another client sends the most expensive requests that are allowed.

    python benchmarks/serve_attacks.py [--seconds 30] [--connections 20]

Needs the extra `serve`. Three attacks from one address, each against a server of its own with the default limits: requests of the
largest size (1,000 answers of 8,000 characters) to `contains`, requests of 1,000 formulas that never end to `math_verify`, and
requests of 20 rows of the largest size to `general`. A connection sends the next request as soon as the last one is answered.
Meanwhile a client of another address asks for `/health` and for one row, in turn. Prints a line per attack: what was answered
to the attacker, and the waiting times of the client.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections import Counter
from contextlib import suppress
from typing import Any

import numpy as np
import timing
from serve_load import connected, read_answer, request, served

ATTACKER, CLIENT = "127.0.2.1", "127.0.1.1"
HEALTH = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
ROW = {"question": "2 + 2?", "references": "\\frac{8}{2}", "candidate": "The answer is \\frac{4}{1}."}
LONG = " ".join(f"word{number}" for number in range(11_000))
# Name → judge, rows per request, row.
ATTACKS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "largest requests to contains": ("contains", 1000, {"references": "Paris", "candidate": "It is Bonn, or Rome. " * 380}),
    "endless formulas to math_verify": ("math_verify", 1000, {"references": "2^{8}", "candidate": "$9^{9^{9^{9^{9}}}}+1$"}),
    "largest rows to general": ("general", 20, {"references": [LONG[:99_000]] * 2, "candidate": LONG[:99_000]}),
}
HEADER = ("attack", "its answers", "/health: median, s", "longest, s", "a row: median, s", "longest, s", "rows answered")


async def attack(address: str, body: bytes, answers: Counter[int]) -> None:
    """Send one request after the other."""
    while True:
        with suppress(OSError):
            async with connected(address, ATTACKER) as (reader, writer):
                while True:
                    writer.write(request(body))
                    await writer.drain()
                    status, *_ = await read_answer(reader)
                    answers[status] += 1
                    await asyncio.sleep(0 if status == 200 else 0.2)


async def wait_for(address: str, content: bytes) -> tuple[int, float]:
    """Return the status of an answer, and the seconds until it came."""
    started = time.monotonic()
    async with connected(address, CLIENT) as (reader, writer):
        writer.write(content)
        status, *_ = await read_answer(reader)
    return status, time.monotonic() - started


async def measure(address: str, num_rows: int, row: dict[str, Any], seconds: float, connections: int) -> list[str]:
    body = json.dumps({"rows": [{**row, "candidate": f"{row['candidate']}{n}"} for n in range(num_rows)]}).encode()
    answers: Counter[int] = Counter()
    health, rows, statuses = [], [], []
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(attack(address, body, answers)) for _ in range(connections)]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            health.append((await wait_for(address, HEALTH))[1])
            status, waited = await wait_for(address, request(json.dumps(ROW).encode()))
            statuses.append(status)
            rows.append(waited)
        for task in tasks:
            task.cancel()
    said = ", ".join(f"{count} × {status}" for status, count in sorted(answers.items())) or "none yet"
    times = [f"{value:.2f}" for waits in (health, rows) for value in (np.median(waits), max(waits))]
    return [said, *times, f"{statuses.count(200)} of {len(statuses)}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--connections", type=int, default=20)
    options = parser.parse_args()
    lines = []
    for name, (judge, num_rows, row) in ATTACKS.items():
        with served(judge) as (_, address):
            asyncio.run(wait_for(address, request(json.dumps(ROW).encode())))
            lines.append([name, *asyncio.run(measure(address, num_rows, row, options.seconds, options.connections))])
    print(f"{timing.machine()}\n\n{timing.table(HEADER, lines)}")


if __name__ == "__main__":
    main()
