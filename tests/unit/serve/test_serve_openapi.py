"""Requests that schemathesis makes from the API's own description: no error of the server, and no answer that is not described."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.serve_clients import Exact, guarded, running
from hypothesis import given, settings

from bert_judge.serve.limits import Limits

schemathesis = pytest.importorskip("schemathesis", reason="schemathesis is not installed; make test installs it")


def test_every_answer_is_described() -> None:
    from schemathesis import GenerationMode, checks

    expectations = [
        checks.not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_headers_conformance,
        checks.response_schema_conformance,
    ]
    limits, operations = Limits(rate=0), []
    with running(*guarded(Exact(), limits), limits) as (address, _):
        schema = schemathesis.openapi.from_url(f"{address}/openapi.json")
        for operation in (found.ok() for found in schema.get_all_operations()):
            operations.append(operation.label)
            for mode in GenerationMode if operation.body else [GenerationMode.POSITIVE]:

                @given(case=operation.as_strategy(generation_mode=mode))
                @settings(max_examples=20, deadline=None, derandomize=True, database=None)
                def check(case: Any) -> None:
                    case.call_and_validate(checks=expectations)

                check()
    assert len(operations) == 8, operations
