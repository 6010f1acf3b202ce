"""One finished run of a small configuration; each test works on a copy of it."""

from pathlib import Path
from typing import Any

import pytest
import tiny_models
from workspace import Workspace


def small_config(backbone: Path) -> dict[str, Any]:
    """Two simulated models, four kinds of columns, one judge that is trained in a second."""
    return {
        "models": {
            "solid": {"generator": "simulated", "knowledge": 0.9},
            "weak": {"generator": "simulated", "knowledge": 0.3, "style": "wordy"},
        },
        "tasks": {"train": ["mini_train"], "test": ["mini_test"]},
        "task_files": ["mini_tasks.py"],
        "prompt_style": "soft",
        "datasets": {"mix": {"teacher": "noisy", "tasks": ["mini_train"], "models": ["solid", "weak"], "validation": 0.2}},
        "judges": {
            "truth": {"kind": "simulated"},
            "noisy": {"kind": "simulated", "flip": 0.05},
            "strict": {"kind": "lexical", "metric": "exact_match", "extract": "final_answer"},
            "overlap": {"kind": "lexical", "metric": "rouge_l_recall", "threshold": 0.5},
            "encoder": {"kind": "bert", "dataset": "mix", "backbone": str(backbone), "training": {"epochs": 2, "batch_size": 4}},
        },
        "score_with": ["truth", "strict", "overlap", "encoder"],
        "gold": "truth",
    }


@pytest.fixture(scope="session")
def backbone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.encoder(tmp_path_factory.mktemp("backbone") / "tiny")


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, backbone: Path) -> Workspace:
    """A run that has ended well. Tests must not change it."""
    workspace = Workspace.create(tmp_path_factory.mktemp("finished") / "run", small_config(backbone))
    workspace.done()
    return workspace


@pytest.fixture
def run(finished: Workspace, tmp_path: Path) -> Workspace:
    """A copy of the finished run, to be changed."""
    return finished.copy(tmp_path / "run")


@pytest.fixture
def fresh(tmp_path: Path, backbone: Path) -> Workspace:
    """The same workflow with no results."""
    return Workspace.create(tmp_path / "fresh", small_config(backbone))
