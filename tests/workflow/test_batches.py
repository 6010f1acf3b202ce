"""Jobs that work for several tables at once: which tables they are is told from the targets. Planned only; no engine is here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.workspace import Workspace

pytestmark = pytest.mark.workflow


@pytest.fixture
def planning(tmp_path: Path) -> Workspace:
    engine = {"generator": "vllm", "model": "owner/name"}
    config: dict[str, Any] = {
        "models": {"tiny": engine, "made-up": {"generator": "simulated", "p_correct": 0.5}},
        "tasks": {"test": ["mini_test", "other_test"]},
        "task_files": ["mini_tasks.py"],
        "judges": {"teacher": {"kind": "llm", "model": engine, "reasoning": False}},
        "scorers": ["teacher"],
    }
    return Workspace.create(tmp_path / "run", config)


def test_one_batch_of_answers_and_of_verdicts_for_each_model(planning: Workspace) -> None:
    jobs = planning.planned("scores")
    assert {job for job in jobs if "batch" in job} == {
        "Answers of tiny to a batch of tasks",
        "Verdicts of teacher on a batch of tasks of tiny",
        "Verdicts of teacher on a batch of tasks of made-up",
    }


@pytest.mark.parametrize("folder", ["answer_batches/tiny", "label_batches/teacher/made-up"])
def test_a_batch_that_this_run_does_not_know(planning: Workspace, folder: str) -> None:
    """As for a job whose executor did not pass on what the run was asked for."""
    ended = planning.run("--dry-run", f"results/{folder}/0123456789abcdef.json")
    assert ended.code != 0
    assert "variable BERT_JUDGE_TARGETS: make the executor pass it on" in ended.text
