"""Which answers a target needs: exactly those, so that a job for many tables generates no other."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from bert_judge import plan, targets

VLLM = {"generator": "vllm", "model": "owner/name"}
CONFIG: dict[str, Any] = {
    "models": {"a": VLLM, "b": VLLM},
    "tasks": {"train": ["sums_train"], "test": ["sums", "capitals"]},
    "datasets": {
        "mix": {"teacher": "strict", "tasks": ["sums_train"], "models": ["b"]},
        "second": {"teacher": "first", "tasks": ["sums_train"], "models": ["a"]},
    },
    "judges": {
        "strict": {"kind": "lexical", "metric": "exact_match"},
        "first": {"kind": "bert", "dataset": "mix"},
        "later": {"kind": "bert", "dataset": "second"},
    },
    "score_with": ["strict", "first"],
}
TASKS = """
from bert_judge.tasks import Sample, task
for name in ("sums_train", "sums", "capitals"):
    task(name, family="math")(lambda: iter([Sample("1 + 1?", ("2",))]))
"""
TESTS = {(m, t) for m in "ab" for t in ("sums", "capitals")}
MIX, SECOND = ("b", "sums_train"), ("a", "sums_train")


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> plan.Plan:
    path = tmp_path_factory.mktemp("tasks") / "tasks_of_targets.py"
    path.write_text(TASKS)
    return plan.make({**CONFIG, "task_files": [str(path)]})


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ([], TESTS | {MIX, SECOND}),
        (["all"], TESTS | {MIX, SECOND}),
        (["scores"], TESTS | {MIX, SECOND}),
        (["results/report.html"], TESTS | {MIX, SECOND}),
        (["prepare"], set()),
        (["results/prepared/model-a.json", "results/tasks/sums.parquet"], set()),
        (["datasets"], {MIX, SECOND}),
        (["judges"], {MIX, SECOND}),
        (["results/datasets/mix/train.parquet"], {MIX}),
        (["results/judges/first/judge.json"], {MIX}),
        # A teacher that is trained itself.
        (["results/judges/later/judge.json"], {MIX, SECOND}),
        (["results/candidates/a/sums.parquet"], {("a", "sums")}),
        (["results/candidates/a/sums.parquet", "results/candidates/b/capitals.parquet"], {("a", "sums"), ("b", "capitals")}),
        (["results/labels/strict/a/sums.parquet"], {("a", "sums")}),
        (["results/labels/later/a/sums.parquet"], {("a", "sums"), MIX, SECOND}),
        (["results/scores/a/sums.parquet"], {("a", "sums"), MIX}),
    ],
)
def test_what_a_target_needs(planned: plan.Plan, asked: list[str], expected: set[tuple[str, str]]) -> None:
    assert targets.answers_for(planned, asked) == expected


def test_a_job_knows_the_targets_of_its_run(planned: plan.Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    # Set, so that what the test sets goes with it.
    monkeypatch.setenv(targets.VARIABLE, "null")
    # A job that cannot tell answers nothing, rather than everything.
    assert targets.answers_for(planned, targets.of_run(False, ["results/candidates/a/sums.parquet"])) == set()
    assert targets.of_run(True, {"scores", "datasets"}) == ["datasets", "scores"]
    assert targets.of_run(False, ["results/candidates/a/sums.parquet"]) == ["datasets", "scores"]


def test_a_store_is_filled_for_more_and_never_for_less(planned: plan.Plan, tmp_path: Path) -> None:
    filled = tmp_path / "a.json"
    one = targets.to_fill(planned, "a", {("a", "sums"), ("b", "capitals")}, filled)
    assert one == {"sums": planned.candidates_spec("a", "sums")}
    filled.write_text(json.dumps(one))
    # Other needs come on top; fewer needs ask for nothing new.
    both = targets.to_fill(planned, "a", {("a", "capitals")}, filled)
    assert list(both) == ["capitals", "sums"]
    filled.write_text(json.dumps(both))
    assert targets.to_fill(planned, "a", {("a", "sums")}, filled) == targets.to_fill(planned, "a", set(), filled) == both


def test_other_settings_forget_what_was_filled(planned: plan.Plan, tmp_path: Path) -> None:
    filled = tmp_path / "a.json"
    old = targets.to_fill(planned, "a", {("a", "sums"), ("a", "capitals")}, filled)
    for spec in old.values():
        spec["settings"]["max_new_tokens"] = 7
    filled.write_text(json.dumps(old))
    assert list(targets.to_fill(planned, "a", {("a", "sums")}, filled)) == ["sums"]


@pytest.mark.parametrize("content", ["", "{]", "[]", "null"])
def test_a_damaged_note_is_none(planned: plan.Plan, tmp_path: Path, content: str) -> None:
    filled = tmp_path / "a.json"
    filled.write_text(content)
    assert list(targets.to_fill(planned, "a", {("a", "sums")}, filled)) == ["sums"]


def test_what_is_filled_already(planned: plan.Plan, tmp_path: Path) -> None:
    filled = tmp_path / "a.json"
    parts = targets.to_fill(planned, "a", {("a", "sums"), ("a", "capitals")}, filled)
    tables = {task: tmp_path / f"{task}.parquet" for task in parts}
    for path in tables.values():
        path.touch()
        os.utime(path, (100, 100))
    assert targets.unfilled(parts, tables, filled) == ["capitals", "sums"]
    filled.write_text(json.dumps({"sums": parts["sums"]}))
    assert targets.unfilled(parts, tables, filled) == ["capitals"]
    filled.write_text(json.dumps(parts))
    assert targets.unfilled(parts, tables, filled) == []
    # The questions changed since.
    os.utime(tables["sums"], (2e9, 2e9))
    assert targets.unfilled(parts, tables, filled) == ["sums"]
