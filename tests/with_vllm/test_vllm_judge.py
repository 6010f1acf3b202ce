"""A prompted judge on vLLM in the workflow: one load for all tables of a model, probabilities, and a kill in the middle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.workspace import Workspace

from bert_judge import tables
from bert_judge.judges.prompted import PROBABILITY

pytestmark = [pytest.mark.vllm, pytest.mark.workflow]

TASKS = ("mini_test", "other_test")
ROWS = 30
BATCH = "Verdicts of teacher on a batch of tasks of solid"
HERE = "30 of 30 answers are already done"


def config(model: Path) -> dict[str, Any]:
    engine = {"generator": "vllm", "model": str(model), "dtype": "float32", "max_model_len": 4096, "enforce_eager": True}
    return {
        "models": {"solid": {"generator": "simulated", "p_correct": 0.7}},
        "tasks": {"test": list(TASKS)},
        "task_files": ["mini_tasks.py"],
        "judges": {"teacher": {"kind": "llm", "model": {**engine, "thinking": False}, "reasoning": False}},
        "scorers": ["teacher"],
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, qwen: Path) -> Workspace:
    """A run that was killed after the first of two tables and has ended well. Tests must not change it."""
    workspace = Workspace.create(tmp_path_factory.mktemp("whole") / "run", config(qwen))
    workspace.kill_when(lambda: bool(workspace.found("results/.work/store/verdicts/teacher/solid/[0-9a-f]*.parquet")), "labels")
    assert not workspace.found("results/labels/teacher/solid/*.parquet")
    workspace.done("--unlock")
    workspace.done("scores")
    return workspace


def verdicts(run: Workspace, task: str) -> pd.DataFrame:
    return tables.read(run.folder / f"results/labels/teacher/solid/{task}.parquet", tables.LABELS)


def fills(run: Workspace) -> list[str]:
    """Logs of the jobs that asked the judge about many tables."""
    return [path.read_text() for path in run.found("logs/label_batches/teacher/solid/*.log")]


def test_one_load_for_all_tables_of_a_model_goes_on_after_a_kill(whole: Workspace) -> None:
    # One table's answers were there; the other's were asked for.
    assert [(log.count(HERE), log.count(f"{ROWS}/{ROWS} answers")) for log in fills(whole)] == [(1, 1)]
    for task in TASKS:
        frame = verdicts(whole, task)
        assert set(frame["reason"]) == {PROBABILITY}
        assert frame["score"].between(0, 1, inclusive="neither").all()
        assert frame["score"].nunique() > 1
        assert (frame["completion_tokens"] >= 1).all()
        # Written from what the judge said before, without its model.
        log = whole.log(f"labels/teacher/solid/{task}")
        assert HERE in log
        assert "vLLM" not in log
    assert tables.provenance(whole.folder / "results/scores/solid/mini_test.parquet")["revisions"]["teacher"].startswith("local:")
    assert whole.run("scores").idle
    assert whole.run("results/scores/solid/mini_test.parquet").idle


def test_what_is_stale_takes_no_other_table_along(tmp_path: Path, whole: Workspace) -> None:
    run = whole.copy(tmp_path / "run")
    own = {"Verdicts of teacher on solid, mini_test", "Scores of solid on mini_test"}
    config = run.config
    config["tasks"]["limit"] = {"mini_test": 20}
    run.configure(config)
    questions = {"Questions of mini_test", "Answers of solid to mini_test (simulated)"}
    assert run.planned("scores") == own | questions | {BATCH}
