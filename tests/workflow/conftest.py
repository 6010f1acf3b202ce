"""One finished run of a small configuration; each test works on a copy of it."""

from pathlib import Path

import pytest
from helpers import tiny_models
from helpers.small_run import small_config
from helpers.workspace import Workspace


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
