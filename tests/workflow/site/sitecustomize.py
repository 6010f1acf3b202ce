"""Python loads this at its start in every process of a workflow under test: it blocks the network and can slow shards down."""

import os
import socket
import time
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
