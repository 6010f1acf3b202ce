"""Evaluators that call decision models get their verdicts from `bert-judge serve` instead."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
from needed_packages import need
from serve_clients import Exact, guarded, running

from bert_judge.serve.limits import Limits

STATE = {"question": "Capital of France?", "references": ["Paris"], "candidate": "Paris"}


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    need("fastapi", "uvicorn")
    limits = Limits(rate=0)
    guard, pool = guarded(Exact(), limits)
    with running(guard, pool, limits) as (url, _):
        yield url


@pytest.mark.framework("typesafe_sdk")
def test_the_client_of_typesafe(address: str) -> None:
    sdk: Any = importlib.import_module("typesafe_sdk")
    client = sdk.TypeSafeClient(api_key="none", base_url=address, model="exact")
    response = client.system_one(STATE, {"correct": sdk.Noul(instructions="Is the answer correct?")})
    assert response.nouls["correct"].noul == 1.0
    with pytest.raises(sdk.TypeSafeUnprocessableEntityError, match="this server answers whether a candidate agrees"):
        client.system_one(STATE, {"polite": sdk.Noul(instructions="Is the answer polite?")})


@pytest.mark.framework("langchain_openai")
def test_langchain(address: str) -> None:
    decisions: Any = importlib.import_module("langchain_openai.decisions")
    model = decisions.OpenAIDecisions(model="exact", api_key="none", base_url=f"{address}/v1")
    questions = {"correct": decisions.Predicate(instructions="The answer is correct.")}
    states = [STATE, STATE | {"candidate": "Lyon"}, STATE | {"candidate": "<think>hm"}]
    found = model.batch([{"input": state, "questions": questions} for state in states])
    assert [response.predicates["correct"].probability for response in found[:2]] == [1.0, 0.0]
    assert list(found[2].refusals) == ["correct"]


@pytest.mark.framework("deepeval", "typesafe_sdk")
def test_deepeval(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TYPESAFE_BASE_URL", address)
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
    metrics: Any = importlib.import_module("deepeval.metrics")
    questions: Any = importlib.import_module("deepeval.metrics.jev_eval")
    cases: Any = importlib.import_module("deepeval.test_case")
    model = importlib.import_module("deepeval.models").TypeSafeModel(model="exact", api_key="none")
    params = cases.SingleTurnParams
    metric = metrics.JevEval(
        name="correct",
        evaluation_params=[params.INPUT, params.ACTUAL_OUTPUT, params.EXPECTED_OUTPUT],
        questions=[questions.Choice(question="Is the answer the expected one?", options={"correct": 1.0, "incorrect": 0.0})],
        system_one_model=model,
        async_mode=False,
    )
    for answer, score in (("Paris", 1.0), ("Lyon", 0.0)):
        metric.measure(
            cases.LLMTestCase(input="Capital of France?", actual_output=answer, expected_output="Paris"), _show_indicator=False
        )
        assert metric.score == score
