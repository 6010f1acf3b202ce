"""Define the limits of a server and the rejection of requests that exceed them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Limits on requests, queues and time.

    Attributes:
        body_bytes: maximum body size of a request.
        held_bytes: maximum total size of bodies in progress; half of it for a client.
        rows: maximum rows or pairs per request.
        text_characters: maximum length of a question, reference or answer.
        references: maximum references per row.
        queue_rows, queue_characters: maximum rows, and their characters, waiting for one judge; above, a client may have one
            request there.
        round_characters: maximum characters per batch of a judge; about four make a token.
        linger_seconds: how long an idle judge waits for more rows before it starts a batch.
        header_seconds: time limit for receiving the headers of a request on an open connection.
        body_seconds: time limit for receiving a body.
        answer_seconds: time limit for answering.
        rate: requests per second per client, 0 for no limit; a burst may use up `burst_seconds` of them.
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
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    answer_seconds: float = 120.0
    rate: float = 100.0
    burst_seconds: float = 10.0


class RequestRejected(Exception):
    """A rejected request.

    Attributes:
        status: HTTP status code.
        retry_after: seconds after which the client may retry; None if a retry cannot succeed.
    """

    def __init__(self, status: int, message: str, retry_after: int | None = None) -> None:
        self.status = status
        self.retry_after = retry_after
        super().__init__(message)
