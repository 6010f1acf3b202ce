"""What every request passes before anything looks at it: whose it is, how large it is, how often its client asks."""

from __future__ import annotations

import asyncio
import json
import time
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bert_judge.serve.access import LOCAL_NAMES, Rate, is_loopback, knows_token
from bert_judge.serve.limits import Limits, Refused
from bert_judge.serve.metrics import Metrics

API = ("/v1/", "/metrics", "/openapi.json", "/health")
# Tells nothing that is worth a token, and load balancers have none.
OPEN = "/health"
# Counted each by itself.
ROUTES = ("/v1/judge", "/v1/judges", "/health", "/metrics", "/openapi.json", "/")
# Of a body that is too large so much is read and thrown away: a client that still writes would not see why it was refused.
DISCARDED = 4
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # The page asks no other server for anything, whatever its libraries or a model's answer would like.
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; frame-ancestors 'none'; base-uri 'self'; form-action 'self'"
    ),
}
# Of all that Gradio's server offers, uploads, proxies and editors among it, the page needs this.
PAGE = ("/", "/config", "/favicon.ico", "/manifest.json", "/theme.css", "/gradio_api/theme.css")
PAGE_PARTS = (
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
    """ASGI middleware.

    Args:
        app: gets a body that is whole, and after it what the connection says further.
        host: the address of the server.
        token: that clients must know; None: whoever reaches the server may ask.
    """

    def __init__(self, app: ASGIApp, limits: Limits, host: str, token: str | None, metrics: Metrics) -> None:
        self.app, self.limits, self.token, self.metrics = app, limits, token, metrics
        self._local = is_loopback(host)
        self._rate = Rate(limits.rate, limits.burst_seconds)
        self._held = 0
        self._pages: set[asyncio.Task[None]] = set()
        self._released = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._counted(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    def release(self) -> None:
        """End the connections of open pages, which would last as long as their browsers."""
        self._released = True
        for task in self._pages:
            task.cancel()

    async def _counted(self, scope: Scope, receive: Receive, send: Send) -> None:
        started, answered = time.monotonic(), 0

        async def sent(message: Message) -> None:
            nonlocal answered
            if message["type"] == "http.response.start":
                answered = message["status"]
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        try:
            await self._http(scope, receive, sent)
        finally:
            if answered:
                route = scope["path"] if scope["path"] in ROUTES else "other"
                self.metrics.answered(route, answered, time.monotonic() - started)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = bytearray()
        try:
            self._check(scope, Headers(scope=scope))
            await self._read(Headers(scope=scope), receive, body)
            await self._pass_on(scope, _first(bytes(body), receive), send)
        except Refused as refused:
            await send_fault(send, refused, None if is_api(scope["path"]) else "Basic")
        finally:
            self._hold(-len(body))

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
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
        # A page elsewhere could let its name point here, and ask in its reader's name.
        if self._local and urlsplit(f"//{host}").hostname not in LOCAL_NAMES:
            raise Refused(421, f"host {host!r}: this server answers to localhost only")
        if "origin" in headers and urlsplit(headers["origin"]).netloc != host:
            raise Refused(403, f"origin {headers['origin']!r}: pages of other servers may not ask")
        if self.token is not None and scope["path"] != OPEN and not knows_token(headers.get("authorization", ""), self.token):
            raise Refused(401, "the token is missing or wrong; send the header Authorization: Bearer TOKEN")
        if not is_api(scope["path"]) and scope["path"] not in PAGE and not scope["path"].startswith(PAGE_PARTS):
            raise Refused(404, f"{scope['path']}: there is nothing here")
        if scope["method"] == "POST":
            self._rate.take((scope.get("client") or ("?", 0))[0])

    async def _read(self, headers: Headers, receive: Receive, body: bytearray) -> None:
        """Gather the body, as far as it may go."""
        told = headers.get("content-length", "")
        over = told.isdigit() and int(told) > self.limits.body_bytes
        if over and headers.get("expect", "").lower() == "100-continue":
            raise self._too_large()
        size, more = 0, True
        try:
            async with asyncio.timeout(self.limits.body_seconds):
                while more and not (over and size > DISCARDED * self.limits.body_bytes):
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return
                    size += len(message.get("body", b""))
                    over = over or size > self.limits.body_bytes
                    if not over:
                        self._hold(len(message.get("body", b"")))
                        body += message.get("body", b"")
                    more = message.get("more_body", False)
        except TimeoutError as error:
            raise Refused(408, f"the body did not arrive within {self.limits.body_seconds:g} seconds") from error
        if over:
            raise self._too_large()

    def _hold(self, size: int) -> None:
        if size > 0 and self._held + size > self.limits.held_bytes:
            raise Refused(503, "too many requests are being answered; try again later", 1)
        self._held += size
        self.metrics.held(self._held)

    def _too_large(self) -> Refused:
        return Refused(413, f"the body is larger than {self.limits.body_bytes:,} bytes; send several requests")


def is_api(path: str) -> bool:
    return path.startswith(API)


def fault_headers(refused: Refused, challenge: str | None = None) -> dict[str, str]:
    """Headers beside the line of a refusal."""
    headers = {} if refused.retry_after is None else {"Retry-After": str(refused.retry_after)}
    if refused.status == 401:
        headers["WWW-Authenticate"] = 'Basic realm="bert-judge", charset="UTF-8"' if challenge == "Basic" else "Bearer"
    return headers


async def send_fault(send: Send, refused: Refused, challenge: str | None = None) -> None:
    """Answer with the line of a refusal."""
    body = json.dumps({"error": str(refused)}, ensure_ascii=False).encode("utf-8", "replace")
    headers = {"content-type": "application/json", "content-length": str(len(body)), **fault_headers(refused, challenge)}
    listed = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": refused.status, "headers": listed})
    await send({"type": "http.response.body", "body": body})


def _first(body: bytes, receive: Receive) -> Receive:
    """A connection whose body is there already."""
    left = [body]

    async def next_message() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return next_message
