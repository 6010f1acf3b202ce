"""`bert-judge run` starts Snakemake on the workflow of the library, and the wheel has that workflow in it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from snakemake.cli import get_argument_parser
from typer.testing import CliRunner

from bert_judge.cli import app
from bert_judge.config import files as config_files

ROOT = Path(__file__).parents[3]
CONFIG = """
models: {bing: {generator: simulated, p_correct: 0.5}}
tasks: {test: [facts_test]}
judges: {human: {kind: imported}, lenient: {kind: lexical, metric: contains}}
scorers: [human, lenient]
"""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """Collect the commands that would replace this process."""
    commands: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _, command: commands.append(command))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(CONFIG)
    (tmp_path / "files").mkdir()
    return commands


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["run", *arguments])
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], {"targets": set(), "workflow_profile": "default", "dryrun": False}),
        (["scores", "report", "-n"], {"targets": {"scores", "report"}, "dryrun": True}),
        (
            ["--cores", "3", "--config", "audit={judge: human}", "--data", "files"],
            {"cores": 3, "config": ["audit={judge: human}", "data=FOLDER/files"]},
        ),
        (["--profile", "slurm"], {"workflow_profile": "slurm", "cores": None}),
        (["--directory", "runs/b", "--snakemake", "--forcerun label"], {"directory": "runs/b", "forcerun": {"label"}}),
    ],
)
def test_snakemake_understands_the_command(
    started: list[list[str]], tmp_path: Path, arguments: list[str], expected: dict[str, Any]
) -> None:
    assert run("mine.yaml", *arguments) == (0, "")
    [[python, flag, program, *options]] = started
    assert (python, flag, program) == (sys.executable, "-m", "snakemake")
    parsed = vars(get_argument_parser().parse_args(options))
    assert parsed["configfile"] == [tmp_path / "mine.yaml"] and str(parsed["snakefile"]) == str(ROOT / "Snakefile")
    for option, value in expected.items():
        found = parsed[option]
        if option == "config":
            value, found = [text.replace("FOLDER", str(tmp_path)) for text in value], list(map(str, found))
        assert (str(found) if isinstance(found, Path) else set(found) if isinstance(value, set) else found) == value


def test_further_files_override_the_first(started: list[list[str]], tmp_path: Path) -> None:
    (tmp_path / "more.yaml").write_text("gold: human")
    assert run("mine.yaml", "more.yaml", "scores") == (0, "")
    assert started[0][-5:] == ["--configfile", str(tmp_path / "mine.yaml"), str(tmp_path / "more.yaml"), "--", "scores"]


def test_a_configuration_of_the_library_needs_no_path(started: list[list[str]]) -> None:
    assert run("configs/paper.yaml") == (0, "")
    assert str(ROOT / "configs/paper.yaml") in started[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.yaml"], "error: absent.yaml: no such file; fix the path"),
        (["../Snakefile.yaml"], "error: ../Snakefile.yaml: no such file"),
        (["mine.yaml", "--profile", "absent"], "error: absent: no such profile"),
        (["mine.yaml", "scorse"], "error: scorse: no such target; did you mean 'scores'?"),
        (["mine.yaml", "nothing"], "error: nothing: no such target; choose one of: prepare, candidates, "),
        (["mine.yaml", "--config", "gold"], "error: --config gold: expected KEY=VALUE"),
        (["mine.yaml", "--config", "gold=humna"], "error: gold: 'humna' is not defined under judges; did you mean 'human'?"),
    ],
)
def test_bad_input_is_one_line_before_snakemake_starts(started: list[list[str]], arguments: list[str], message: str) -> None:
    code, output = run(*arguments)
    assert code == 1 and output.startswith(message) and output.count("\n") == 1 and not started


def test_a_rule_and_a_file_are_targets_too(started: list[list[str]]) -> None:
    targets = ["build_standings", "generate_candidates_openai", "results/scores/bing/facts_test.parquet"]
    assert run("mine.yaml", *targets) == (0, "")
    assert started[0][-3:] == targets


def test_a_setting_changes_one_key_of_a_block(started: list[list[str]], tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(f"{CONFIG}audit: {{judge: lenient}}\n")
    assert run("mine.yaml", "--config", "audit={size: 40}") == (0, "")
    assert CliRunner().invoke(app, ["check", "mine.yaml", "--config", "audit={size: 40}"]).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["audit", "mine.yaml"], "error: mine.yaml: no audit block; add audit: {judge: NAME}"),
        (["plan", "mine.yaml", "scorse"], "error: scorse: no such target; did you mean 'scores'?"),
        (["standings"], "error: results/standings.parquet: no such file; run a configuration first"),
        (["show", "files"], "error: files: is a folder; name a table in it"),
    ],
)
def test_a_command_without_its_input_says_what_to_do(started: list[list[str]], arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1 and result.output.startswith(message) and result.output.count("\n") == 1


def test_the_labels_of_an_audit_are_added_to_its_settings(started: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda command, **_: started.append(command) or subprocess.CompletedProcess(command, 3))
    Path("sheet.csv").write_text("id,rate,verdict\n")
    arguments = ["audit", "mine.yaml", "--config", "audit={judge: lenient}", "--labels", "sheet.csv"]
    assert CliRunner().invoke(app, arguments).exit_code == 3
    # The last of several settings of a key counts.
    assert "audit={judge: lenient, labels: [sheet.csv]}" in started[0]


def test_a_misspelled_command_has_a_suggestion() -> None:
    result = CliRunner().invoke(app, ["scor"])
    assert result.exit_code == 2 and "Did you mean 'score'?" in result.output


def test_a_library_without_its_workflow_says_so(started: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(config_files, "WORKFLOW_FOLDERS", (tmp_path,))
    code, output = run("mine.yaml")
    assert code == 1 and "installed without its workflow; reinstall it" in output and not started


def test_the_wheel_has_the_workflow(tmp_path: Path) -> None:
    command = [sys.executable, "setup.py", "-q", "egg_info", "--egg-base", tmp_path, "build_py", "--build-lib", tmp_path]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    built = tmp_path / "bert_judge" / "workflow"
    for name in ("Snakefile", "rules", "workflow_scripts", "profiles", "configs", "config.yaml", "report", "envs"):
        files = [path for path in [ROOT / name, *(ROOT / name).rglob("*")] if path.is_file() and "__pycache__" not in path.parts]
        assert files and all((built / path.relative_to(ROOT)).read_bytes() == path.read_bytes() for path in files)


def test_a_second_run_in_a_folder_names_the_first_one(started: list[list[str]], tmp_path: Path) -> None:
    (tmp_path / ".snakemake" / "locks").mkdir(parents=True)
    (tmp_path / ".snakemake" / "locks" / "0.output.lock").write_text("results/x")
    first = subprocess.Popen([sys.executable, "-c", "input()", "snakemake"], cwd=tmp_path, stdin=subprocess.PIPE)
    code, output = run("mine.yaml", "scores")
    assert (code, output.count("\n"), started) == (1, 1, [])
    assert (
        f"another run (process {first.pid}) is at work in this folder; wait for it to end, stop it with kill {first.pid}" in output
    )
    first.communicate(b"\n")
    code, output = run("mine.yaml", "scores")
    assert (code, output.count("\n"), started) == (1, 1, [])
    assert "is locked by a run that was killed" in output and "--snakemake=--unlock" in output
    assert run("mine.yaml", "scores", "--snakemake=--unlock")[0] == 0
    assert started[0][-3:] != [] and "--unlock" in started[0]
