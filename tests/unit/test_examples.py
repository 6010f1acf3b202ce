"""The examples of docs/tasks.md give the tables that the page speaks of, offline."""

from pathlib import Path

import pytest

from bert_judge import config_files, plan, tables, tasks
from bert_judge.tasks.build import build_task

ROOT = Path(__file__).parents[2]


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> plan.Plan:
    monkeypatch.chdir(ROOT)
    return plan.make(config_files.load([Path("examples/own_tasks.yaml")]))


def test_the_three_tasks_of_the_example(example: plan.Plan, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for task in example.tasks:
        source = example.source_path(task) or tasks.file_of(task)
        build_task(example.task_spec(task), tmp_path / f"{task}.parquet", source)
    made = {task: tables.read(tmp_path / f"{task}.parquet", tables.TASK) for task in example.tasks}
    assert {task: len(frame) for task, frame in made.items()} == {"squares": 10, "quiz": 6, "rivers": 3}
    assert made["quiz"]["references"].iloc[0] == ["Danube", "the Danube", "Donau"]
    assert all(row.choices[ord(row.references[0]) - ord("A")] == row.references[1] for row in made["rivers"].itertuples())
    assert "quiz: 1 of 8 rows are left out: 1 with no right answer" in caplog.text


def test_nothing_of_the_example_is_fetched(example: plan.Plan) -> None:
    assert example.assets == {}
