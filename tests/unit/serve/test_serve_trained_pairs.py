"""Trained judges of pairs behind HTTP: found in a folder, loaded, asked, and of the opinion that they have without a server."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import httpx2
import pytest
from helpers import tiny_models
from helpers.serve_clients import running

from bert_judge.judges.pairwise.encoder import PairEncoderJudge
from bert_judge.judges.protocol import Pair, PairJudge
from bert_judge.serve import judge_pool
from bert_judge.serve.app import make_app
from bert_judge.serve.guard import Guard
from bert_judge.serve.limits import Limits, Metrics

PAIRS = [Pair("Größte Stadt?", "Tōkyō", "<b>Lyon</b>"), Pair("Name a fruit.", "An apple.", "Granite.", ("A pear.",))]
LIMITS = Limits(rate=0)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run with two encoders that compare, with random weights."""
    folder = tmp_path_factory.mktemp("results")
    for name, architecture in (("mirrored", "bert"), ("other", "modernbert")):
        encoder = PairEncoderJudge(tiny_models.encoder(folder / f"{name} backbone", architecture), max_length=48)
        encoder.checkpoint.trained = True
        encoder.save(folder / "judges" / name)
    return folder


@pytest.fixture(scope="module")
def address(results: Path) -> Iterator[str]:
    metrics = Metrics()
    pool = judge_pool.select_judges(["mirrored", "other"], [], results, LIMITS, metrics=metrics)
    assert (list(pool.pointwise), list(pool.pairwise)) == ([], ["mirrored", "other"])
    pool.load()
    guard = Guard(make_app(pool, LIMITS, metrics), LIMITS, "127.0.0.1", None, metrics=metrics)
    with running(guard, pool, LIMITS) as (address, _):
        yield address


def offline(results: Path, name: str) -> PairJudge:
    return PairEncoderJudge.from_run(results / "judges" / name / "judge.json", name)


def asked(address: str, body: dict[str, Any]) -> dict[str, Any]:
    answer = httpx2.post(f"{address}/v1/judge", json=body, timeout=120)
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.mark.parametrize("name", ["mirrored", "other"])
def test_a_served_judge_says_what_it_says_without_a_server(address: str, results: Path, name: str) -> None:
    found = asked(address, {"judge": name, "pairs": [asdict(pair) for pair in PAIRS]})
    expected = offline(results, name).compare(PAIRS)
    assert found["judge"] == name
    assert [said["verdict"] for said in found["preferences"]] == [said.verdict for said in expected]
    assert [said["score"] for said in found["preferences"]] == pytest.approx([said.score for said in expected], abs=1e-5)


def test_the_first_judge_is_asked_where_none_is_named_and_a_swap_mirrors_its_verdict(address: str) -> None:
    one = asked(address, asdict(PAIRS[1]))
    other = asked(address, {**asdict(PAIRS[1]), "answer_a": PAIRS[1].answer_b, "answer_b": PAIRS[1].answer_a})
    assert (one["judge"], one["consistent"]) == ("mirrored", True)
    assert one["score"] == pytest.approx(1 - other["score"], abs=1e-9)
    assert {"A": "B", "B": "A", "tie": "tie"}[one["verdict"]] == other["verdict"]


def test_a_judge_of_a_configuration_is_served_when_it_is_trained(results: Path, tmp_path: Path) -> None:
    (tmp_path / "people.jsonl").write_text('{"question": "q", "answer_a": "x", "answer_b": "y", "label": "A"}\n')
    config = f"""
imports: {{people: {{path: {tmp_path / "people.jsonl"}}}}}
models: {{ada: {{generator: simulated, p_correct: 0.5, style: terse}}}}
tasks: {{test: [facts_test]}}
pairs: {{learn: {{from: people}}}}
judges:
  contains: {{kind: lexical, metric: contains}}
  later: {{kind: pairwise, pairs: learn}}
scorers: [contains]
"""
    (tmp_path / "config.yaml").write_text(config)
    assert list(judge_pool.select_judges([], [tmp_path / "config.yaml"], results, LIMITS, metrics=Metrics()).pairwise) == []
    (results / "judges/mirrored").rename(results / "judges/later")
    assert list(judge_pool.select_judges([], [tmp_path / "config.yaml"], results, LIMITS, metrics=Metrics()).pairwise) == ["later"]
