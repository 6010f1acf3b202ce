"""The examples of docs/tasks.md give the tables that the page speaks of, offline; the grids in configs/ are what they say."""

from pathlib import Path

import pytest

from bert_judge import plan, tables, tasks
from bert_judge.config import files as config_files
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


@pytest.mark.parametrize(("name", "models", "train", "test"), [("paper", 36, 7, 15), ("one_gpu", 6, 0, 6), ("api", 2, 3, 3)])
def test_a_grid_is_planned_without_a_network(name: str, models: int, train: int, test: int) -> None:
    made = plan.make(config_files.load([ROOT / "configs" / f"{name}.yaml"]))
    assert (len(made.models), len(made.config.tasks.train), len(made.config.tasks.test)) == (models, train, test)
    assert len(made.score_tables) == models * test
    # Everything that is asked comes from the hub, and is pinned.
    assert {asset.split("-")[0] for asset in made.assets} >= {"task"}
    assert len([asset for asset in made.assets if asset.startswith("task-")]) == train + test


def test_a_37th_model_trains_no_judge_of_the_paper_again() -> None:
    raw = config_files.load([ROOT / "configs" / "paper.yaml"])
    before = plan.make(raw)
    raw["models"] = {**raw["models"], "one-more": dict(raw["models"]["qwen3-8b"])}
    after = plan.make(raw)
    assert set(after.score_tables) - set(before.score_tables) == {("one-more", task) for task in before.config.tasks.test}
    assert after.dataset_spec("million") == before.dataset_spec("million")
    assert after.judge_spec("eurobert") == before.judge_spec("eurobert")
    assert {pair for pair in before.score_tables if after.scores_spec(*pair) != before.scores_spec(*pair)} == set()
