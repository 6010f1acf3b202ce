"""Evaluators that call decision models get their verdicts from `bert-judge serve` instead."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.needed_packages import ALL_THERE, need
from helpers.serve_clients import Exact, guarded, running
from programs import ROOT

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


@pytest.mark.framework("fastapi")
def test_deepeval(address: str, tmp_path: Path) -> None:
    """In a Python of its own: DeepEval and this project need different versions of rich."""
    python = Path(sys.prefix) / "deepeval" / "bin" / "python"
    if not python.exists():
        (pytest.fail if os.environ.get(ALL_THERE) else pytest.skip)("make test-frameworks installs DeepEval beside the frameworks")
    settings = {"TYPESAFE_BASE_URL": address, "TYPESAFE_API_KEY": "none", "DEEPEVAL_TELEMETRY_OPT_OUT": "YES"}
    command = [str(python), str(ROOT / "examples" / "deepeval_metric.py"), "exact"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | settings, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.splitlines()[-2:] == ["Paris 1.0", "Lyon 0.0"]
