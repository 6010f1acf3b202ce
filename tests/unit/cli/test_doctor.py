"""What `bert-judge doctor` finds, with programs that stand in for SLURM's."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from bert_judge.cli import app, check_machine


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def program(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)


def profile(folder: Path, content: object) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return folder


def states(profile: Path) -> dict[str, str]:
    return {finding.name: finding.state for finding in check_machine.slurm_findings(profile)}


PARTITIONS = {"default-resources": {"slurm_partition": "cpu"}, "set-resources": {"train_judge": {"slurm_partition": "gpu,long"}}}


def test_without_slurm_there_is_nothing_to_mend(programs: Path, tmp_path: Path) -> None:
    assert states(tmp_path) == {"SLURM": "note"}


def test_a_controller_that_does_not_answer(programs: Path, tmp_path: Path) -> None:
    program(programs, "sinfo", "exit 1")
    assert states(tmp_path) == {"SLURM": "bad"}


def test_a_cluster_that_has_all_the_partitions(programs: Path, tmp_path: Path) -> None:
    program(programs, "sinfo", "echo cpu; echo gpu; echo long")
    program(programs, "sacct", "exit 0")
    found = states(profile(tmp_path / "p", PARTITIONS))
    assert found["SLURM"] == found["profile"] == "ok"
    assert "SLURM accounting" not in found


def test_missing_partitions_and_accounting(programs: Path, tmp_path: Path) -> None:
    program(programs, "sinfo", "echo cpu; echo batch")
    found = {finding.name: finding for finding in check_machine.slurm_findings(profile(tmp_path / "p", PARTITIONS))}
    assert found["profile"].state == "bad"
    assert "no partition gpu, long; available: batch, cpu" in found["profile"].text
    assert "slurm-status-command: squeue" in found["SLURM accounting"].text


@pytest.mark.parametrize("content", [None, "a: [", "just words", "- a\n- b\n"], ids=["none", "no YAML", "text", "list"])
def test_a_profile_that_names_no_partition(tmp_path: Path, content: str | None) -> None:
    folder = tmp_path / "p" if content is None else profile(tmp_path / "p", content)
    (finding,) = check_machine.profile_findings(folder, ["cpu"])
    assert finding.state == ("ok" if content in ("just words", "- a\n- b\n") else "bad")
    assert "\n" not in finding.text


@pytest.mark.parametrize(
    ("requirement", "fault"),
    [
        ("pandas>=1", None),
        ("pandas>=999", "pandas "),
        ("no-such-package-anywhere", "no-such-package-anywhere is missing"),
        ("no-such-package-anywhere; extra == 'slurm'", None),
    ],
)
def test_versions(requirement: str, fault: str | None) -> None:
    found = list(check_machine.package_faults([requirement]))
    assert found == [] if fault is None else found[0].startswith(fault)


def test_the_command_prints_a_table(programs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    result = CliRunner().invoke(app, ["doctor", "--profile", str(tmp_path)])
    assert result.exit_code == 0, result.output
    for word in ("Python", "packages", "GPUs", "disk", "hub", "vLLM", "SLURM"):
        assert word in result.output
