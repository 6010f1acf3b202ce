"""Two servers with different judges behind HAProxy at one address, of which one is killed under load."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from helpers.ports import free_port
from helpers.serve_clients import until

pytestmark = pytest.mark.skipif(shutil.which("haproxy") is None, reason="haproxy is not installed")

EXAMPLE = Path(__file__).parents[3] / "examples" / "haproxy.cfg"
ROW = {"question": "Capital?", "references": "Paris", "candidate": "It is Paris."}


@pytest.fixture
def proxied(tmp_path: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """Address of the proxy of the example, and the processes of its two servers; the second serves exact_match as `general`."""
    ports = {port: free_port() for port in ("8000", "8001", "8002")}
    text = EXAMPLE.read_text("utf-8").replace("general", "exact_match")
    for port, free in ports.items():
        text = text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{free}")
    (tmp_path / "haproxy.cfg").write_text(text, "utf-8")
    serve = [sys.executable, "-c", "from bert_judge.cli import app; app()", "serve", "--port"]
    processes = [
        subprocess.Popen([*serve, str(ports[port]), "--judge", judge], cwd=tmp_path, stderr=subprocess.DEVNULL)
        for port, judge in (("8001", "contains"), ("8002", "exact_match"))
    ]
    processes.append(subprocess.Popen(["haproxy", "-db", "-f", str(tmp_path / "haproxy.cfg")], stderr=subprocess.DEVNULL))
    yield f"http://127.0.0.1:{ports['8000']}/v1/judge", processes[:2]
    for process in processes:
        process.kill()
        process.wait()


def ask(address: str, judge: str) -> httpx2.Response:
    return httpx2.post(address, json={**ROW, "judge": judge}, timeout=60)


def test_a_killed_server_takes_only_its_own_judge_along(proxied: tuple[str, list[subprocess.Popen[bytes]]]) -> None:
    address, servers = proxied
    until(lambda: all(status(address, judge) == 200 for judge in ("contains", "exact_match")))
    assert [ask(address, judge).json()["verdict"] for judge in ("contains", "exact_match")] == ["correct", "incorrect"]
    with ThreadPoolExecutor(4) as pool:
        under_load = [pool.submit(ask, address, "contains") for _ in range(100)]
        servers[1].kill()
        servers[1].wait()
        assert {answer.result().status_code for answer in under_load} == {200}
    assert ask(address, "exact_match").status_code == 503
    assert ask(address, "contains").json()["verdict"] == "correct"


def status(address: str, judge: str) -> int | None:
    try:
        return ask(address, judge).status_code
    except httpx2.TransportError:
        return None
