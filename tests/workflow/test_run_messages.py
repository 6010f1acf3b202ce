"""What a run says first and last: whose summary is in results/, where the report is, and which job failed first."""

from __future__ import annotations

import shutil

import pytest
from helpers.workspace import Workspace

pytestmark = pytest.mark.workflow


def test_a_run_ends_with_its_report_and_does_not_replace_that_of_another_configuration(run: Workspace) -> None:
    report = run.folder / "results" / "report.html"
    assert f"Report: {report}" in run.done("--forcerun", "build_report").text
    shutil.copy(run.folder / "config.yaml", run.folder / "other.yaml")
    before = run.times()
    refused = run.run("--forcerun", "build_report", "--configfile", "other.yaml")
    assert refused.code != 0 and "results/ has the standings and the report of config.yaml" in refused.text
    assert "--directory runs/other" in refused.text and run.changed_since(before) == set()
    assert run.planned("--forcerun", "build_report", "--configfile", "other.yaml")


def test_the_first_failure_is_repeated_at_the_end(run: Workspace) -> None:
    (run.folder / "results" / "scores" / "solid" / "mini_test.parquet").unlink()
    (run.folder / "results" / "labels" / "strict" / "solid" / "mini_test.parquet").write_bytes(b"no table")
    failed = run.run()
    assert failed.code != 0
    assert "1 job failed: build_scores: " in failed.text and "Its log: logs/scores/solid/mini_test.log" in failed.text
