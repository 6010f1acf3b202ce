"""Ranks in the workflow: rules compare pairs, the tables and the report follow, and a new model adds its own pairs only."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from helpers.workspace import Workspace

from bert_judge.evaluation.pairs.agreement import PEOPLE

pytestmark = pytest.mark.workflow

LINES = [
    {
        "question": f"Name fruit {n}.",
        "answer_a": f"apple {n}",
        "answer_b": f"stone number {n}",
        "label": "AB"[n % 2],
        "votes": "1,1,2",
    }
    for n in range(12)
]


@pytest.fixture(scope="module")
def ranked(finished: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The finished run with two sets of pairs that rules compare. Tests must not change its results."""
    run = finished.copy(tmp_path_factory.mktemp("ranks") / "run")
    (run.folder / "people.jsonl").write_text("\n".join(map(json.dumps, LINES)), "utf-8")
    config = run.config
    config["imports"] = {"people": {"path": "people.jsonl"}}
    config["judges"]["longer"] = {"kind": "pairwise", "rule": "longer"}
    config["judges"]["drawn"] = {"kind": "pairwise", "rule": "random", "seed": 1}
    config["pairs"] = {
        "arena": {"tasks": ["mini_test"], "gold": "truth", "judges": ["longer", "drawn"]},
        "people": {"from": "people", "judges": ["longer"]},
    }
    run.configure(config)
    run.done("ranks", "report")
    return run


def table(run: Workspace, name: str) -> list[dict]:
    return pq.read_table(run.folder / f"results/{name}.parquet").to_pylist()


def test_ranks_agreement_and_report_are_made(ranked: Workspace) -> None:
    ranks = table(ranked, "ranks")
    assert {(row["set"], row["judge"]) for row in ranks} == {("arena", "longer"), ("arena", "drawn"), ("arena", PEOPLE)}
    assert all(row["strength_low"] <= row["strength"] <= row["strength_high"] for row in ranks)
    measures = {(row["set"], row["judge"], row["measure"]): row["value"] for row in table(ranked, "pair_agreement")}
    # The stones' answers are longer, and every second label says A.
    assert measures["people", "longer", "agreement"] == 0.5
    assert measures["people", "longer", "prefers_longer"] == 1.0
    assert measures["people", PEOPLE, "panel_agreement"] == pytest.approx(1 / 3)
    orders = {(row["judge"], row["other"]): row["by"] for row in table(ranked, "rank_correlations") if row["set"] == "arena"}
    assert orders["longer", PEOPLE] == "pairs" and orders[PEOPLE, "truth"] == "answers"
    page = (ranked.folder / "results/report.html").read_text("utf-8")
    assert "Pairwise comparisons" in page
    assert (ranked.folder / "results/ranks.md").read_text("utf-8").startswith("arena\n")
    assert (ranked.folder / "results/ranks.csv").read_text("utf-8").count("\n") == len(ranks) + 1


def test_a_second_run_has_nothing_to_do(ranked: Workspace) -> None:
    assert ranked.run("ranks", "report").idle


def test_a_new_model_adds_its_own_pairs_and_the_summaries(ranked: Workspace, tmp_path: Path) -> None:
    run = ranked.copy(tmp_path / "run")
    config = run.config
    config["models"]["new"] = {"generator": "simulated", "p_correct": 0.5}
    run.configure(config)
    planned = run.planned("ranks")
    assert {
        "Pairs of new@solid in arena",
        "Pairs of new@weak in arena",
        "Preferences of longer on arena",
        "Model ranks from pairs of answers",
    } <= planned
    assert not {job for job in planned if "solid@weak" in job or "people" in job}


def test_a_rule_is_a_judge_of_pairs_only(ranked: Workspace, tmp_path: Path) -> None:
    run = ranked.copy(tmp_path / "run")
    config = run.config
    config["judges"]["longer"]["max_length"] = 100
    run.configure(config)
    failed = run.run("ranks")
    assert failed.code != 0
    assert "judges.longer" in failed.text and "max_length cannot be combined with rule" in failed.text
