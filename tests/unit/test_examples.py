"""The example tasks of docs/tasks.md are built offline, the grids in configs/ have the size that their comments state, and what
scripts import from the library exists."""

import ast
import importlib.util
from pathlib import Path

import pytest

from bert_judge import plan, tables
from bert_judge.config import files as config_files
from bert_judge.tasks.build import build_task

ROOT = Path(__file__).parents[2]


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> plan.Plan:
    monkeypatch.chdir(ROOT)
    path = Path("examples/own_tasks.yaml")
    return plan.build_plan(config_files.load([path]), [path])


def test_example_tasks_are_built(example: plan.Plan, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for task in example.tasks:
        source = example.source_file(task)
        build_task(example.task_spec(task), tmp_path / f"{task}.parquet", source)
    built = {task: tables.read(tmp_path / f"{task}.parquet", tables.TASK) for task in example.tasks}
    assert {task: len(frame) for task, frame in built.items()} == {"squares": 10, "quiz": 6, "rivers": 3}
    assert built["quiz"]["references"].iloc[0] == ["Danube", "the Danube", "Donau"]
    assert all(row.choices[ord(row.references[0]) - ord("A")] == row.references[1] for row in built["rivers"].itertuples())
    assert "quiz: skipped 1 of 8 rows: 1 with no correct answer" in caplog.text


def test_example_downloads_nothing(example: plan.Plan) -> None:
    assert example.assets == {}


@pytest.mark.parametrize(("name", "models", "train", "test"), [("paper", 36, 7, 15), ("one_gpu", 6, 0, 6), ("api", 2, 3, 3)])
def test_a_grid_is_planned_without_a_network(name: str, models: int, train: int, test: int) -> None:
    grid = plan.build_plan(config_files.load([ROOT / "configs" / f"{name}.yaml"]))
    assert (len(grid.models), len(grid.config.tasks.train), len(grid.config.tasks.test)) == (models, train, test)
    assert len(grid.score_tables) == models * test
    # All tasks come from the hub and are pinned.
    assert {asset.split("-")[0] for asset in grid.assets} >= {"task"}
    assert len([asset for asset in grid.assets if asset.startswith("task-")]) == train + test


def test_a_37th_model_retrains_no_judge() -> None:
    raw = config_files.load([ROOT / "configs" / "paper.yaml"])
    before = plan.build_plan(raw)
    raw["models"] = {**raw["models"], "one-more": dict(raw["models"]["qwen3-8b"])}
    after = plan.build_plan(raw)
    assert set(after.score_tables) - set(before.score_tables) == {("one-more", task) for task in before.config.tasks.test}
    assert after.dataset_spec("million") == before.dataset_spec("million")
    assert after.training_spec("eurobert") == before.training_spec("eurobert")
    assert {pair for pair in before.score_tables if after.scores_spec(*pair) != before.scores_spec(*pair)} == set()


@pytest.mark.parametrize("folder", ["benchmarks", "examples", "workflow_scripts"])
def test_what_scripts_import_exists(folder: str) -> None:
    missing = []
    for path in sorted((ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            module = getattr(node, "module", None) or ""
            # What integrates other frameworks imports them; tests/with_frameworks runs these examples.
            if module.startswith("bert_judge") and not module.startswith("bert_judge.integrations"):
                for alias in node.names:
                    name = f"{module}.{alias.name}"
                    if not hasattr(importlib.import_module(module), alias.name) and importlib.util.find_spec(name) is None:
                        missing.append(f"{path.name}: {name}")
    assert missing == []
