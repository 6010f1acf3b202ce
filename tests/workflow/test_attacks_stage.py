"""Judges are tried by attacks: answers made up, labelled by the ordinary rules, rates in the report."""

from __future__ import annotations

from pathlib import Path

import pytest
from helpers.workspace import Workspace, edited_library

from bert_judge import tables
from bert_judge.text import TEXT_VERSION

pytestmark = pytest.mark.workflow

RATES = {"results/attacks/rates.parquet", "results/attacks/examples.parquet"}
LABELS = "results/labels/{}/_attacks/mini_test.parquet"
MADE = {"results/attacks/families/mini_test.parquet", "results/candidates/_attacks/mini_test.parquet"}


def configure(run: Workspace, **attacks: object) -> None:
    run.configure(run.config | {"attacks": {"judges": ["encoder", "strict"], "rows": 4, **attacks}})


def test_from_the_block_to_the_report(run: Workspace, tmp_path: Path) -> None:
    before = run.times()
    configure(run)
    run.done("attacks")
    # Existing tables are not rebuilt, and no judge is retrained.
    assert run.changed_since(before) == {*RATES, *MADE, LABELS.format("encoder"), LABELS.format("strict")}
    rates = tables.read(run.folder / "results/attacks/rates.parquet", tables.ATTACK_RATES)
    assert set(rates["judge"]) == {"encoder", "strict"}
    empty = rates[rates["group"] == "empty"].set_index("judge")
    # An empty answer is incorrect for every judge.
    assert (empty["error_rate"] == 0).all() and (empty["invalid"] == 0).all()
    assert set(empty["questions"]) == {4}

    before = run.times()
    run.done()
    assert run.changed_since(before) == {"results/report.html"}
    page = (run.folder / "results/report.html").read_text("utf-8")
    assert "Robustness to attacks" in page
    assert run.done().idle

    # Attacks are made of words, so other rules about words make others.
    old, new = (f"TEXT_VERSION = {version}" for version in (TEXT_VERSION, TEXT_VERSION + 1))
    planned = run.planned_with(edited_library(tmp_path / "edited", "text/__init__.py", old, new), "attacks")
    labels = {f"Verdicts of {judge} on _attacks, mini_test" for judge in ("encoder", "strict")}
    assert planned == {"Attacks on judges from mini_test", "Train encoder", *labels, "Error rates of judges under attack"}

    # One more judge is tried alone.
    before = run.times()
    configure(run, judges=["encoder", "strict", "overlap"])
    run.done()
    assert run.changed_since(before) == {*RATES, LABELS.format("overlap"), "results/report.html"}


def test_without_the_block_there_is_nothing_to_do_and_a_fault_stops_the_run(run: Workspace) -> None:
    before = run.times()
    run.done("attacks")
    assert run.changed_since(before) == set()
    configure(run, judges=["truth"])
    result = run.run("attacks")
    assert result.code != 0
    assert "attacks.judges: 'truth' is of kind imported" in result.text
