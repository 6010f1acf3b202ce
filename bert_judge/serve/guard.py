"""Check every request before it is processed: host, origin, token, rate limit and body size."""

from __future__ import annotations

import asyncio
import json
import time
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bert_judge.serve.access import LOCAL_NAMES, RateLimiter, has_token, is_loopback
from bert_judge.serve.limits import Limits, RequestRejected
from bert_judge.serve.metrics import Metrics

API_PREFIXES = ("/v1/", "/metrics", "/openapi.json", "/health")
# Public: it reveals nothing, and load balancers have no token.
PUBLIC_PATH = "/health"
# Routes with their own metrics.
ROUTES = ("/v1/judge", "/v1/judges", "/health", "/metrics", "/openapi.json", "/")
# Up to this multiple of the limit, an oversized body is read and discarded: a client that is still writing would miss the response.
DISCARD_FACTOR = 4
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # Blocks requests to other servers, even from libraries or answers.
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; frame-ancestors 'none'; base-uri 'self'; form-action 'self'"
    ),
}
# The paths of Gradio that the page needs; uploads, proxies and editors are blocked.
PAGE_PATHS = ("/", "/config", "/favicon.ico", "/manifest.json", "/theme.css", "/gradio_api/theme.css")
PAGE_PREFIXES = (
    "/assets/",
    "/static/",
    "/svelte/",
    "/gradio_api/cancel",
    "/gradio_api/heartbeat/",
    "/gradio_api/info",
    "/gradio_api/queue/",
    "/gradio_api/reset",
    "/gradio_api/startup-events",
)


class Guard:
    """ASGI middleware that enforces access rules and limits.

    Args:
        app: receives the complete body in one message.
        host: address of the server.
        token: required from clients; None for no authentication.
    """

    def __init__(self, app: ASGIApp, limits: Limits, host: str, token: str | None, metrics: Metrics) -> None:
        self.app, self.limits, self.token, self.metrics = app, limits, token, metrics
        self._local = is_loopback(host)
        self._rate_limiter = RateLimiter(limits.rate, limits.burst_seconds)
        self._held_bytes = 0
        self._pages: set[asyncio.Task[None]] = set()
        self._released = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._with_metrics(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    def release(self) -> None:
        """Close the connections of open pages, which would otherwise last as long as their browser tabs."""
        self._released = True
        for task in self._pages:
            task.cancel()

    async def _with_metrics(self, scope: Scope, receive: Receive, send: Send) -> None:
        started, status = time.monotonic(), 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        try:
            await self._check_and_forward(scope, receive, send_with_headers)
        finally:
            if status:
                route = scope["path"] if scope["path"] in ROUTES else "other"
                self.metrics.answered(route, status, time.monotonic() - started)

    async def _check_and_forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = bytearray()
        try:
            self._check(scope, Headers(scope=scope))
            await self._read_body(Headers(scope=scope), receive, body)
            await self._forward(scope, _replay_body(bytes(body), receive), send)
        except RequestRejected as rejection:
            await send_rejection(send, rejection, None if is_api(scope["path"]) else "Basic")
        finally:
            self._hold(-len(body))

    async def _forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        task = asyncio.current_task()
        if is_api(scope["path"]) or task is None:
            await self.app(scope, receive, send)
            return
        self._pages.add(task)
        try:
            await self.app(scope, receive, send)
        except asyncio.CancelledError:
            if not self._released:
                raise
        finally:
            self._pages.discard(task)

    def _check(self, scope: Scope, headers: Headers) -> None:
        host = headers.get("host", "")
        # Against DNS rebinding: another site's host name could resolve to this address.
        if self._local and urlsplit(f"//{host}").hostname not in LOCAL_NAMES:
            raise RequestRejected(421, f"host {host!r}: this server only accepts localhost")
        if "origin" in headers and urlsplit(headers["origin"]).netloc != host:
            raise RequestRejected(403, f"origin {headers['origin']!r}: cross-origin requests are not allowed")
        if self.token is not None and scope["path"] != PUBLIC_PATH and not has_token(headers.get("authorization", ""), self.token):
            raise RequestRejected(401, "the token is missing or wrong; send the header Authorization: Bearer TOKEN")
        if not is_api(scope["path"]) and scope["path"] not in PAGE_PATHS and not scope["path"].startswith(PAGE_PREFIXES):
            raise RequestRejected(404, f"{scope['path']}: not found")
        if scope["method"] == "POST":
            self._rate_limiter.take((scope.get("client") or ("?", 0))[0])

    async def _read_body(self, headers: Headers, receive: Receive, body: bytearray) -> None:
        """Read the body, up to the limit."""
        content_length = headers.get("content-length", "")
        too_large = content_length.isdigit() and int(content_length) > self.limits.body_bytes
        if too_large and headers.get("expect", "").lower() == "100-continue":
            raise self._body_too_large()
        size, more = 0, True
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                while more and not (too_large and size > DISCARD_FACTOR * self.limits.body_bytes):
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return
                    size += len(message.get("body", b""))
                    too_large = too_large or size > self.limits.body_bytes
                    if not too_large:
                        self._hold(len(message.get("body", b"")))
                        body += message.get("body", b"")
                    more = message.get("more_body", False)
        except TimeoutError as error:
            raise RequestRejected(408, f"the body did not arrive within {self.limits.body_seconds:g} seconds") from error
        if too_large:
            raise self._body_too_large()

    def _hold(self, size: int) -> None:
        if size > 0 and self._held_bytes + size > self.limits.held_bytes:
            raise RequestRejected(503, "the server is overloaded; try again later", 1)
        self._held_bytes += size
        self.metrics.held(self._held_bytes)

    def _body_too_large(self) -> RequestRejected:
        return RequestRejected(413, f"the body is larger than {self.limits.body_bytes:,} bytes; send several requests")


def is_api(path: str) -> bool:
    return path.startswith(API_PREFIXES)


def rejection_headers(rejection: RequestRejected, challenge: str | None = None) -> dict[str, str]:
    """Return the response headers of a rejection."""
    headers = {} if rejection.retry_after is None else {"Retry-After": str(rejection.retry_after)}
    if rejection.status == 401:
        headers["WWW-Authenticate"] = 'Basic realm="bert-judge", charset="UTF-8"' if challenge == "Basic" else "Bearer"
    return headers


async def send_rejection(send: Send, rejection: RequestRejected, challenge: str | None = None) -> None:
    """Send a rejection as JSON."""
    body = json.dumps({"error": str(rejection)}, ensure_ascii=False).encode("utf-8", "replace")
    headers = {"content-type": "application/json", "content-length": str(len(body)), **rejection_headers(rejection, challenge)}
    encoded = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": rejection.status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that first yields a body that was read before."""
    pending = [body]

    async def next_message() -> Message:
        if pending:
            return {"type": "http.request", "body": pending.pop(), "more_body": False}
        return await receive()

    return next_message
