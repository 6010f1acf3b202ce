"""Check every request before it is processed: host, origin, token, rate limit and body size."""

import asyncio
import hmac
import ipaddress
import math
import os
import time
from base64 import b64decode
from binascii import Error as NotBase64
from collections import Counter, OrderedDict
from pathlib import Path
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bert_judge.runtime.errors import InputError
from bert_judge.serve.limits import Limits, Metrics, RequestRejected

TOKEN_VARIABLE = "BERT_JUDGE_TOKEN"
# Shorter tokens can be guessed.
MIN_TOKEN_LENGTH = 16
MAX_CLIENTS = 10_000
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]", "::1")
API_PREFIXES = ("/v1/", "/metrics", "/openapi.json", "/health")
# Public: it reveals nothing, and load balancers have no token.
PUBLIC_PATH = "/health"
# Routes with their own metrics.
ROUTES = (
    *("/v1/judge", "/v1/judges", "/v1/decisions", "/v1/systemone", "/v1/chat/completions", "/v1/models"),
    *("/health", "/metrics", "/openapi.json", "/"),
)
# Up to this multiple of the limit, an oversized body is read and discarded: a client that is still writing would miss the response.
DISCARD_FACTOR = 4
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    # Blocks requests to other servers, and markup in answers.
    "Content-Security-Policy": (
        "default-src 'none'; connect-src 'self'; script-src 'self'; style-src 'self'; img-src data:; frame-ancestors 'none'; "
        "base-uri 'none'; form-action 'none'"
    ),
}
PAGE_PATHS = ("/", "/page.js", "/page.css")


def is_loopback(host: str) -> bool:
    """Return whether a server on this address is only reachable from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_token(file: Path | None) -> str | None:
    """Return the token from a file or the environment; None if there is none.

    Raises:
        InputError: the file is missing, or the token is too short or not ASCII.
    """
    if file is not None:
        try:
            token, origin = file.read_text("utf-8").strip(), str(file)
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"--token-file {file}: cannot be read: {getattr(error, 'strerror', 'not UTF-8 text')}") from error
    else:
        token, origin = os.environ.get(TOKEN_VARIABLE, "").strip(), TOKEN_VARIABLE
        if not token:
            return None
    if len(token) < MIN_TOKEN_LENGTH or not token.isascii() or not token.isprintable():
        raise InputError(
            f"{origin}: a token needs {MIN_TOKEN_LENGTH} or more printable ASCII characters; create one with openssl rand -hex 32"
        )
    return token


def check_address(host: str, token: str | None) -> None:
    """Require a token unless the address is loopback. Raises InputError: the address is public and there is no token."""
    if token is None and not is_loopback(host):
        raise InputError(
            f"--host {host}: reachable from other machines, which requires a token; set {TOKEN_VARIABLE} or --token-file"
        )


def has_token(authorization: str, token: str) -> bool:
    """Return whether a header has the token: `Bearer TOKEN`, or `Basic` with the token as password, as browsers send it."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "basic":
        try:
            value = b64decode(value.strip(), validate=True).decode("utf-8", "replace").partition(":")[2]
        except NotBase64:
            value = ""
    elif scheme.lower() != "bearer":
        value = ""
    # In constant time, against timing attacks.
    return hmac.compare_digest(value.strip().encode("utf-8", "replace"), token.encode())


class RateLimiter:
    """Token bucket per client: `rate` requests per second, 0 for no limit; an empty bucket is full after `burst_seconds`."""

    def __init__(self, rate: float, burst_seconds: float) -> None:
        self.rate = rate
        self.capacity = max(1.0, rate * burst_seconds)
        # Client → (tokens, time of the last request), least recent first.
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str) -> None:
        """Count a request. Raises RequestRejected: the client exceeds the rate limit."""
        if not self.rate:
            return
        now = time.monotonic()
        tokens, last = self._buckets.pop(client, (self.capacity, now))
        tokens = min(self.capacity, tokens + (now - last) * self.rate)
        if tokens < 1:
            self._buckets[client] = (tokens, now)
            wait = math.ceil((1 - tokens) / self.rate)
            raise RequestRejected(
                429, f"rate limit of {self.rate:g} requests per second exceeded; send rows in batches, or wait", wait
            )
        self._buckets[client] = (tokens - 1, now)
        if len(self._buckets) > MAX_CLIENTS:
            self._buckets.popitem(last=False)


class Guard:
    """ASGI middleware that enforces access rules and limits.

    Args:
        app: receives the complete body in one message.
        host: address of the server.
        token: required from clients; None for no authentication.
    """

    def __init__(self, app: ASGIApp, limits: Limits, host: str, token: str | None, *, metrics: Metrics) -> None:
        self.app, self.limits, self.token, self.metrics = app, limits, token, metrics
        self._local = is_loopback(host)
        self._rate_limiter = RateLimiter(limits.rate, limits.burst_seconds)
        # Client → size of its bodies in progress.
        self._held: Counter[str] = Counter()
        # The server is stopping: clients are told to send further requests on a new connection, to another server.
        self.draining = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._with_metrics(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _with_metrics(self, scope: Scope, receive: Receive, send: Send) -> None:
        started, status = time.monotonic(), 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message).update(HEADERS | ({"Connection": "close"} if self.draining else {}))
            await send(message)

        try:
            await self._check_and_forward(scope, receive, send_with_headers)
        finally:
            if status:
                route = scope["path"] if scope["path"] in ROUTES else "other"
                self.metrics.answered(route, status, time.monotonic() - started)

    async def _check_and_forward(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, client = bytearray(), (scope.get("client") or ("?", 0))[0]
        try:
            self._check(scope, Headers(scope=scope), client)
            await self._read_body(Headers(scope=scope), receive, body, client)
            await self.app(scope, _replay_body(bytes(body), receive), send)
        except RequestRejected as rejection:
            challenge = "Bearer" if scope["path"].startswith(API_PREFIXES) else 'Basic realm="bert-judge", charset="UTF-8"'
            await error_response(rejection, challenge)(scope, receive, send)
        finally:
            self._hold(-len(body), client)

    def _check(self, scope: Scope, headers: Headers, client: str) -> None:
        host = headers.get("host", "")
        try:
            hostname, origin = urlsplit(f"//{host}").hostname, urlsplit(headers.get("origin", f"//{host}")).netloc
        except ValueError as error:
            raise RequestRejected(400, "the header Host or Origin is not that of a web address") from error
        # Against DNS rebinding: another site's host name could resolve to this address.
        if self._local and hostname not in LOCAL_NAMES:
            raise RequestRejected(421, f"host {host!r}: this server only accepts localhost")
        if "origin" in headers and origin != host:
            raise RequestRejected(403, f"origin {headers['origin']!r}: cross-origin requests are not allowed")
        if self.token is not None and scope["path"] != PUBLIC_PATH and not has_token(headers.get("authorization", ""), self.token):
            raise RequestRejected(401, "the token is missing or wrong; send the header Authorization: Bearer TOKEN")
        if not scope["path"].startswith(API_PREFIXES) and scope["path"] not in PAGE_PATHS:
            raise RequestRejected(404, f"{scope['path']}: not found")
        if scope["method"] == "POST":
            self._rate_limiter.take(client)

    async def _read_body(self, headers: Headers, receive: Receive, body: bytearray, client: str) -> None:
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
                        self._hold(len(message.get("body", b"")), client)
                        body += message.get("body", b"")
                    more = message.get("more_body", False)
        except TimeoutError as error:
            raise RequestRejected(408, f"the body did not arrive within {self.limits.body_seconds:g} seconds") from error
        if too_large:
            raise self._body_too_large()

    def _hold(self, size: int, client: str) -> None:
        total, limit = self._held.total() + size, self.limits.held_bytes
        # A single client cannot shut out the others; behind a proxy all have its address.
        if size > 0 and (total > limit or self._held[client] + size > limit // 2):
            raise RequestRejected(503, "the server is overloaded; try again later", 1)
        self._held[client] += size
        if not self._held[client]:
            del self._held[client]
        self.metrics.held(total)

    def _body_too_large(self) -> RequestRejected:
        return RequestRejected(413, f"the body is larger than {self.limits.body_bytes:,} bytes; send several requests")


def error_response(rejection: RequestRejected, challenge: str = "Bearer") -> JSONResponse:
    """Return the response to a rejected request; `challenge` is how a client without a token is asked for it."""
    headers = {} if rejection.retry_after is None else {"Retry-After": str(rejection.retry_after)}
    if rejection.status == 401:
        headers["WWW-Authenticate"] = challenge
    return JSONResponse({"error": str(rejection)}, rejection.status, headers)


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that first yields a body that was read before."""
    pending = [body]

    async def next_message() -> Message:
        if pending:
            return {"type": "http.request", "body": pending.pop(), "more_body": False}
        return await receive()

    return next_message
