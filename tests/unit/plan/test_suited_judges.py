"""Configurations without judges, and the judge that chooses another for each task."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bert_judge import plan, tables
from bert_judge.labels.stage import label_job
from bert_judge.runtime.errors import ConfigError

MODELS = {"ada": {"generator": "simulated", "p_correct": 0.5}}
# Tasks → judges, judges in the score tables, and task → judges where another than `general` comes first.
MATH = ["math_verify", "general"]
CASES: list[tuple[dict[str, Any], list[str], dict[str, list[str]]]] = [
    ({"test": ["facts_test", "multiple_choice_test"]}, ["general"], {}),
    ({"test": ["word_problems_test"]}, ["suited", "general"], {"word_problems_test": MATH}),
    ({"test": ["facts_test", "gsm8k_test"]}, ["suited", "general"], {"gsm8k_test": MATH}),
    (
        {"test": ["quiz", "gsm8k_test"], "sources": {"quiz": {"path": "q.csv", "family": "short_answer", "judge": "contains"}}},
        ["suited", "general"],
        {"quiz": ["contains", "general"], "gsm8k_test": MATH},
    ),
    (
        {"test": ["quiz"], "sources": {"quiz": {"path": "q.csv", "family": "short_answer", "judge": "general_lenient"}}},
        ["suited", "general"],
        {"quiz": ["general_lenient"]},
    ),
    (
        {"test": ["quiz"], "sources": {"quiz": {"path": "q.csv", "family": "math", "judge": "general"}}},
        ["general"],
        {},
    ),
]


@pytest.mark.parametrize(("tasks", "scorers", "by_task"), CASES)
def test_tasks_bring_their_judges(
    tasks: dict[str, Any], scorers: list[str], by_task: dict[str, list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.csv").write_text("question,answer\nWho?,Bell\n", "utf-8")
    resolved = plan.build_plan({"models": MODELS, "tasks": tasks})
    assert resolved.config.scorers == scorers
    for task in tasks["test"] if by_task else ():
        sources = resolved.source_tables("suited", "ada", task)
        assert sources == [(judge, "ada", task) for judge in by_task.get(task, ["general"])]
        assert resolved.labels_spec("suited", "ada", task)["judges"] == [judge for judge, _, _ in sources]


def test_a_task_function_names_its_judge(tmp_path: Path) -> None:
    text = "from bert_judge.tasks import Sample, task\n@task('letters', family='short_answer', judge='exact_match')\n"
    (tmp_path / "own.py").write_text(text + "def letters():\n    yield Sample('First letter?', ('a',))\n", "utf-8")
    resolved = plan.build_plan({"models": MODELS, "tasks": {"test": ["letters"]}, "task_files": [str(tmp_path / "own.py")]})
    assert [judge for judge, *_ in resolved.source_tables("suited", "ada", "letters")] == ["exact_match", "general"]


def per_task(**block: Any) -> dict[str, Any]:
    judges = {"strict": {"kind": "lexical", "metric": "exact_match"}, "truth": {"kind": "imported"}}
    return {
        "models": MODELS,
        "tasks": {"test": ["facts_test", "gsm8k_test"]},
        "judges": {**judges, "suited": {"kind": "per_task", **block}},
        "scorers": ["suited"],
    }


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ({"models": MODELS, "tasks": {"test": ["facts_test"]}, "scorers": ["general"]}, "judges: is missing"),
        ({"models": MODELS, "tasks": {"test": ["no_such_task"]}}, "unknown task 'no_such_task'"),
        (per_task(judges=["strict"], tasks={"gsm8k": ["strict"]}), "judges.suited.tasks: 'gsm8k' is not listed under tasks"),
        (per_task(judges=["strict"], tasks={"gsm8k_test": ["nobody"]}), "judges.suited.tasks.gsm8k_test: 'nobody' is not defined"),
        (per_task(judges=["strict", "suited"]), "judges.suited: 'suited' names the judges of tasks itself"),
    ],
)
def test_faults_are_named(raw: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as error:
        plan.build_plan(raw)
    assert any(says in line for line in error.value.errors), error.value.errors


def test_another_judge_for_one_task_leaves_the_labels_of_the_others() -> None:
    before = plan.build_plan(per_task(judges=["strict"]))
    after = plan.build_plan(per_task(judges=["strict"], tasks={"gsm8k_test": ["truth", "strict"]}))
    for task, is_equal in (("facts_test", True), ("gsm8k_test", False)):
        specs = [resolved.labels_spec("suited", "ada", task) for resolved in (before, after)]
        assert (specs[0] == specs[1]) is is_equal


def test_the_first_valid_verdict_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    answers = ["The answer is 4.", "It is 7.", "four, I think", "<think>"]
    frame = pd.DataFrame({"candidate": answers, "sample_id": [letter * 16 for letter in "abcd"]})
    frame = frame.assign(attempt=0, model="ada", question="2 + 2?", references=[["4"]] * 4, reasoning=None, status="ok")
    tables.write(frame.assign(reason=None, prompt_tokens=None, completion_tokens=None), "answers.parquet", tables.CANDIDATES, {})
    resolved = plan.build_plan({"models": MODELS, "tasks": {"test": ["gsm8k_test"]}})

    def write(judge: str, inputs: Sequence[str] = ()) -> pd.DataFrame:
        output = f"results/labels/{judge}/ada/gsm8k_test.parquet"
        block = resolved.config.judges[judge].model_dump(mode="json")
        files = {"candidates": "answers.parquet"} | ({"labels": list(inputs)} if inputs else {})
        label_job(resolved.labels_spec(judge, "ada", "gsm8k_test"), files, output, block, check_device=lambda: None)
        return tables.read(output, tables.LABELS)

    members = {name: write(name) for name in ("math_verify",)}
    # In the place of `general`, whose weights are not what this is about.
    second = members["math_verify"].assign(judge="general", verdict=["incorrect", "correct", "correct", "invalid"])
    second = second.assign(score=[0.1, 0.9, 0.8, None], outcome=["incorrect", "correct", "correct", "invalid"])
    tables.write(second, "general.parquet", tables.LABELS, {})
    combined = write("suited", ["results/labels/math_verify/ada/gsm8k_test.parquet", "general.parquet"])
    assert members["math_verify"]["verdict"].tolist() == ["correct", "incorrect", "invalid", "invalid"]
    assert combined["verdict"].tolist() == ["correct", "incorrect", "correct", "invalid"]
    assert combined["decided_by"].tolist() == ["math_verify", "math_verify", "general", "general"]
    assert combined["judge"].unique().tolist() == ["suited"] and combined["sample_id"].tolist() == frame["sample_id"].tolist()
