"""Check addresses, tokens and rate limits."""

from __future__ import annotations

import hmac
import ipaddress
import math
import os
import time
from base64 import b64decode
from binascii import Error as NotBase64
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from bert_judge.runtime.errors import InputError
from bert_judge.serve.limits import RequestRejected

TOKEN_VARIABLE = "BERT_JUDGE_TOKEN"
# Shorter tokens can be guessed.
MIN_TOKEN_LENGTH = 16
MAX_CLIENTS = 10_000
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]", "::1")


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
            raise InputError(f"--token-file {file}: cannot be read: {error}") from error
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
    """Require a token unless the address is loopback.

    Raises:
        InputError: the address is public and there is no token.
    """
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
    """Per-client token bucket.

    Args:
        rate: requests per second; 0 for no limit.
        burst_seconds: time to fill an empty bucket.
        clock: returns seconds.
    """

    def __init__(self, rate: float, burst_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate = rate
        self.capacity = max(1.0, rate * burst_seconds)
        self._clock = clock
        # Client → (tokens, time of the last request), least recent first.
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str) -> None:
        """Count a request.

        Raises:
            RequestRejected: the client exceeds the rate limit.
        """
        if not self.rate:
            return
        now = self._clock()
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
