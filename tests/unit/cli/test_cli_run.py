"""`bert-judge run` starts Snakemake on the workflow of the library, and the wheel has that workflow in it."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from functools import partial
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from typing import Any

import pytest
from snakemake.cli import get_argument_parser
from snakemake_interface_logger_plugins.common import LogEvent
from typer.testing import CliRunner

from bert_judge.cli import app, snakemake_progress
from bert_judge.config import files as config_files
from bert_judge.runtime.logs import ProgressLogger

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
    # The plugin is optional, and nothing of it runs here.
    plugin = ModuleSpec("snakemake_executor_plugin_slurm", None)
    monkeypatch.setitem(sys.modules, plugin.name, module_from_spec(plugin))
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
            ["--cores", "3", "--set", "audit={judge: human}", "--data", "files"],
            {"cores": 3, "config": ["audit={judge: human}", "data=FOLDER/files"]},
        ),
        (["--profile", "slurm"], {"workflow_profile": "slurm", "cores": None}),
        (["--verbose"], {"unlock": False}),
        (["--unlock"], {"unlock": True}),
        (["--directory", "runs/b", "--snakemake", "--forcerun label"], {"directory": "runs/b", "forcerun": {"label"}}),
    ],
)
def test_snakemake_understands_the_command(
    started: list[list[str]], tmp_path: Path, arguments: list[str], expected: dict[str, Any]
) -> None:
    assert run("mine.yaml", *arguments) == (0, "")
    [[python, flag, program, *options]] = started
    shows_everything = {"-n", "--snakemake", "--verbose", "--unlock"}.intersection(arguments)
    expected_program = "snakemake" if shows_everything else "bert_judge.cli.snakemake_progress"
    assert (python, flag, program) == (sys.executable, "-m", expected_program)
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
        (["mine.yaml", "--set", "gold"], "error: --set gold: expected KEY=VALUE"),
        (["mine.yaml", "--set", "gold=humna"], "error: gold: 'humna' is not defined under judges; did you mean 'human'?"),
    ],
)
def test_bad_input_is_one_line_before_snakemake_starts(started: list[list[str]], arguments: list[str], message: str) -> None:
    code, output = run(*arguments)
    assert code == 1 and output.startswith(message) and output.count("\n") == 1 and not started


@pytest.mark.parametrize("command", ["run", "check", "plan"])
@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_a_table_is_no_configuration(started: list[list[str]], command: str, ending: str) -> None:
    table = Path(f"answers{ending}")
    table.write_text("question,reference,answer\n")
    result = CliRunner().invoke(app, [command, str(table)])
    assert result.exit_code == 1 and result.output.count("\n") == 1 and not started
    assert "a table, and this needs a configuration (a YAML file); bert-judge score" in result.output


def test_an_executor_that_is_not_installed_is_one_line(started: list[list[str]]) -> None:
    profile = Path("far")
    profile.mkdir()
    (profile / "config.yaml").write_text("executor: far-away\n")
    code, output = run("mine.yaml", "--profile", "far")
    assert (code, started) == (1, [])
    package = "snakemake-executor-plugin-far-away"
    assert output == f"error: the profile far needs {package}: pip install {package}\n"


def test_a_run_prints_its_progress_and_not_the_text_of_snakemake(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("bert_judge.cli.terminal.ProgressLogger", partial(ProgressLogger, seconds=0))
    handler = snakemake_progress.LogHandler(None, None)
    for event, level, text, values in [
        (None, logging.INFO, "Select jobs to execute...", {}),
        (LogEvent.PROGRESS, logging.INFO, "", {"done": 1, "total": 4}),
        (LogEvent.JOB_ERROR, logging.ERROR, "Error in rule x:", {}),
        (None, logging.ERROR, "WorkflowError: broken", {}),
        (None, logging.INFO, "Nothing to be done (all requested files are present and up to date).", {}),
    ]:
        handler.emit(logging.makeLogRecord({"event": event, "levelno": level, "msg": text, **values}))
    handler.close()
    lines = capsys.readouterr().err.splitlines()
    assert re.fullmatch(r"1 jobs done, .*/s, \d+ s left", lines[0])
    assert [line.split(" (")[0] for line in lines[1:]] == ["WorkflowError: broken", "Nothing to be done"]


def test_a_rule_and_a_file_are_targets_too(started: list[list[str]]) -> None:
    targets = ["build_standings", "generate_candidates_openai", "results/scores/bing/facts_test.parquet"]
    assert run("mine.yaml", *targets) == (0, "")
    assert started[0][-3:] == targets


def test_a_setting_changes_one_key_of_a_block(started: list[list[str]], tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(f"{CONFIG}audit: {{judge: lenient}}\n")
    assert run("mine.yaml", "--set", "audit={size: 40}") == (0, "")
    assert CliRunner().invoke(app, ["check", "mine.yaml", "--set", "audit={size: 40}"]).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["audit", "mine.yaml"], "error: mine.yaml: no audit block; add audit: {judge: NAME}"),
        (["plan", "mine.yaml", "scorse"], "error: scorse: no such target; did you mean 'scores'?"),
        (["standings"], "error: results/standings.parquet: no such file; run a configuration first"),
        (["show", "files"], "error: files: is a folder; name a table in it"),
        (["show", "a.csv"], "error: a.csv: show reads the tables of a run (.parquet); bert-judge score a.csv"),
    ],
)
def test_a_command_without_its_input_says_what_to_do(started: list[list[str]], arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 1 and result.output.startswith(message) and result.output.count("\n") == 1


def test_the_labels_of_an_audit_are_added_to_its_settings(started: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda command, **_: started.append(command) or subprocess.CompletedProcess(command, 3))
    Path("sheet.csv").write_text("id,rate,verdict\n")
    arguments = ["audit", "mine.yaml", "--set", "audit={judge: lenient}", "--labels", "sheet.csv"]
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
    assert "is locked by a run that was killed" in output and "repeating the command once with --unlock" in output
    assert run("mine.yaml", "scores", "--unlock")[0] == 0
    assert started[0][-3:] != [] and "--unlock" in started[0]
