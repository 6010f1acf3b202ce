"""What a server takes from its clients, and how it refuses the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds of what the server holds and does at one time.

    Attributes:
        body_bytes: largest body of a request.
        held_bytes: of all bodies that are being read or answered.
        rows: most rows or pairs of a request.
        text_characters: longest question, reference or answer.
        references: most references of a row.
        queue_rows, queue_characters: most rows, and characters of them, that wait for one judge.
        round_characters: of the rows that a judge is given at once; about four make a token.
        linger_seconds: how long an idle judge waits for company of a first row.
        body_seconds: longest time for a body to arrive.
        answer_seconds: longest time from a body to its answer.
        rate: requests a second of one client; 0: any number. Short bursts may hold `burst_seconds` of them.
    """

    body_bytes: int = 8 * 2**20
    held_bytes: int = 256 * 2**20
    rows: int = 1000
    text_characters: int = 100_000
    references: int = 100
    queue_rows: int = 20_000
    queue_characters: int = 64_000_000
    round_characters: int = 65_536
    linger_seconds: float = 0.004
    body_seconds: float = 30.0
    answer_seconds: float = 120.0
    rate: float = 100.0
    burst_seconds: float = 10.0


class Refused(Exception):
    """A request that is not answered.

    Attributes:
        status: of HTTP.
        retry_after: seconds after which it may be sent again; None: as it is, never.
    """

    def __init__(self, status: int, line: str, retry_after: int | None = None) -> None:
        self.status = status
        self.retry_after = retry_after
        super().__init__(line)


def check_count(count: int, limits: Limits, what: str) -> None:
    """Raises `Refused` for a request of too many rows."""
    if count > limits.rows:
        raise Refused(413, f"{what}: {count:,} are more than the {limits.rows:,} of a request; send several requests")


def check_texts(texts: Sequence[tuple[str, str]], references: int, limits: Limits) -> None:
    """Raises `Refused` for a row with a text that is too long or too many references.

    Args:
        texts: (where it stands in the request, text).
    """
    for where, text in texts:
        if len(text) > limits.text_characters:
            raise Refused(413, f"{where}: {len(text):,} characters are more than {limits.text_characters:,}; shorten the text")
    if references > limits.references:
        raise Refused(413, f"{texts[0][0]}: its row has {references:,} references, more than {limits.references:,}; leave some out")
