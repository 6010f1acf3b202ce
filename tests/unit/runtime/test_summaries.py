"""A summary belongs to one configuration, and a run ends with its pages and its first failure."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bert_judge.runtime import summaries
from bert_judge.runtime.errors import ConfigError

STANDINGS, REPORT, LABELS = Path("results/standings.parquet"), Path("results/report.html"), Path("results/labels/a/b/c.parquet")
WORKFLOW = Path("/opt/workflow")
SNAKEMAKE_LOG = """\
Job 5: Questions of broken
[Thu Nov 26 08:10:41 2026]
Error in rule build_task:
    message: None
    jobid: 5
    log: {log} (check log file(s) for error details)
Error in rule label:
    log: logs/other.log (check log file(s) for error details)
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    return tmp_path


def claim(config: str, *outputs: Path) -> None:
    summaries.claim(outputs, Path(config), workflow=WORKFLOW)


def test_another_configuration_may_not_replace_standings() -> None:
    claim("a.yaml", STANDINGS)
    STANDINGS.touch()
    claim("a.yaml", STANDINGS)
    with pytest.raises(ConfigError, match=r"of a\.yaml, which a run of b\.yaml would replace: .* --directory runs/b"):
        claim("b.yaml", REPORT)


@pytest.mark.parametrize("outputs", [[LABELS], []])
def test_tables_that_are_no_summary_belong_to_nobody(outputs: list[Path]) -> None:
    claim("a.yaml", STANDINGS)
    STANDINGS.touch()
    claim("b.yaml", *outputs)
    assert summaries.OWNER_FILE.read_text() == "a.yaml"


def test_a_run_that_wrote_no_summary_leaves_the_folder_free() -> None:
    claim("a.yaml", STANDINGS)
    claim("b.yaml", STANDINGS)
    assert summaries.OWNER_FILE.read_text() == "b.yaml"


def test_an_audit_sheet_is_a_summary() -> None:
    claim("a.yaml", Path("results/audit/sheet.csv"))
    Path("results/audit").mkdir()
    Path("results/audit/sheet.csv").touch()
    with pytest.raises(ConfigError):
        claim("b.yaml", STANDINGS)


def test_a_configuration_of_the_workflow_has_one_name_everywhere() -> None:
    claim(str(WORKFLOW / "configs/x.yaml"), STANDINGS)
    assert summaries.OWNER_FILE.read_text() == "configs/x.yaml"


def test_only_new_pages_are_listed(folder: Path) -> None:
    REPORT.touch()
    Path("results/ranks.md").touch()
    os.utime("results/ranks.md", (10, 10))
    assert list(summaries.new_pages(since=100)) == [f"Report: {folder / REPORT}"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "2026-11-26 08:10:41,1 ERROR bert_judge.logs: a.csv: no such file\n2026-11-26 08:10:42,1 INFO x: end\n",
            "a.csv: no such file",
        ),
        ("2026-11-26 08:10:41,1 ERROR bert_judge.logs: the job failed\nTraceback:\nValueError: boom\n", "ValueError: boom"),
        ("", "ended without a message; if it ran on another machine, ask its scheduler"),
        (
            "2026-11-26 08:10:41,1 WARNING py.warnings: /x/base.py:7: FutureWarning: soon\n  warnings.warn(\n",
            "ended without a message; if it ran on another machine, ask its scheduler",
        ),
    ],
)
def test_the_first_failure_is_described(folder: Path, text: str, reason: str) -> None:
    (folder / "job.log").write_text(text)
    (folder / "run.log").write_text(SNAKEMAKE_LOG.format(log="job.log"))
    assert summaries.first_failure(["run.log"]) == f"2 jobs failed, first: build_task: {reason}\nIts log: job.log"


@pytest.mark.parametrize(
    ("signal", "reason"),
    [
        ("SIGKILL: 9", "was ended by SIGKILL, perhaps for its memory; the next run resumes it"),
        ("SIGTERM: 15", "was ended by SIGTERM; the next run resumes it"),
    ],
)
def test_the_signal_that_ended_a_job_is_named(folder: Path, signal: str, reason: str) -> None:
    (folder / "job.log").write_text("2026-11-26 08:10:41,1 INFO bert_judge.labels: half of the rows\n")
    end = f"Command 'set -euo pipefail;  python tmp.py' died with <Signals.{signal}>.\n"
    (folder / "run.log").write_text(f"RuleException:\n{end}{SNAKEMAKE_LOG.format(log='job.log')}")
    assert f"build_task: {reason}\n" in summaries.first_failure(["run.log"])


def test_a_run_without_a_failed_job_points_to_its_log() -> None:
    Path("run.log").write_text("WorkflowError:\n")
    assert "run.log" in summaries.first_failure(["run.log"])
