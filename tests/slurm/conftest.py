"""A SLURM on this machine, started for these tests and stopped after them, and the workflow on it."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers import tiny_models
from helpers.small_run import small_config
from on_slurm import Cluster, OnSlurm

CONFIGURATION = Path("/etc/slurm/slurm.conf")
# How cluster.sh marks its own.
OWN = "# bert-judge test cluster"


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    missing = [name for name in ("slurmctld", "slurmd", "munged", "sbatch") if shutil.which(name) is None]
    if missing or os.geteuid() != 0:
        pytest.skip(f"no SLURM can be started here ({', '.join(missing) or 'not root'}); make test-slurm")
    if CONFIGURATION.exists() and not CONFIGURATION.read_text().startswith(OWN):
        pytest.skip(f"{CONFIGURATION}: this machine has a SLURM of its own, which these tests leave alone")
    if importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
        pytest.skip("no SLURM plugin for Snakemake here; pip install -e '.[slurm]'")
    made = Cluster(tmp_path_factory.mktemp("slurm") / "cluster")
    made.do("up", os.getpid())
    try:
        yield made
    finally:
        made.do("down")


@pytest.fixture(scope="session")
def finished(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> OnSlurm:
    """The whole run of a small configuration, made by SLURM jobs. Tests must not change it."""
    backbone = tiny_models.encoder(tmp_path_factory.mktemp("backbone") / "tiny")
    made = OnSlurm.create(tmp_path_factory.mktemp("finished") / "run", small_config(backbone))
    made.done()
    return made


@pytest.fixture
def run(finished: OnSlurm, tmp_path: Path) -> OnSlurm:
    """A copy of the finished run, to be changed."""
    return finished.copy(tmp_path / "run")


@pytest.fixture
def probe(cluster: Cluster, tmp_path: Path) -> OnSlurm:
    """Jobs that do nothing but show what they were given."""
    made = OnSlurm(tmp_path / "probe")
    made.folder.mkdir()
    shutil.copy2(Path(__file__).with_name("probe.smk"), made.folder / "Snakefile")
    return made
