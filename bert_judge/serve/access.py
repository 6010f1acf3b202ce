"""Who may ask, how often, and from where."""

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
from bert_judge.serve.limits import Refused

TOKEN_VARIABLE = "BERT_JUDGE_TOKEN"
# A shorter one can be guessed.
SHORTEST_TOKEN = 16
MOST_CLIENTS = 10_000
LOCAL_NAMES = ("localhost", "127.0.0.1", "[::1]", "::1")


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server on this address."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def read_token(file: Path | None) -> str | None:
    """The token out of a file, or of the environment; None where there is none.

    Raises:
        InputError: no such file, or a token that is too short or not of ASCII characters.
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
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable():
        raise InputError(
            f"{origin}: a token needs {SHORTEST_TOKEN} or more printable ASCII characters; make one with openssl rand -hex 32"
        )
    return token


def check_address(host: str, token: str | None) -> None:
    """Refuse to let others in without a token.

    Raises:
        InputError: the address is not loopback and there is no token.
    """
    if token is None and not is_loopback(host):
        raise InputError(
            f"--host {host}: reaches beyond this machine, and there is no token; put one into {TOKEN_VARIABLE} or --token-file"
        )


def knows_token(authorization: str, token: str) -> bool:
    """Whether a header carries the token: `Bearer TOKEN`, or `Basic` with it as the password, for which browsers ask."""
    scheme, _, value = authorization.partition(" ")
    if scheme.lower() == "basic":
        try:
            value = b64decode(value.strip(), validate=True).decode("utf-8", "replace").partition(":")[2]
        except NotBase64:
            value = ""
    elif scheme.lower() != "bearer":
        value = ""
    # In constant time, so that nobody learns a token letter by letter.
    return hmac.compare_digest(value.strip().encode("utf-8", "replace"), token.encode())


class Rate:
    """Allows each client so many requests a second, with bursts (a token bucket).

    Args:
        a_second: 0 allows any number.
        burst_seconds: how long a client must be silent for a full bucket.
        clock: seconds.
    """

    def __init__(self, a_second: float, burst_seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.a_second = a_second
        self.most = max(1.0, a_second * burst_seconds)
        self._clock = clock
        # Client → what is in its bucket, and when; the one that was silent longest first.
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str) -> None:
        """Count a request.

        Raises:
            Refused: the client has sent too many.
        """
        if not self.a_second:
            return
        now = self._clock()
        held, then = self._buckets.pop(client, (self.most, now))
        held = min(self.most, held + (now - then) * self.a_second)
        if held < 1:
            self._buckets[client] = (held, now)
            wait = math.ceil((1 - held) / self.a_second)
            raise Refused(429, f"more than {self.a_second:g} requests a second of one client; send rows in batches, or wait", wait)
        self._buckets[client] = (held - 1, now)
        if len(self._buckets) > MOST_CLIENTS:
            self._buckets.popitem(last=False)
