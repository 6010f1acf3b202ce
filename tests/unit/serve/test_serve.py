"""The HTTP interface: what it answers, and the one line with which it refuses everything else."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from helpers.serve_clients import JSON, Exact, Short, client, guarded, row, running
from starlette.testclient import TestClient

from bert_judge import integrations
from bert_judge.judges.protocol import Label, Row, decided
from bert_judge.runtime.errors import InputError
from bert_judge.serve import guard
from bert_judge.serve.app import make_app
from bert_judge.serve.guard import RateLimiter, check_address, has_token, is_loopback, read_token
from bert_judge.serve.judge_pool import JudgePool, pointwise
from bert_judge.serve.limits import Limits, Metrics, RequestRejected

PAIR = {"question": "Why?", "answer_a": "No", "answer_b": "Because"}
DEEP = b'{"references": "x", "candidate": ' + b"[" * 5000 + b"]" * 5000 + b"}"


def test_one_answer_is_judged() -> None:
    with client() as http:
        found = http.post("/v1/judge", json=row()).json()
        wrong = http.post("/v1/judge", json={"judge": "exact", **row("Lyon", ["Paris", "Paname"])}).json()
    assert (found["judge"], found["verdict"], found["score"]) == ("exact", "correct", 1.0)
    assert (wrong["verdict"], wrong["score"]) == ("incorrect", 0.0)


def test_rows_come_back_in_their_order_and_none_is_lost() -> None:
    names = [f"Größe {n} 東京 \U0001f600" for n in range(300)]
    with client() as http:
        answer = http.post("/v1/judge", json={"rows": [row(name, [name] if n % 3 else ["x"]) for n, name in enumerate(names)]})
        nothing = http.post("/v1/judge", json={"rows": []}).json()
    assert [label["verdict"] for label in answer.json()["labels"]] == ["correct" if n % 3 else "incorrect" for n in range(300)]
    assert nothing == {"judge": "exact", "labels": []}


def test_two_answers_are_compared_in_both_orders() -> None:
    with client() as http:
        one = http.post("/v1/judge", json={**PAIR, "references": "Because"}).json()
        pairs = [{**PAIR, "answer_a": text} for text in ("A longer one", "because", "first", "<think>longer by far</think>No")]
        several = http.post("/v1/judge", json={"judge": "longer", "pairs": pairs}).json()
        assert http.get("/v1/judges").json() == {"pointwise": ["exact"], "pairwise": ["longer"], "scores": {}}
    assert (one["judge"], one["verdict"], one["score"], one["consistent"]) == ("longer", "B", 0.0, True)
    assert [said["verdict"] for said in several["preferences"]] == ["A", "tie", "inconsistent", "B"]
    assert (several["preferences"][2]["forward"], several["preferences"][2]["backward"]) == ("A", "B")


def test_verdicts_are_those_of_the_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reasoning is left out, and what cannot be judged is invalid, as everywhere."""
    candidates = ["<think>London?</think>Paris", "<think>hm", "", "Paris"]
    references = [["Paris"], ["Paris"], ["Paris"], ["  "]]
    chosen = integrations.load_judge("contains")
    expected = integrations.label_texts(chosen, questions=[""] * 4, references=references, candidates=candidates)
    with client(chosen.judge) as http:  # type: ignore[arg-type]
        rows = [row(candidate, right) for candidate, right in zip(candidates, references, strict=True)]
        found = http.post("/v1/judge", json={"rows": rows}).json()["labels"]
    assert [(label["verdict"], label["score"], label["reason"]) for label in found] == [
        (label.verdict, label.score, label.reason) for label in expected
    ]
    assert [label["verdict"] for label in found] == ["correct", "invalid", "incorrect", "invalid"]


@pytest.mark.parametrize(
    ("body", "status", "line"),
    [
        (b"", 422, "the body: Field required"),
        (b"{", 400, "the body is not JSON in UTF-8: EOF"),
        (b"\xff\xfe{}", 400, "the body is not JSON in UTF-8"),
        ('{"candidate": "Größe", "references": "x"}'.encode("latin-1"), 400, "the body is not JSON in UTF-8"),
        (b'{"candidate": "\\ud83d", "references": "x"}', 400, "the body is not JSON in UTF-8"),
        (b'{"candidate": NaN, "references": "x"}', 400, "the body is not JSON in UTF-8"),
        (DEEP, 400, "recursion limit"),
        (b"[" * 1_000_000, 413, "more than 116,000 values"),
        (b'{"rows": [' + b"{}," * 200_000 + b"{}]}", 413, "more than 116,000 values"),
        (b'{"rows": [' + b"{}," * 1000 + b"{}]}", 413, "rows: 1,001, limit 1,000"),
        (b'{"rows": [' + b"{}," * 999 + b"{}]}", 422, "rows.0.references: Field required"),
        (b'{"rows": [{' + b",".join(b'"%d": 1' % key for key in range(20)) + b"}]}", 422, "rows.0: has 20 keys"),
        (b"{" + b",".join(b'"%d": 1' % key for key in range(20)) + b"}", 422, "the body: has 20 keys"),
        (b'{"candidate": "x", "references": [' + b"1," * 100 + b"1]}", 413, "101 references"),
        (b'"' * 1_000_000, 413, "more than 116,000 values"),
        (b"[]", 422, "the body: Input should be a valid dictionary"),
        (b"null", 422, "the body: "),
        (b'"text"', 422, "the body: Input should be a valid dictionary"),
        (b'{"references": "x"}', 422, "candidate: Field required"),
        (b'{"candidate": 3, "references": "x"}', 422, "candidate: Input should be a valid string"),
        (b'{"candidate": "x", "references": {"a": 1}}', 422, "references"),
        (b'{"candidate": "x", "references": [1]}', 422, "references"),
        (b'{"candidate": "x", "references": "x", "verdict": "correct"}', 422, "verdict: Extra inputs are not permitted"),
        (b'{"candidat": "x", "references": "x"}', 422, "candidat: unknown key; did you mean 'candidate'?"),
        (b'{"rows": [{"candidate": "x", "reference": "x"}]}', 422, "rows.0.reference: unknown key; did you mean 'references'?"),
        (b'{"rows": {}}', 422, "rows: Input should be a valid list"),
        (b'{"rows": [{"candidate": "x"}]}', 422, "rows.0.references: Field required"),
        (b'{"judge": "nobody", "candidate": "x", "references": "x"}', 404, "no pointwise judge 'nobody'; available: exact"),
        (b'{"answer_a": "x", "answer_b": "y"}', 422, "question: Field required"),
        (b'{"judge": "exact", "pairs": []}', 404, "no pairwise judge 'exact'; available: longer"),
        (b'{"pairs": [{"question": "z", "answer_b": "y"}]}', 422, "pairs.0.answer_a: Field required"),
    ],
)
def test_a_broken_body_gets_one_line(body: bytes, status: int, line: str) -> None:
    with client() as http:
        answer = http.post("/v1/judge", content=body, headers=JSON)
    assert answer.status_code == status
    assert line in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


@pytest.mark.parametrize(
    ("limits", "body", "line"),
    [
        ({"body_bytes": 1000}, {"rows": [row("x" * 1000)]}, "larger than 1,000 bytes"),
        ({"rows": 3}, {"rows": [row()] * 4}, "rows: 4, limit 3"),
        ({"text_characters": 50}, {"rows": [row(), row("x" * 51)]}, "rows.1.candidate: 51 characters"),
        ({"text_characters": 50}, row("x", ["y" * 51]), "rows.0.references: 51 characters"),
        ({"references": 2}, row("x", ["a", "b", "c"]), "3 references"),
        ({"row_characters": 50}, {"rows": [row(), row("x" * 15, ["a", "b", "c"])]}, "rows.1: "),
        ({"rows": 3}, {"pairs": [PAIR] * 4}, "pairs: 4, limit 3"),
        ({"text_characters": 50}, {**PAIR, "answer_b": "x" * 51}, "pairs.0.answer_b: 51 characters"),
        ({"row_characters": 50}, {**PAIR, "answer_b": "x" * 49}, "pairs.0: "),
    ],
)
def test_what_is_too_large_is_refused(limits: dict[str, Any], body: dict[str, Any], line: str) -> None:
    with client(limits=Limits(rate=0, **limits)) as http:
        answer = http.post("/v1/judge", json=body)
        assert (answer.status_code, line in answer.json()["error"]) == (413, True)
        assert http.post("/v1/judge", json=row("Paris")).status_code == 200


def test_commas_and_brackets_in_texts_are_not_values() -> None:
    text = 'a, [b], {c}, \\"d", ' * 4000
    with client() as http:
        answer = http.post("/v1/judge", json={"rows": [row(text, text)] * 20})
    assert answer.status_code == 200 and len(answer.json()["labels"]) == 20


# Printed: the answers' statuses, and by how many MB the memory of the process grew.
HOSTILE_BODIES = """
import resource
from helpers.serve_clients import JSON, client
bodies = [
    b'{"pairs": [' + b"{}," * 2_790_000 + b"{}]}",
    b"[" * 8_000_000,
    b'{"rows": [{' + b",".join(b'"%x":1' % key for key in range(750_000)) + b"}]}",
    b'{"rows": [' + b"{}," * 999 + b"{}]}",
    b'{"candidate": "x", "references": [' + b"1," * 3_000_000 + b"1]}",
    b'"' * 8_000_000,
    b"\\\\" * 4_000_000,
]
with client() as http:
    http.get("/health")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(*(http.post("/v1/judge", content=body, headers=JSON).status_code for body in bodies))
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_no_body_of_the_permitted_size_takes_much_memory() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, "-c", HOSTILE_BODIES]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    statuses, megabytes = result.stdout.splitlines()
    assert statuses == "413 413 413 422 413 413 400" and int(megabytes) < 200


@pytest.mark.parametrize("host", ["[", "[::1", "a]b", "127.0.0.1:x", "127.0.0.1/x"])
@pytest.mark.parametrize("address", ["127.0.0.1", "0.0.0.0"])
def test_a_malformed_host_is_no_error_of_the_server(host: str, address: str) -> None:
    with client(host=address) as http:
        for path in ("/health", "/none/", "/v1/judge/"):
            assert http.get(path, headers={"host": host}, follow_redirects=False).status_code < 500
            assert http.get(path, headers={"origin": f"http://{host}"}, follow_redirects=False).status_code < 500


def test_a_body_of_unknown_length_is_counted_too() -> None:
    with client(limits=Limits(rate=0, body_bytes=1000)) as http:
        assert http.post("/v1/judge", content=(b" " * 100 for _ in range(30)), headers=JSON).status_code == 413
        assert b"bert_judge_held_bytes 0.0" in http.get("/metrics").content


def test_all_bodies_together_are_bounded() -> None:
    with client(limits=Limits(rate=0, held_bytes=100)) as http:
        answer = http.post("/v1/judge", json=row("x" * 200))
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"


@pytest.mark.parametrize(
    ("method", "path", "status"), [("GET", "/v1/judge", 405), ("POST", "/v1/nothing", 404), ("DELETE", "/health", 405)]
)
def test_other_places_say_so_in_the_same_form(method: str, path: str, status: int) -> None:
    with client() as http:
        answer = http.request(method, path)
    assert answer.status_code == status
    assert set(answer.json()) == {"error"}
    assert ("allow" in answer.headers) == (status == 405)


def test_a_path_with_a_slash_too_many_is_not_found() -> None:
    with client() as http:
        assert http.post("/v1/judge/", json=row(), follow_redirects=False).status_code == 404


@pytest.mark.parametrize(("path", "required"), [("decisions", {"questions", "input"}), ("systemone", {"questions", "state"})])
def test_the_schema_of_decisions_says_what_is_needed(path: str, required: set[str]) -> None:
    with client() as http:
        described = http.get("/openapi.json").json()["paths"][f"/v1/{path}"]["post"]["requestBody"]
        schema = described["content"]["application/json"]["schema"]
        assert (described["required"], set(schema["required"])) == (True, required)
        assert schema["properties"].keys() == {"model", *required}
        for key in required:
            body = {"questions": [], "input": "", "state": {}} | {key: 3}
            assert http.post(f"/v1/{path}", json=body).status_code == 422


def test_a_client_above_the_limit_of_connections_reads_the_refusal_though_it_is_still_writing() -> None:
    limits = Limits(rate=0)
    with running(*guarded(Exact(), limits), limits, connections=1) as (address, _):
        host, port = address.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as first, socket.create_connection((host, int(port))) as second:
            first.sendall(b"GET /health HTTP/1.1\r\n")
            time.sleep(0.2)
            # With the connection cut off, this would be a broken pipe.
            for _ in range(40):
                second.sendall(b"x" * 100_000)
            assert second.recv(100).startswith(b"HTTP/1.1 503 ")


def test_another_content_type_is_refused() -> None:
    with client() as http:
        answer = http.post("/v1/judge", content=json.dumps(row()), headers={"content-type": "text/plain"})
    assert (answer.status_code, answer.json()["error"]) == (415, "content-type 'text/plain': send application/json")


def test_only_this_machine_and_its_own_pages_may_ask() -> None:
    with client() as http:
        assert http.get("/health", headers={"host": "evil.example"}).status_code == 421
        assert http.post("/v1/judge", json=row(), headers={"origin": "http://evil.example"}).status_code == 403
        assert http.post("/v1/judge", json=row(), headers={"origin": "null"}).status_code == 403
        assert http.post("/v1/judge", json=row(), headers={"origin": "http://127.0.0.1:8000"}).status_code == 200


def test_the_page_may_load_nothing_from_elsewhere() -> None:
    with client() as http:
        for path, content_type in (("/", "text/html"), ("/page.js", "text/javascript"), ("/page.css", "text/css")):
            answer = http.get(path)
            assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, content_type)
            assert answer.headers["content-security-policy"].startswith(
                "default-src 'none'; connect-src 'self'; script-src 'self';"
            )


def test_a_token_opens_everything_and_health_is_open() -> None:
    token = "0123456789abcdef"
    with client(host="0.0.0.0", token=token) as http:
        assert http.get("/health", headers={"host": "judge.example"}).status_code == 200
        for header in ({}, {"authorization": "Bearer wrong"}, {"authorization": token}, {"authorization": "Basic %%%"}):
            for path in ("/metrics", "/v1/judges", "/openapi.json", "/"):
                answer = http.get(path, headers=header)
                assert answer.status_code == 401
                assert "www-authenticate" in answer.headers
        assert http.post("/v1/judge", json=row(), headers={"authorization": f"Bearer {token}"}).status_code == 200
        assert http.get("/metrics", auth=("anyone", token)).status_code == 200


@pytest.mark.parametrize(
    ("header", "known"),
    [
        ("Bearer 0123456789abcdef", True),
        ("bearer 0123456789abcdef", True),
        ("Bearer 0123456789abcde", False),
        ("Bearer ", False),
        ("", False),
        ("Bearer größe", False),
        ("Digest 0123456789abcdef", False),
    ],
)
def test_which_headers_carry_the_token(header: str, known: bool) -> None:
    assert has_token(header, "0123456789abcdef") is known


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("judge.example", False),
    ],
)
def test_other_addresses_need_a_token(host: str, local: bool) -> None:
    assert is_loopback(host) is local
    check_address(host, "a token")
    if local:
        check_address(host, None)
    else:
        with pytest.raises(InputError, match="BERT_JUDGE_TOKEN"):
            check_address(host, None)


def test_a_token_is_read_from_a_file_or_the_environment(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BERT_JUDGE_TOKEN", raising=False)
    assert read_token(None) is None
    monkeypatch.setenv("BERT_JUDGE_TOKEN", "from-environment-1234")
    assert read_token(None) == "from-environment-1234"
    (tmp_path / "token").write_text("from-the-file-1234\n")
    assert read_token(tmp_path / "token") == "from-the-file-1234"
    for content in ("", "short", "größer-als-sechzehn-zeichen"):
        (tmp_path / "token").write_text(content)
        with pytest.raises(InputError, match="16 or more"):
            read_token(tmp_path / "token")
    with pytest.raises(InputError, match=r"none: cannot be read: No such file or directory$"):
        read_token(tmp_path / "none")


def test_each_client_has_its_own_rate(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(guard, "time", SimpleNamespace(monotonic=lambda: now[0]))
    rate = RateLimiter(2, 1.5)
    for _ in range(3):
        rate.take("a")
    with pytest.raises(RequestRejected) as refused:
        rate.take("a")
    assert (refused.value.status, refused.value.retry_after) == (429, 1)
    rate.take("b")
    now[0] = 0.5
    rate.take("a")
    with pytest.raises(RequestRejected):
        rate.take("a")


def test_a_client_that_asks_too_often_is_told_when_to_come_back() -> None:
    with client(limits=Limits(rate=0.01, burst_seconds=200)) as http:
        answers = [http.post("/v1/judge", json=row()) for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 429]
        assert 90 <= int(answers[2].headers["retry-after"]) <= 100
        assert http.get("/metrics").status_code == 200


def test_metrics_count_requests_and_rows() -> None:
    with client() as http:
        http.post("/v1/judge", json={"rows": [row()] * 5})
        http.post("/v1/judge", json={"judge": "nobody", **row()})
        text = http.get("/metrics").text
    assert 'bert_judge_rows_total{judge="exact"} 5.0' in text
    assert 'bert_judge_requests_total{route="/v1/judge",status="200"} 1.0' in text
    assert 'bert_judge_requests_total{route="/v1/judge",status="404"} 1.0' in text
    assert "process_resident_memory_bytes" in text


def test_the_interface_describes_itself() -> None:
    with client() as http:
        described = http.get("/openapi.json").json()
    operation = described["paths"]["/v1/judge"]["post"]
    forms = operation["requestBody"]["content"]["application/json"]["schema"]["oneOf"]
    assert {form["$ref"].split("/")[-1] for form in forms} == {"Single", "Batch", "SinglePair", "PairBatch"}
    assert {"200", "400", "401", "413", "422", "429", "503", "504"} <= set(operation["responses"])


@pytest.mark.parametrize(("candidate", "status"), [("refuse", 422), ("break", 500)])
def test_a_row_that_the_judge_fails_on_costs_its_own_request_only(candidate: str, status: int) -> None:
    judge = Exact()
    judge.open.clear()

    async def ask() -> list[int]:
        import httpx2
        from helpers.serve_clients import guarded

        app, pool = guarded(judge, Limits(rate=0))
        for batcher in pool.all:
            batcher.start()
        async with httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app, raise_app_exceptions=False), base_url="http://127.0.0.1"
        ) as http:
            first = asyncio.create_task(http.post("/v1/judge", json=row()))
            await asyncio.sleep(0.1)
            others = [asyncio.create_task(http.post("/v1/judge", json=row(text))) for text in ("Paris", candidate, "Lyon")]
            await asyncio.sleep(0.1)
            judge.open.set()
            answers = [(await task).status_code for task in (first, *others)]
        for batcher in pool.all:
            await batcher.stop()
        pool.close()
        return answers

    assert asyncio.run(ask()) == [200, 200, status, 200]


def test_a_judge_that_forgets_a_row_is_a_fault_and_not_a_shift() -> None:
    with client(Short()) as http:
        answer = http.post("/v1/judge", json={"rows": [row(), row()]})
    assert answer.status_code == 500
    assert "log" in answer.json()["error"]


def test_an_answer_that_takes_too_long_is_given_up() -> None:
    judge = Exact()
    judge.open.clear()
    with client(judge, Limits(rate=0, answer_seconds=0.2)) as http:
        answer = http.post("/v1/judge", json=row())
        judge.open.set()
    assert answer.status_code == 504
    assert answer.headers["retry-after"] == "1"


class Grader:
    """Grades an answer without looking at a reference."""

    def __init__(self) -> None:
        self.revisions: dict[str, str] = {}

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        return [decided(0.7, reason="fluent", aspects={"grade": 7.0}) for _ in rows]


@pytest.mark.parametrize("needs_references", [False, True])
def test_a_judge_without_references_gives_its_grades(needs_references: bool) -> None:
    limits, metrics = Limits(), Metrics()
    pool = JudgePool({"grader": pointwise("grader", Grader, limits, metrics, needs_references=needs_references)})
    pool.load()
    with TestClient(make_app(pool, limits, metrics)) as http:
        label = http.post("/v1/judge", json={"references": [], "candidate": "Paris"}).json()
    pool.close()
    expected = ("invalid", None, "no reference") if needs_references else ("correct", {"grade": 7.0}, "fluent")
    assert (label["verdict"], label["aspects"], label["reason"]) == expected
