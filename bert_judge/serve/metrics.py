"""Collect server metrics in the Prometheus text format."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest

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
