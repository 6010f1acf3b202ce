"""The protocols of decision models: what the server answers, to whom, and how it refuses all other questions."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from helpers.scripted_models import ROW
from helpers.serve_clients import Exact, client, guarded, running
from openai import OpenAI, UnprocessableEntityError
from starlette.testclient import TestClient

from bert_judge.judges.llm import KIND, LLMJudgeConfig
from bert_judge.judges.registry import LoadContext
from bert_judge.serve.decisions import ABILITY, MAX_FIELDS
from bert_judge.serve.limits import Limits

STATE = {"question": "Capital of France?", "references": ["Paris", "Paname"], "candidate": "Paris"}
PREDICATE = {"type": "predicate", "name": "correct", "instructions": "The answer is correct."}
NOUL = {"correct": {"type": "noul", "instructions": "Is the answer correct?"}}
CHOICE = {"type": "choice", "instructions": "Label it.", "choices": [{"value": "Incorrect"}, {"value": "Correct"}]}


@pytest.fixture(scope="module")
def http() -> Iterator[TestClient]:
    with client() as made:
        yield made


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    limits = Limits(rate=0)
    guard, pool = guarded(Exact(), limits)
    with running(guard, pool, limits) as (url, _):
        yield f"{url}/v1"


@pytest.mark.parametrize(
    ("value", "probability"),
    [
        (json.dumps(STATE), 1.0),
        ([{"role": "user", "content": json.dumps(STATE | {"candidate": "Lyon"})}], 0.0),
        ([{"role": "user", "content": [{"type": "input_text", "text": json.dumps(STATE)}]}], 1.0),
        ([{"role": "user", "content": [{"type": "input_json", "data": STATE}]}], 1.0),
    ],
)
def test_the_official_client_gets_probabilities(address: str, value: Any, probability: float) -> None:
    client = OpenAI(base_url=address, api_key="none", max_retries=0)
    decision = client.decisions.create(model="exact", input=value, questions=[PREDICATE, CHOICE])  # type: ignore[list-item]
    predicate, choice = decision.answers
    assert (decision.model, predicate.type, predicate.name) == ("exact", "predicate", "correct")
    assert predicate.probability == probability
    assert (choice.type, choice.name, choice.choice) == ("choice", None, "Correct" if probability else "Incorrect")
    assert {option.value: option.probability for option in choice.probabilities} == {
        "Correct": probability,
        "Incorrect": 1 - probability,
    }
    assert choice.confidence == 1.0
    assert decision.usage.total_tokens == 0


def test_what_the_judge_leaves_invalid_is_a_refusal(address: str, http: TestClient) -> None:
    unfinished = STATE | {"candidate": "<think>hm"}
    decision = OpenAI(base_url=address, api_key="none").decisions.create(
        model="exact", input=json.dumps(unfinished), questions=[PREDICATE]
    )  # type: ignore[list-item]
    assert [(answer.type, answer.name) for answer in decision.answers] == [("refusal", "correct")]
    answer = http.post("/v1/systemone", json={"model": "exact", "state": unfinished, "questions": NOUL})
    assert (answer.status_code, "no verdict" in answer.json()["error"]["message"]) == (422, True)


@pytest.mark.parametrize(
    "state",
    [
        STATE,
        json.dumps(STATE),
        {"input": "Capital of France?", "actual_output": "Paris", "expected_output": "Paris"},
        {"inputs": {"question": "Capital of France?"}, "outputs": {"answer": "Paris"}, "reference_outputs": {"answer": "Paris"}},
        {"instruction": "Name the capital.", "input": "France", "answer": "City of Paris", "aliases": ["Paris"], "output": "Paris"},
    ],
)
def test_a_state_of_system_one(http: TestClient, state: Any) -> None:
    choice = {"type": "choice", "instructions": "Is it right?", "criteria": {"yes": None, "no": "it is not"}}
    body = {"state": state, "questions": NOUL | {"is_correct": choice}}
    answer = http.post("/v1/systemone", json=body).json()
    assert answer == {
        "model": "exact",
        "answers": {
            "correct": {"type": "noul", "noul": 1.0},
            "is_correct": {"type": "choice", "choice": "yes", "confidence": 1.0, "probabilities": {"yes": 1.0, "no": 0.0}},
        },
        "usage": {"input_tokens": 0, "output_tokens": 0},
    }


@pytest.mark.parametrize(
    ("path", "change", "line"),
    [
        ("decisions", {"questions": [PREDICATE | {"name": "polite"}]}, "named 'polite' cannot be answered"),
        ("decisions", {"questions": [{"type": "predicate", "instructions": "correct"}]}, "named None cannot be answered"),
        ("decisions", {"questions": [PREDICATE | {"type": "score"}]}, "a score question"),
        ("decisions", {"questions": [CHOICE | {"choices": [{"value": "yes"}, {"value": "no"}]}]}, "a choice question"),
        ("decisions", {"questions": [CHOICE | {"choices": [{}]}]}, "a choice question"),
        ("decisions", {"questions": NOUL}, "send a list of questions"),
        ("decisions", {"questions": ["correct?"]}, "questions.0: send an object"),
        ("decisions", {"input": "Paris is the capital."}, "its text is not JSON"),
        ("decisions", {"input": "[1]"}, "send a JSON object"),
        ("decisions", {"input": [{"role": "system", "content": "{}"}]}, "one message of the role user"),
        ("decisions", {"input": [{"role": "user", "content": [{"type": "input_image", "image_url": "x"}]}]}, "send a JSON object"),
        ("systemone", {"questions": [PREDICATE]}, "send an object of questions by name"),
        ("systemone", {"questions": {"box": {"type": "box"}}}, "a box question named 'box'"),
        ("systemone", {"state": {"message": "I was charged twice."}}, "cannot tell which of its fields is which: 'message'"),
        ("systemone", {"state": STATE | {"candidate": 3}}, "state.candidate: Input should be a valid string"),
        ("systemone", {"state": {**STATE, "references": None}}, "state.references: Field required"),
    ],
)
def test_any_other_question_gets_a_line_that_says_what_is_answered(
    http: TestClient, path: str, change: dict[str, Any], line: str
) -> None:
    body = {"input": json.dumps(STATE), "questions": [PREDICATE]} if path == "decisions" else {"state": STATE, "questions": NOUL}
    answer = http.post(f"/v1/{path}", json=body | change)
    assert answer.status_code == 422
    assert line in answer.json()["error"]["message"] and ABILITY in answer.json()["error"]["message"]


def test_the_official_client_shows_the_line(address: str) -> None:
    client = OpenAI(base_url=address, api_key="none", max_retries=0)
    with pytest.raises(UnprocessableEntityError, match="this server answers whether a candidate agrees with a reference"):
        client.decisions.create(model="exact", input="hello", questions=[PREDICATE])  # type: ignore[list-item]


@pytest.mark.parametrize("path", ["decisions", "systemone"])
def test_limits_and_names_are_those_of_the_other_routes(path: str) -> None:
    body = {"input": json.dumps(STATE), "questions": [PREDICATE]} if path == "decisions" else {"state": STATE, "questions": NOUL}
    with client(limits=Limits(rate=0, text_characters=10)) as http:
        assert http.post(f"/v1/{path}", json=body).status_code == 413
        answer = http.post(f"/v1/{path}", json=body | {"model": "jev-latest"})
        assert (answer.status_code, answer.json()["error"]["message"]) == (404, "no pointwise judge 'jev-latest'; available: exact")
        assert f'route="/v1/{path}"' in http.get("/metrics").text


@pytest.mark.parametrize("references", [["x"] * 4, [{"text": "x"}] * 4])
def test_a_state_has_the_limits_of_a_body(references: list[Any]) -> None:
    """In a text too, whose values the limit on those of the body does not count."""
    state = STATE | {"references": references}
    bodies = [("systemone", {"state": form, "questions": NOUL}) for form in (state, json.dumps(state))]
    bodies.append(("decisions", {"input": json.dumps(state), "questions": [PREDICATE]}))
    with client(limits=Limits(rate=0, references=3)) as http:
        for path, body in bodies:
            answer = http.post(f"/v1/{path}", json=body)
            is_list_of_texts = references[0] == "x"
            assert answer.status_code == (413 if is_list_of_texts else 422), answer.text
    with client(limits=Limits(rate=0, references=3, rows=1)) as http:
        answer = http.post("/v1/systemone", json={"state": json.dumps(state | {"more": [0] * 100}), "questions": NOUL})
        assert answer.status_code == 413 and "more than 19 values" in answer.text


@pytest.mark.parametrize("is_nested", [False, True])
def test_a_state_of_many_fields_is_refused_before_their_roles_are_sought(is_nested: bool) -> None:
    fields = {f"model answer {number}": "x" for number in range(MAX_FIELDS)}
    state = STATE | ({"more": {"deeper": fields}} if is_nested else fields)
    with client() as http:
        answer = http.post("/v1/systemone", json={"state": state, "questions": NOUL})
        assert answer.status_code == 413 and f"fields, limit {MAX_FIELDS}" in answer.text


@pytest.mark.parametrize("api", ["decisions", "system_one"])
def test_a_judge_of_a_decision_model_can_ask_this_server(address: str, api: str) -> None:
    model = {"generator": "openai", "model": "exact", "base_url": address}
    settings = LLMJudgeConfig.model_validate({"kind": "llm", "api": api, "model": model}).model_dump(mode="json")
    judge = KIND.load(LoadContext({"judge": "served", "settings": settings}, {}, {}))
    labels = judge.judge([replace(ROW, candidate=text) for text in ("Paris", "Lyon")])
    assert [(label.verdict, label.score) for label in labels] == [("correct", 1.0), ("incorrect", 0.0)]
