"""The process: binds an address, loads the judges, serves until it is asked to stop, and then finishes what it has taken."""

from __future__ import annotations

import asyncio
import logging
import resource
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import uvicorn

from bert_judge.runtime.errors import InputError
from bert_judge.serve import judge_selection
from bert_judge.serve.access import check_address, read_token
from bert_judge.serve.app import make_app
from bert_judge.serve.guard import Guard
from bert_judge.serve.judge_pool import Roster
from bert_judge.serve.limits import Limits
from bert_judge.serve.metrics import Metrics

log = logging.getLogger(__name__)

# Of a page that waits for its last answer.
PAGE_SECONDS = 1.0
# New requests are still taken until none has come for the one, but no longer than the other.
QUIET_SECONDS, SETTLE_SECONDS = 0.5, 5.0
# Files and sockets that are no client's.
OWN_FILES = 256


@dataclass(frozen=True)
class Options:
    """What the command line asks for; see `cli.serve`."""

    host: str = "127.0.0.1"
    port: int = 8000
    judges: Sequence[str] = ()
    files: Sequence[Path] = ()
    results: Path = Path("results")
    token_file: Path | None = None
    labels: Path | None = None
    page: bool = True
    limits: Limits = field(default_factory=Limits)


def serve(options: Options) -> None:
    """Serve until SIGTERM or SIGINT; requests that were taken are answered first.

    Raises:
        InputError: the address cannot be had or needs a token, or a judge cannot be loaded.
    """
    token = read_token(options.token_file)
    check_address(options.host, token)
    sock = bound(options.host, options.port)
    metrics = Metrics()
    roster = judge_selection.choose(options.judges, options.files, options.results, options.limits, metrics)
    roster.load()
    app = make_app(roster, options.limits, metrics)
    if options.page:
        # Only here: it takes longer to import than all the rest.
        from bert_judge.serve.page.app import mount
        from bert_judge.serve.page.requests import Asking

        mount(app, Asking(roster, options.limits), options.results, options.labels or judge_selection.marks(options.files))
    guard = Guard(app, options.limits, options.host, token, metrics)
    address, port = sock.getsockname()[:2]
    log.info("http://%s:%d: %s", f"[{address}]" if ":" in address else address, port, ", ".join(b.name for b in roster.all))
    Server(guard, roster, options.limits).run([sock])
    roster.close()


def bound(host: str, port: int) -> socket.socket:
    """A socket with this address, which does not listen yet.

    Raises:
        InputError: there is no such address, or another program has it.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        sock = socket.socket(family, kind)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind(address)
    except OSError as error:
        raise InputError(f"{host}:{port}: cannot be served on: {error.strerror}; choose another --host or --port") from error
    return sock


class Server(uvicorn.Server):
    """Serves an application until it is asked to stop, and then until all that it has taken is answered."""

    def __init__(self, guard: Guard, roster: Roster, limits: Limits) -> None:
        config = uvicorn.Config(
            guard,
            log_config=None,
            access_log=False,
            server_header=False,
            # Otherwise a client could choose the address that its rate is counted under.
            proxy_headers=False,
            limit_concurrency=resource.getrlimit(resource.RLIMIT_NOFILE)[0] - OWN_FILES,
            timeout_graceful_shutdown=round(limits.body_seconds + limits.answer_seconds),
        )
        super().__init__(config)
        self._guard, self._roster = guard, roster

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """As uvicorn's, but the process ends well when all is answered, not by the signal."""
        self.should_exit = True

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        log.info("asked to stop; what was taken is answered first")
        await self._settle()
        releasing = asyncio.create_task(self._release())
        await super().shutdown(sockets)
        releasing.cancel()

    async def _settle(self) -> None:
        """Take what has reached this machine already: closing the door drops connections that the process has not accepted yet."""
        before, end = -1, time.monotonic() + SETTLE_SECONDS
        while (now := self.server_state.total_requests + len(self.server_state.connections)) != before and time.monotonic() < end:
            before = now
            await asyncio.sleep(QUIET_SECONDS)

    async def _release(self) -> None:
        while any(batcher.busy for batcher in self._roster.all):
            await asyncio.sleep(0.1)
        await asyncio.sleep(PAGE_SECONDS)
        self._guard.release()
