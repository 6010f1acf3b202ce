"""A run makes what is missing or stale, and nothing else."""

from __future__ import annotations

import random
from typing import Any

import pandas as pd
import pytest
import yaml
from helpers.workspace import Workspace

from bert_judge import tables
from bert_judge.evaluation.standings import SCHEMAS

pytestmark = pytest.mark.workflow

SUMMARY_JOBS = {"Standings", "Report"}
EXPORTS = {f"results/standings.{ending}" for ending in ("csv", "md", "tex", "svg")}
SUMMARIES = {*(f"results/{name}.parquet" for name in SCHEMAS), *EXPORTS, "results/report.html"}


def shuffled(value: Any, draw: random.Random) -> Any:
    """The same mapping with its keys in another order, on all levels."""
    if not isinstance(value, dict):
        return value
    keys = list(value)
    draw.shuffle(keys)
    return {key: shuffled(value[key], draw) for key in keys}


def test_a_run_makes_scores_and_report(finished: Workspace) -> None:
    scores = tables.read(finished.folder / "results/scores/solid/mini_test.parquet", tables.scores_schema(["truth", "encoder"]))
    assert len(scores) == 30
    assert set(scores["truth_verdict"]) == {"correct", "incorrect"}
    standings = pd.read_parquet(finished.folder / "results/standings.parquet")
    assert set(standings["model"]) == {"solid", "weak"}
    assert set(standings["judge"]) == {"truth", "strict", "overlap", "encoder"}
    assert "<html" in (finished.folder / "results/report.html").read_text()
    made = {path.name for path in finished.found("results/judges/encoder/*")}
    assert {"judge.json", "model.safetensors", "config.json", "tokenizer.json", "README.md", "metrics.json"} <= made


def test_every_job_leaves_a_log_and_a_benchmark(finished: Workspace) -> None:
    made = [path for path in finished.contents() if not path.startswith("results/judges")]
    stages = {path.split("/")[1] for path in made if path.count("/") > 1}
    for kind in ("logs", "results/benchmarks"):
        assert stages <= {path.name for path in finished.found(f"{kind}/*")}


def test_nothing_unfinished_is_left(finished: Workspace) -> None:
    assert [path for path in finished.found("results/.work/**/*") if path.is_file()] == []


def test_a_second_run_has_nothing_to_do(run: Workspace) -> None:
    before = run.times()
    assert run.done().idle
    assert run.times() == before


def test_named_targets_are_parts_of_a_run(run: Workspace) -> None:
    targets = ["prepare", "candidates", "labels", "datasets", "judges", "scores", "standings", "report"]
    assert run.done("--dry-run", *targets).idle


def test_a_new_model_adds_its_own_tables_and_the_summaries(run: Workspace) -> None:
    config = run.config
    config["models"] = {"middling": {"generator": "simulated", "p_correct": 0.6}, **config["models"]}
    run.configure(config)
    before = run.times()
    result = run.done()
    own = {
        "results/candidates/middling/mini_test.parquet",
        *(f"results/labels/{judge}/middling/mini_test.parquet" for judge in config["scorers"]),
        "results/scores/middling/mini_test.parquet",
    }
    assert run.changed_since(before) == own | SUMMARIES
    assert len(result.jobs) == len(own) + len(SUMMARY_JOBS)


def test_a_new_model_retrains_a_judge_whose_dataset_lists_it(run: Workspace) -> None:
    config = run.config
    config["models"]["middling"] = {"generator": "simulated", "p_correct": 0.6}
    config["datasets"]["mix"]["models"] = "all"
    run.configure(config)
    planned = run.planned()
    assert {"Answers of middling to mini_train (simulated)", "Train encoder", "Verdicts of encoder on solid, mini_test"} <= planned
    assert "Answers of solid to mini_test (simulated)" not in planned


def test_changed_thresholds_rerun_their_judges_only(run: Workspace) -> None:
    """A lexical judge and the trained one, which is not trained again."""
    config = run.config
    config["judges"]["overlap"]["threshold"] = 0.7
    config["judges"]["encoder"]["threshold"] = 0.6
    run.configure(config)
    before = run.times()
    run.done()
    parts = ("labels/overlap", "labels/encoder", "scores")
    own = {f"results/{part}/{model}/mini_test.parquet" for part in parts for model in ("solid", "weak")}
    assert run.changed_since(before) == own | SUMMARIES


def test_a_changed_setting_of_the_training_trains_again(run: Workspace) -> None:
    config = run.config
    config["judges"]["encoder"]["training"]["epochs"] = 1
    run.configure(config)
    verdicts = {f"Verdicts of encoder on {model}, mini_test" for model in ("solid", "weak")}
    scores = {f"Scores of {model} on mini_test" for model in ("solid", "weak")}
    assert run.planned() == {"Train encoder", *verdicts, *scores, *SUMMARY_JOBS}


def test_changes_that_change_no_content_rerun_nothing(run: Workspace) -> None:
    """Comments, the order of keys, touched files of the workflow and of the judge, and a key of the command line."""
    text = yaml.safe_dump(shuffled(run.config, random.Random(1)), sort_keys=False)
    assert text != yaml.safe_dump(run.config, sort_keys=False)
    (run.folder / "config.yaml").write_text("# A remark.\n" + text.replace("models:\n", "models: # who answers\n", 1))
    for pattern in ("workflow_scripts/*.py", "rules/*.smk", "Snakefile", "profiles/*/*", "envs/*", "mini_tasks.py"):
        for path in run.found(pattern):
            path.touch()
    (run.folder / "results/prepared/judge-encoder.json").touch()
    assert run.done("--dry-run", "--config", "data=elsewhere").idle


def test_a_new_test_task_repeats_the_overlap_check_but_not_the_training(run: Workspace) -> None:
    config = run.config
    config["tasks"]["test"].append("other_test")
    run.configure(config)
    before = run.times()
    result = run.done()
    assert "Check mix for questions of other_test" in result.jobs
    assert "Train encoder" not in result.jobs
    changed = run.changed_since(before)
    kept = [path for path in changed if "mini_" in path or path.startswith(("results/judges", "results/prepared"))]
    assert kept == []
    assert "results/datasets/mix/overlap/other_test.json" in changed
    assert {f"results/scores/{model}/other_test.parquet" for model in ("solid", "weak")} <= changed


def test_a_task_file_that_changed_reruns_its_tasks(run: Workspace) -> None:
    file = run.folder / "mini_tasks.py"
    file.write_text(file.read_text().replace("How much is", "What is the sum of"))
    planned = run.planned()
    assert {"Questions of mini_train", "Questions of mini_test", "Train encoder"} <= planned


def test_the_configuration_of_the_command_line_replaces_the_default(run: Workspace) -> None:
    config = run.config
    del config["judges"]["strict"]
    config["scorers"].remove("strict")
    (run.folder / "other.yaml").write_text(yaml.safe_dump(config))
    result = run.done("--dry-run", "--configfile", "other.yaml")
    # With the default laid under it, the judge would still be there and the scores up to date.
    assert result.jobs == {"Scores of solid on mini_test", "Scores of weak on mini_test", *SUMMARY_JOBS}


def test_snakemake_packs_its_own_report(run: Workspace) -> None:
    run.done("--report", "run.html")
    page = (run.folder / "run.html").read_text()
    assert "Standings" in page and "Read in this order" in page
