"""Run the server process: bind, load judges, serve until SIGTERM, and finish accepted requests."""

import asyncio
import logging
import socket
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import uvicorn

from bert_judge.runtime.errors import InputError
from bert_judge.serve.app import make_app
from bert_judge.serve.connections import BoundedProtocol, Connections, LimitedLog, raise_file_limit
from bert_judge.serve.connections import log as connections_log
from bert_judge.serve.guard import Guard, check_address, read_token
from bert_judge.serve.judge_pool import select_judges
from bert_judge.serve.limits import Limits
from bert_judge.serve.metrics import Metrics

log = logging.getLogger(__name__)

# On shutdown, requests are accepted until none arrived for QUIET_SECONDS, at most for SETTLE_SECONDS.
QUIET_SECONDS, SETTLE_SECONDS = 0.5, 5.0


def serve(
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    judges: Sequence[str] = (),
    config_files: Sequence[Path] = (),
    results: Path = Path("results"),
    token_file: Path | None = None,
    limits: Limits,
) -> None:
    """Serve until SIGTERM or SIGINT; accepted requests are answered first. The arguments are the options of `bert-judge serve`.

    Raises:
        InputError: the address is unavailable or requires a token, or a judge cannot be loaded.
    """
    token = read_token(token_file)
    check_address(host, token)
    sock = bind_socket(host, port)
    metrics = Metrics()
    pool = select_judges(judges, config_files, results, limits, metrics)
    pool.load()
    guard = Guard(make_app(pool, limits, metrics), limits, host, token, metrics)
    connections, backlog = raise_file_limit()
    address, port = sock.getsockname()[:2]
    log.info("http://%s:%d: %s", f"[{address}]" if ":" in address else address, port, ", ".join(b.name for b in pool.all))
    Server(guard, limits, connections, backlog).run([sock])
    pool.close()


def bind_socket(host: str, port: int) -> socket.socket:
    """Return a bound socket that does not listen yet. Raises InputError: the address does not exist or is in use."""
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        sock = socket.socket(family, kind)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
    except OSError as error:
        raise InputError(f"{host}:{port}: cannot bind: {error.strerror}; choose another --host or --port") from error
    return sock


class Server(uvicorn.Server):
    """Uvicorn server that answers all accepted requests before it stops."""

    def __init__(self, guard: Guard, limits: Limits, connections: int, backlog: int) -> None:
        counts = Connections(connections, limits)
        config = uvicorn.Config(
            guard,
            log_config=None,
            access_log=False,
            server_header=False,
            # Otherwise a client could spoof its address to evade the rate limit.
            proxy_headers=False,
            http=type("Protocol", (BoundedProtocol,), {"counts": counts}),
            backlog=backlog,
            timeout_graceful_shutdown=round(limits.body_seconds + limits.answer_seconds),
        )
        super().__init__(config)
        self._guard = guard
        log.info("up to %d connections, %d of them from one address", counts.limit, counts.client_limit)
        for name in ("uvicorn.error", "asyncio", connections_log.name):
            logging.getLogger(name).addFilter(LimitedLog())

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Request shutdown, but exit with status 0 instead of re-raising the signal as uvicorn does."""
        self.should_exit = True
        self._guard.draining = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        log.info("shutting down; accepted requests are answered first")
        await self._drain_backlog()
        await super().shutdown(sockets)

    async def _drain_backlog(self) -> None:
        """Accept connections that are still in the kernel's backlog, which closing the socket would drop."""
        previous, deadline = -1, time.monotonic() + SETTLE_SECONDS
        while (
            now := self.server_state.total_requests + len(self.server_state.connections)
        ) != previous and time.monotonic() < deadline:
            previous = now
            await asyncio.sleep(QUIET_SECONDS)
