"""The block of a prompted judge: what is wrong with one, what of it counts, and what `prepare` fetches for it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from bert_judge import plan, tables
from bert_judge.runtime.errors import ConfigError

HF = {"generator": "hf", "model": "owner/judge"}
SERVED = {"generator": "openai", "model": "judge-70b", "base_url": "http://localhost:8000/v1"}
RAW: dict[str, Any] = {
    "models": {"m": {"generator": "simulated", "p_correct": 0.5}},
    "tasks": {"train": ["facts_train"], "test": ["facts_test"]},
    "judges": {
        "teacher": {"kind": "llm", "model": HF},
        "served": {"kind": "llm", "model": SERVED, "reasoning": False},
        "pupil": {"kind": "bert", "dataset": "taught"},
    },
    "datasets": {"taught": {"teacher": "teacher", "tasks": ["facts_train"]}},
    "scorers": ["served", "pupil"],
}


def with_judge(**changes: Any) -> dict[str, Any]:
    raw = copy.deepcopy(RAW)
    raw["judges"]["teacher"] |= changes
    return raw


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        ({"model": None}, "judges.teacher: give one of model (to prompt), dataset (to train on) and checkpoint"),
        ({"checkpoint": "owner/judge"}, "judges.teacher: model with checkpoint is the server that runs the trained judge; set"),
        (
            {"checkpoint": "o/j", "model": SERVED},
            "judges.teacher: the score of a trained judge is the probability of its verdict; set model.logp",
        ),
        ({"base": "package:x"}, "judges.teacher: dataset and base belong together"),
        ({"training": {}}, "judges.teacher: training has no effect without dataset; remove it"),
        ({"model": "owner/judge"}, "judges.teacher.model: must be a block of keys"),
        ({"model": {"model": "x"}}, "judges.teacher.model.generator: is missing; add one of hf, openai, vllm"),
        (
            {"model": {"generator": "simulated", "p_correct": 1}},
            "judges.teacher.model.generator: unknown generator 'simulated'; choose one of: hf, openai, vllm",
        ),
        ({"model": {**HF, "modell": 1}}, "judges.teacher.model.modell: unknown key; did you mean 'model'?"),
        ({"model": {**HF, "temperature": -1}}, "judges.teacher.model.temperature: must be greater than or equal to 0; got -1"),
        ({"model": {**HF, "attempts": 2}}, "judges.teacher: a judge gives one verdict per answer; remove model.attempts"),
        ({"model": {**HF, "model": "./none"}}, "judges.teacher.model.model: './none': no such folder; fix the path"),
        ({"model": {**HF, "trust_remote_code": True}}, "judges.teacher.model: trust_remote_code requires a revision"),
        ({"model": {**SERVED, "api_key_env": "sk-0123"}}, "judges.teacher.model: api_key_env needs the name of"),
        (
            {"model": {**HF, "price": {"prompt": -1, "completion": 2}}},
            "judges.teacher.model.price.prompt: must be greater than or equal to 0; got -1",
        ),
        (
            {"model": {**HF, "price": {"prompt": 1}}},
            "judges.teacher.model.price.completion: is missing; expected: price per million completion tokens",
        ),
        ({"model": {**HF, "price": 3}}, "judges.teacher.model.price: must be a block of keys; got 3"),
        ({"max_candidate_chars": 10}, "judges.teacher.max_candidate_chars: must be greater than or equal to 200; got 10"),
        ({"threshold": 2}, "judges.teacher.threshold: must be less than or equal to 1; got 2"),
        ({"resoning": True}, "judges.teacher.resoning: unknown key; did you mean 'reasoning'?"),
    ],
)
def test_one_line_for_each_fault(changes: dict[str, Any], line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        plan.build_plan(with_judge(**changes))
    assert len(caught.value.errors) == 1
    assert caught.value.errors[0].startswith(line)


def spec(**changes: Any) -> str:
    return tables.canonical(plan.build_plan(with_judge(**changes)).labels_spec("teacher", "m", "facts_train"))


@pytest.mark.parametrize(
    "changes",
    [
        {"model": {**HF, "price": {"prompt": 1, "completion": 2}}},
        {"model": {"model": "owner/judge", "generator": "hf"}},
        {"reasoning": True},
    ],
)
def test_what_changes_no_verdict(changes: dict[str, Any]) -> None:
    assert spec(**changes) == spec()


@pytest.mark.parametrize(
    "changes",
    [
        {"reasoning": False},
        {"threshold": 0.6},
        {"seed": 1},
        {"max_candidate_chars": 500},
        {"model": {**HF, "revision": "abc"}},
        {"model": {**HF, "temperature": 0.5}},
        {"model": SERVED},
    ],
)
def test_what_may_change_a_verdict(changes: dict[str, Any]) -> None:
    assert spec(**changes) != spec()


@pytest.mark.parametrize("key, value", [("base_url", "http://elsewhere/v1"), ("concurrency", 99), ("api_key_env", "MY_KEY")])
def test_where_a_server_is_changes_no_verdict(key: str, value: Any) -> None:
    assert spec(model={**SERVED, key: value}) == spec(model=SERVED)
    assert str(value) not in spec(model={**SERVED, key: value})


def test_a_model_on_this_machine_is_prepared() -> None:
    made = plan.build_plan(with_judge(model={**HF, "revision": "abc", "trust_remote_code": True}))
    assert made.assets["judge-teacher"] == {"repository": "owner/judge", "revision": "abc", "remote_code": True}
    assert set(made.assets) == {"judge-teacher", "judge-pupil"}


def test_its_labels_train_another() -> None:
    assert plan.build_plan(RAW).dataset_spec("taught")["teacher"] == "teacher"


@pytest.mark.parametrize(
    ("aspects", "told"),
    [
        ("roscoe", ["semantic_consistency", "logicality", "informativeness", "fluency", "factuality"]),
        (["fluency", "wit"], ["fluency", "wit"]),
        ({"wit": {"description": "it is funny", "range": [0, 1]}}, ["wit"]),
    ],
)
def test_aspects_may_be_written_short(aspects: Any, told: list[str]) -> None:
    settings = plan.build_plan(with_judge(aspects=aspects)).labels_spec("teacher", "m", "facts_test")["settings"]
    assert list(settings["aspects"]) == told
    assert settings["aspects"].get("fluency", {}).get("description", "free of repetition").endswith("free of repetition")
    assert settings["aspects"].get("wit", {}).get("range") in (None, [1, 5], [0, 1])


@pytest.mark.parametrize("aspects", ["rosco", [], ["a", "a"], {"a": {"range": [5, 1]}}, {"a b": {}}, 3])
def test_aspects_that_cannot_be_graded_are_told(aspects: Any) -> None:
    with pytest.raises(ConfigError, match=r"judges\.teacher\.aspects"):
        plan.build_plan(with_judge(aspects=aspects))
