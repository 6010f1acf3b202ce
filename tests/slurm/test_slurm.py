"""The workflow on a real SLURM, through the project's profile: what jobs ask for, what they survive, and how many there are."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pandas as pd
import pytest
from on_slurm import Cluster, OnSlurm, Submitted, wait_for
from workspace import Workspace

from bert_judge.candidates import SHARD_ROWS

pytestmark = pytest.mark.slurm

TARGET = "results/candidates/solid/long_test.parquet"
SHARDS = "results/.work/candidates/solid/long_test/[0-9a-f]*.parquet"


def shown(job: Submitted) -> str:
    """All that SLURM says of a job."""
    return subprocess.run(["scontrol", "show", "job", job.number], capture_output=True, text=True, check=True).stdout


def of_rule(cluster: Cluster, rule: str) -> list[Submitted]:
    return [job for job in cluster.jobs() if job.rule.startswith(f"rule_{rule}")]


# --- what jobs ask for ---


def test_the_whole_run_comes_from_slurm_jobs(cluster: Cluster, finished: OnSlurm) -> None:
    standings = pd.read_parquet(finished.folder / "results/standings.parquet")
    assert set(standings["model"]) == {"solid", "weak"}
    assert set(standings["judge"]) == {"truth", "strict", "overlap", "encoder"}
    assert {job.state for job in cluster.jobs()} == {"COMPLETED"}


def test_the_light_jobs_of_a_model_share_one_job_of_one_core(cluster: Cluster, finished: OnSlurm) -> None:
    for group in ("light-solid", "light-weak", "scores-solid", "scores-weak"):
        (job,) = of_rule(cluster, group)
        assert "Partition=cpu" in shown(job)
    (job,) = of_rule(cluster, "light-solid")
    assert "CPUs/Task=1" in shown(job)
    for rule in ("simulate_candidates", "label_lexical", "label_simulated", "build_scores"):
        assert not of_rule(cluster, rule)


def test_only_jobs_with_a_model_ask_for_a_gpu(cluster: Cluster, finished: OnSlurm) -> None:
    with_gpu = {job.rule for job in cluster.jobs() if "gres:gpu:1" in shown(job)}
    assert {name.split("_wildcards")[0] for name in with_gpu} == {"rule_train_judge", "rule_label_bert"}
    for rule in ("train_judge", "label_bert"):
        assert all("Partition=gpu" in shown(job) for job in of_rule(cluster, rule))


def test_a_job_sees_the_card_that_it_was_given(probe: OnSlurm) -> None:
    probe.done("card.txt", "--set-resources", "card:slurm_partition=gpu")
    assert (probe.folder / "card.txt").read_text().strip() in ("0", "1")


# --- what they survive ---


def test_a_job_that_lacks_memory_gets_more(cluster: Cluster, probe: OnSlurm) -> None:
    before = cluster.jobs()
    probe.done("hungry.txt")
    assert (probe.folder / "hungry.txt").read_text().split() == ["2", "800"]
    first, second = cluster.jobs()[len(before) :]
    assert first.state != "COMPLETED" and second.state == "COMPLETED"


def test_a_controller_that_dies_costs_no_work(cluster: Cluster, probe: OnSlurm) -> None:
    """The plugin forgets its jobs while nobody answers; what the jobs make is there all the same, and the next run sees it."""
    before = cluster.jobs()
    process = subprocess.Popen(probe._command("slow.txt", "after.txt"), cwd=probe.folder, env=probe.environment())
    wait_for((probe.folder / "slow.txt.begun").exists)
    cluster.do("crash")
    process.kill()
    process.wait()
    cluster.do("revive")
    wait_for(lambda: cluster.jobs()[-1].state == "COMPLETED")
    assert "--unlock" in probe.run("after.txt").text
    probe.done("--unlock")
    probe.done("after.txt")
    assert (probe.folder / "after.txt").exists()
    first, *_, last = (job.rule.split("_wildcards")[0] for job in cluster.jobs()[len(before) :])
    assert (first, last) == ("rule_slow", "rule_after")


def test_a_gpu_that_is_not_there_is_one_line(run: OnSlurm) -> None:
    (run.folder / "results/labels/encoder/solid/mini_test.parquet").unlink()
    run.more = {"BERT_JUDGE_WITHOUT_GPU": ""}
    result = run.run("results/labels/encoder/solid/mini_test.parquet", "--retries", "0")
    assert result.code != 0
    lines = [line for line in run.log("labels/encoder/solid/mini_test").splitlines() if "ERROR" in line]
    assert len(lines) == 1 and "the job asked for 1 GPU" in lines[0]


@pytest.fixture(scope="module")
def long(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> OnSlurm:
    """A run that is asked for a table of six shards; its questions are made."""
    config = {
        "models": {"solid": {"generator": "simulated", "knowledge": 0.9}},
        "tasks": {"test": ["long_test"]},
        "task_files": ["mini_tasks.py"],
        "judges": {"strict": {"kind": "lexical", "metric": "exact_match"}},
        "score_with": ["strict"],
    }
    made = OnSlurm.create(tmp_path_factory.mktemp("long") / "run", config)
    Workspace(made.folder).done("results/tasks/long_test.parquet")
    made.more = {"PAUSE_AFTER_SHARD": "3"}
    return made


@pytest.fixture(scope="module")
def undisturbed(long: OnSlurm, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """The table of a job that nothing happened to, on no cluster."""
    made = Workspace(long.copy(tmp_path_factory.mktemp("undisturbed") / "run").folder)
    made.done(TARGET)
    return pd.read_parquet(made.folder / TARGET)


@pytest.mark.parametrize(
    ("command", "states"),
    [
        # SIGTERM alone: the job saves what it has and fails; the next attempt is another job.
        (["scancel", "--signal=TERM"], ["FAILED", "COMPLETED"]),
        # SIGTERM, and SIGKILL after the grace time.
        (["scancel"], ["CANCELLED", "COMPLETED"]),
        # What pre-emption does: the same job runs again.
        (["scontrol", "requeue"], ["COMPLETED"]),
    ],
    ids=["terminated", "cancelled", "requeued"],
)
def test_a_job_that_is_stopped_in_the_middle_goes_on(
    cluster: Cluster, long: OnSlurm, undisturbed: pd.DataFrame, tmp_path: Path, command: list[str], states: list[str]
) -> None:
    run = long.copy(tmp_path / "run")
    run.more = long.more
    before = cluster.jobs()
    said: list[str] = []

    def stop() -> None:
        (job,) = cluster.jobs()[len(before) :]
        subprocess.run([*command, job.number], check=True)
        # The last words of the first attempt, before its log is written anew.
        wait_for(lambda: "asked to stop after" in (text := run.log("candidates/solid/long_test")) and not said.append(text))

    run.during(stop, lambda: bool(run.found(SHARDS)), TARGET)
    done = int(re.findall(r"asked to stop after (\d+) of 1300 answers", said[0])[0])
    assert done % SHARD_ROWS == 0 and 0 < done < 1300
    assert f"{done} of 1300 answers are there already" in run.log("candidates/solid/long_test")
    assert [job.state for job in cluster.jobs()[len(before) :]] == states
    pd.testing.assert_frame_equal(pd.read_parquet(run.folder / TARGET), undisturbed)


# --- how many there are ---


def test_a_second_submission_has_nothing_to_do(cluster: Cluster, run: OnSlurm) -> None:
    before = cluster.jobs()
    assert run.done().idle
    assert cluster.jobs() == before


def test_a_new_model_submits_its_own_jobs_and_the_summaries(cluster: Cluster, run: OnSlurm) -> None:
    config = run.config
    config["models"]["middling"] = {"generator": "simulated", "knowledge": 0.6}
    run.configure(config)
    before = cluster.jobs()
    run.done()
    names = [name.split("_wildcards")[0] for name in cluster.since(before)]
    own = [
        "rule_label_bert",
        "rule_light-middling_label_lexical_label_simulated_simulate_candidates",
        "rule_scores-middling_build_scores",
    ]
    assert sorted(names) == sorted([*own, "rule_build_standings", "rule_build_report"])
    assert [name for name in cluster.since(before) if "label_bert" in name] == [
        "rule_label_bert_wildcards_encoder_middling_mini_test"
    ]
