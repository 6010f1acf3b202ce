"""The limits of a server, the rejection of requests that exceed them, and its metrics in the Prometheus text format."""

from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest


@dataclass(frozen=True)
class Limits:
    """Limits on requests, queues and time.

    Attributes:
        body_bytes: maximum body size of a request.
        held_bytes: maximum total size of bodies in progress; half of it for a client.
        rows: maximum rows or pairs per request.
        text_characters: maximum length of a question, reference or answer.
        references: maximum references per row.
        row_characters: maximum characters that a judge reads of a row; question and answer count once per reference. Other clients
            wait for a row to its end.
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
    row_characters: int = 400_000
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


SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Metrics:
    """Prometheus metrics of a server."""

    content_type = CONTENT_TYPE_LATEST

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self._requests = Counter("bert_judge_requests", "Requests by HTTP status.", ["route", "status"], registry=registry)
        self._seconds = Histogram(
            "bert_judge_request_seconds", "Time from request to end of response.", ["route"], buckets=SECONDS, registry=registry
        )
        self._rows = Counter("bert_judge_rows", "Rows and pairs judged.", ["judge"], registry=registry)
        self._round_rows = Histogram("bert_judge_round_rows", "Rows per batch.", ["judge"], buckets=ROWS, registry=registry)
        self._round_seconds = Histogram(
            "bert_judge_round_seconds", "Time per batch.", ["judge"], buckets=SECONDS, registry=registry
        )
        self._waiting = Gauge("bert_judge_waiting_rows", "Rows waiting for a judge.", ["judge"], registry=registry)
        self._held = Gauge("bert_judge_held_bytes", "Total size of request bodies in progress.", registry=registry)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """Count a request; status 499 if its client disconnected."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def judged(self, judge: str, rows: int, seconds: float) -> None:
        self._rows.labels(judge).inc(rows)
        self._round_rows.labels(judge).observe(rows)
        self._round_seconds.labels(judge).observe(seconds)

    def waiting(self, judge: str, rows: int) -> None:
        self._waiting.labels(judge).set(rows)

    def held(self, size: int) -> None:
        self._held.set(size)

    def text(self) -> bytes:
        return generate_latest(self._registry)
