"""Run the server process: bind, bound the connections, load judges, serve until SIGTERM, and finish accepted requests."""

import asyncio
import json
import logging
import resource
import socket
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from bert_judge.runtime.errors import InputError
from bert_judge.serve.app import make_app
from bert_judge.serve.chat import read_templates
from bert_judge.serve.guard import Guard, check_address, read_token
from bert_judge.serve.judge_pool import select_judges
from bert_judge.serve.limits import Limits, Metrics

log = logging.getLogger(__name__)

# File descriptors that a server needs at least, and those it keeps for files and for connections that it has not counted yet.
MIN_FILES = 128
MIN_RESERVED_FILES, RESERVED_FILES = 64, 256
# More would only take memory.
MAX_CONNECTIONS = 8192
# A client whose connection was refused may try again after this many seconds.
RETRY_SECONDS = 1
# Refused connections that stay open for this time, so that a client that is still writing reads the answer; more are cut off.
MAX_LINGERING = 32
# A message about clients is logged at most once in this many seconds.
LOG_SECONDS = 30.0


def raise_file_limit() -> tuple[int, int]:
    """Raise the limit on open files as far as allowed; return those of connections and backlog. Raises InputError: too low."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = MAX_CONNECTIONS + RESERVED_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_CONNECTIONS + RESERVED_FILES)
    if files < MIN_FILES:
        raise InputError(f"only {files} open files are allowed, and a server needs {MIN_FILES}; raise the limit with ulimit -n")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(files, resource.getrlimit(resource.RLIMIT_NOFILE)[0]), hard))
    reserved = min(RESERVED_FILES, max(MIN_RESERVED_FILES, files // 4))
    # Connections in the backlog are all accepted at once, before any of them is counted.
    return files - reserved, reserved // 2


class Connections:
    """Counts the open connections of each client."""

    def __init__(self, limit: int, limits: Limits) -> None:
        self.limit, self.header_seconds = limit, limits.header_seconds
        # A single client cannot shut out the others; behind a proxy all have its address.
        self.client_limit = max(1, limit // 2)
        self._open: Counter[str] = Counter()

    def add(self, client: str) -> str | None:
        """Count a connection; return why it is refused, or None."""
        self._open[client] += 1
        if self._open.total() > self.limit:
            return f"the server has {self.limit:,} connections; try again later"
        if self._open[client] > self.client_limit:
            return f"{self.client_limit:,} connections from one address are the limit; reuse connections"
        return None

    @property
    def excess(self) -> int:
        """The number of open connections above the limit."""
        return self._open.total() - self.limit

    def remove(self, client: str) -> None:
        self._open[client] -= 1
        if not self._open[client]:
            del self._open[client]


class BoundedProtocol(H11Protocol):
    """HTTP connection that is refused above the limits, and closed if the headers of a request do not arrive in time.

    Attributes:
        counts: set by the server before it starts.
    """

    counts: Connections
    _is_refused = False
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._address = self.client[0] if self.client else "?"
        problem = self.counts.add(self._address)
        if problem is None:
            self._restart_timer()
            return
        log.warning("refused a connection: %s", problem)
        body = json.dumps({"error": problem}).encode()
        head = f"HTTP/1.1 503 Service Unavailable\r\nretry-after: {RETRY_SECONDS}\r\nconnection: close\r\n"
        transport.write(f"{head}content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body)
        self._is_refused = True
        if self.counts.excess > MAX_LINGERING:
            transport.close()
        else:
            transport.write_eof()
            self._timer = self.loop.call_later(RETRY_SECONDS, transport.close)

    def connection_lost(self, exc: Exception | None) -> None:
        self.counts.remove(self._address)
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_refused or self.transport.is_closing():
            return
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_timer()
        elif self._timer is None:
            self._restart_timer()

    def _restart_timer(self) -> None:
        # Not extended by further bytes: a header that arrives byte by byte must be complete by then, too.
        self._timer = self.loop.call_later(self.counts.header_seconds, self._close)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _close(self) -> None:
        self._timer = None
        # Without a wait for data that the client does not read.
        self.transport.abort()


class LimitedLog(logging.Filter):
    """Lets a message about clients through once per interval, whatever they do; others that are alike are counted."""

    def __init__(self, seconds: float = LOG_SECONDS) -> None:
        super().__init__()
        self._seconds = seconds
        # Format of a message → when it was last logged, and how many were left out since.
        self._last: dict[str, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        now = time.monotonic()
        last, omitted = self._last.get(str(record.msg), (-self._seconds, 0))
        if record.levelno >= logging.WARNING and now - last < self._seconds:
            self._last[str(record.msg)] = last, omitted + 1
            return False
        self._last[str(record.msg)] = now, 0
        if omitted:
            record.msg, record.args = f"{record.getMessage()} ({omitted:,} more like this)", ()
        return True


# On shutdown, requests are accepted until none arrived for QUIET_SECONDS, at most for SETTLE_SECONDS.
QUIET_SECONDS, SETTLE_SECONDS = 0.5, 5.0


def serve(
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    judges: Sequence[str] = (),
    policy: str | None = None,
    config_files: Sequence[Path] = (),
    results: Path = Path("results"),
    token_file: Path | None = None,
    aliases: Sequence[str] = (),
    templates: Path | None = None,
    limits: Limits,
) -> None:
    """Serve until SIGTERM or SIGINT; accepted requests are answered first. The arguments are the options of `bert-judge serve`.

    Raises:
        InputError: the address is unavailable or requires a token, a judge cannot be loaded, or the file of templates is invalid.
    """
    token = read_token(token_file)
    check_address(host, token)
    known_templates = read_templates(templates)
    sock = bind_socket(host, port)
    metrics = Metrics()
    pool = replace(select_judges(judges, config_files, results, limits, metrics=metrics, policy=policy), aliases=aliases)
    pool.load()
    guard = Guard(make_app(pool, limits, metrics, known_templates), limits, host, token, metrics=metrics)
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
        for name in ("uvicorn.error", "asyncio", log.name):
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
