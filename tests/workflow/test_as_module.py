"""The rules as a module of another workflow, under other names, with a part of its configuration, and as catalogues deploy them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pandas as pd
import pytest
from helpers.workspace import PROJECT, Workspace

OUTER = """
configfile: "config.yaml"

module bert_judge:
    snakefile: {snakefile!r}
    config: config["judging"]

use rule * from bert_judge as judge_*

rule summary:
    default_target: True
    input: "results/scores/solid/facts_test.parquet"
    output: "summary.txt"
    shell: "ls {{input}} > {{output}}"
"""
# What Snakedeploy writes into `workflow/Snakefile`, but for the place of the module.
DEPLOYED = """
configfile: "config/config.yaml"

module bert_judge:
    snakefile: {snakefile!r}
    config: config

use rule * from bert_judge
"""
CONFIG = {
    "text": "about another matter",
    "judging": {
        "models": {"solid": {"generator": "simulated", "p_correct": 0.9}},
        "tasks": {"test": ["facts_test"], "limit": {"facts_test": 10}},
        "judges": {"truth": {"kind": "imported"}, "contains": {"kind": "lexical", "metric": "contains"}},
        "scorers": ["truth", "contains"],
        "gold": "truth",
    },
}

pytestmark = pytest.mark.workflow


def test_another_workflow_takes_the_rules(tmp_path: Path) -> None:
    outer = Workspace(tmp_path)
    outer.configure(CONFIG)
    (tmp_path / "Snakefile").write_text(OUTER.format(snakefile=str(PROJECT / "Snakefile")))
    made = outer.done()
    assert "Scores of solid on facts_test" in made.jobs and "localrules directive" not in made.text
    assert (tmp_path / "summary.txt").read_text().split() == ["results/scores/solid/facts_test.parquet"]
    assert len(pd.read_parquet(tmp_path / "results/scores/solid/facts_test.parquet")) == 10
    assert outer.done("--dry-run").idle
    # The targets are there under the prefix, too, and what is downloaded is still local.
    assert "Standings" in outer.planned("judge_report")


def test_faults_of_its_part_stop_the_outer_workflow(tmp_path: Path) -> None:
    outer = Workspace(tmp_path)
    outer.configure({**CONFIG, "judging": {**CONFIG["judging"], "gold": "nobody"}})
    (tmp_path / "Snakefile").write_text(OUTER.format(snakefile=str(PROJECT / "Snakefile")))
    ended = outer.run("--dry-run")
    assert ended.code != 0 and "gold: 'nobody' is not defined under judges" in ended.text and "Traceback" not in ended.text


def test_the_workflow_of_a_catalogue_with_the_configuration_of_its_folder(tmp_path: Path) -> None:
    for name, content in [
        ("config/config.yaml", (PROJECT / "config/config.yaml").read_text("utf-8")),
        ("workflow/Snakefile", DEPLOYED.format(snakefile=str(PROJECT / "workflow/Snakefile"))),
    ]:
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(content)
    assert {"Scores of solid on facts_test", "Standings"} <= Workspace(tmp_path).planned()


def test_the_test_run_of_a_catalogue(tmp_path: Path) -> None:
    shutil.copyfile(PROJECT / ".test/config.yaml", tmp_path / "config.yaml")
    assert {"Scores of solid on facts_test", "Standings"} <= Workspace(tmp_path).planned("--snakefile", str(PROJECT / "Snakefile"))


def test_both_snakefiles_are_one_workflow(tmp_path: Path) -> None:
    clone = Workspace.create(tmp_path, CONFIG["judging"])
    shutil.copytree(PROJECT / "workflow", tmp_path / "workflow")
    assert clone.planned("--snakefile", "workflow/Snakefile") == clone.planned()
