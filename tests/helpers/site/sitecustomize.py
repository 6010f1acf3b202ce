"""Python loads this at its start in every process of a workflow under test.

It blocks the network, can slow shards down, and lets a server run the jobs' scripts (`script_server.py`).
"""

import json
import os
import socket
import sys
import time
from pathlib import Path
from typing import Any

LOCAL = ("127.0.0.1", "::1", "localhost")


class NetworkBlocked(RuntimeError):
    """Not an OSError, so that no client takes it for a hiccup and works on."""


def _guard(call: Any) -> Any:
    def guarded(self: socket.socket, address: Any, *rest: Any) -> Any:
        if self.family != socket.AF_UNIX and address[0] not in LOCAL:
            raise NetworkBlocked(f"a job of a test tried to reach {address}")
        return call(self, address, *rest)

    return guarded


def _resolve(host: Any, *rest: Any, **options: Any) -> Any:
    if host not in (None, "", *LOCAL, socket.gethostname()):
        raise NetworkBlocked(f"a job of a test tried to look up {host}")
    return resolve(host, *rest, **options)


resolve = socket.getaddrinfo
socket.getaddrinfo = _resolve
socket.socket.connect = _guard(socket.socket.connect)  # type: ignore[method-assign]
socket.socket.connect_ex = _guard(socket.socket.connect_ex)  # type: ignore[method-assign]

# After each shard, a moment in which a test can kill the job.
if pause := float(os.environ.get("PAUSE_AFTER_SHARD", 0)):
    replace = os.replace

    def slow_replace(source: Any, target: Any, **options: Any) -> None:
        replace(source, target, **options)
        if ".work" in os.fspath(target):
            time.sleep(pause)

    os.replace = slow_replace


def _run_in_server(address: str, script: str) -> int:
    """Let the server run a script with this process's streams, folder and environment; return its exit code."""
    request = {"script": script, "folder": str(Path.cwd()), "environment": dict(os.environ)}
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        socket.send_fds(connection, [b"x"], [0, 1, 2])
        connection.sendall(json.dumps(request).encode() + b"\n")
        code = int(connection.makefile().readline())
    return code if code >= 0 else 128 - code


# The stage that downloads is not offline, so it runs in a process of its own.
if (
    (server := os.environ.get("SCRIPT_SERVER"))
    and "/.snakemake/scripts/" in sys.orig_argv[-1]
    and "prepare" not in sys.orig_argv[-1]
):
    os._exit(_run_in_server(server, sys.orig_argv[-1]))
