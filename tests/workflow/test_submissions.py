"""The paper's grid in few SLURM jobs."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from helpers.workspace import PROJECT

MAX_SUBMISSIONS = 200


@pytest.fixture(scope="module")
def planning() -> ModuleType:
    """Return the benchmark that counts the jobs."""
    spec = importlib.util.spec_from_file_location("planning_time", PROJECT / "benchmarks" / "planning_time.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Its data class looks itself up.
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_papers_grid_needs_few_submissions(planning: ModuleType, tmp_path: Path) -> None:
    for name in planning.WORKFLOW:
        (tmp_path / name).symlink_to(PROJECT / name)

    def plan(*arguments: str) -> str:
        command = [sys.executable, "-m", "snakemake", "--configfile", str(PROJECT / "configs/paper.yaml"), *arguments]
        return subprocess.run(
            command, cwd=tmp_path, env=os.environ | {"HF_HUB_OFFLINE": "1"}, check=True, capture_output=True, text=True
        ).stdout

    profile = yaml.safe_load((PROJECT / "profiles/slurm/config.yaml").read_text("utf-8"))
    jobs = {rule: int(count) for rule, count in planning.STATS.findall(plan("--dry-run", "--quiet", "rules"))}
    submissions = planning.submissions(jobs, plan("--summary"), profile)
    assert jobs["total"] > 4_000 and submissions["scores-{model}"] == 36
    assert submissions.total() <= MAX_SUBMISSIONS


def test_jobs_of_a_group_share_submissions(planning: ModuleType) -> None:
    profile = {"groups": {"label": "light-{model}", "task": "tasks"}, "group-components": {"light-{model}": 1000, "tasks": 2}}
    paths = {
        "label": ["labels/j/a/1", "labels/j/a/2", "labels/j/b/1"],
        "task": ["tasks/1", "tasks/2", "tasks/3"],
        "train": ["judges/x"],
    }
    summary = "\n".join(f"results/{path}.parquet\t-\t{rule}\t-" for rule, of_rule in paths.items() for path in of_rule)
    jobs = {"prepare_asset": 9, "label": 3, "task": 3, "train": 1, "all": 1, "total": 17}
    assert planning.submissions(jobs, f"output_file\tdate\trule\tlog\n{summary}", profile) == {
        "light-{model}": 2,
        "tasks": 2,
        "train": 1,
    }
