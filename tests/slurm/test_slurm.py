"""The workflow on a real SLURM, through the project's profile: what jobs ask for, what they survive, and how many there are."""

from __future__ import annotations

import re
import subprocess

import pandas as pd
import pytest
from on_slurm import Cluster, OnSlurm, wait_for

pytestmark = pytest.mark.slurm


# --- what jobs ask for ---


def test_the_whole_run_comes_from_slurm_jobs(cluster: Cluster, finished: OnSlurm) -> None:
    standings = pd.read_parquet(finished.folder / "results/standings.parquet")
    assert set(standings["model"]) == {"solid", "weak"}
    assert set(standings["judge"]) == {"truth", "strict", "overlap", "encoder"}
    assert {job.state for job in cluster.jobs(finished)} == {"COMPLETED"}


def test_the_light_jobs_of_a_model_share_one_job_of_one_core(cluster: Cluster, finished: OnSlurm) -> None:
    jobs = cluster.jobs(finished)
    for group in ("light-solid", "light-weak", "scores-solid", "scores-weak"):
        (job,) = [job for job in jobs if job.kind.startswith(group)]
        shown = job.shown()
        assert "Partition=cpu" in shown
        assert "CPUs/Task=1" in shown
    alone = {"simulate_candidates", "label", "build_scores"}
    assert not alone & {job.kind for job in jobs}


def test_only_jobs_with_a_model_ask_for_a_gpu(cluster: Cluster, finished: OnSlurm) -> None:
    asked = {job: job.shown() for job in cluster.jobs(finished)}
    with_gpu = [job for job, shown in asked.items() if re.search(r"gres[:/]gpu[:=]1\b", shown)]
    # The tables of a trained judge are labelled in a job per model.
    assert {re.sub(r"^trained-[^_]+_", "", job.kind) for job in with_gpu} == {"train_judge", "label_encoder"}
    assert {job for job, shown in asked.items() if "Partition=gpu" in shown} == set(with_gpu)


def test_a_job_sees_the_card_that_it_was_given(probe: OnSlurm) -> None:
    probe.done("card.txt", "--set-resources", "card:slurm_partition=gpu")
    assert (probe.folder / "card.txt").read_text().strip() in ("0", "1")


# --- what they survive ---


def test_a_job_that_lacks_memory_gets_more(cluster: Cluster, probe: OnSlurm) -> None:
    probe.done("hungry.txt")
    assert (probe.folder / "hungry.txt").read_text().split() == ["2", "800"]
    first, second = cluster.jobs(probe)
    assert first.state != "COMPLETED" and second.state == "COMPLETED"


def test_a_controller_that_dies_costs_no_work(cluster: Cluster, probe: OnSlurm) -> None:
    """The plugin forgets its jobs while nobody answers; what the jobs make is there all the same, and the next run sees it."""
    process = subprocess.Popen(probe._command("slow.txt", "after.txt"), cwd=probe.folder, env=probe.environment())
    wait_for((probe.folder / "slow.txt.begun").exists)
    cluster.do("crash")
    process.kill()
    process.wait()
    cluster.do("revive")
    wait_for(lambda: cluster.jobs(probe)[-1].state == "COMPLETED")
    assert "--unlock" in probe.run("after.txt").text
    probe.done("--unlock")
    probe.done("after.txt")
    assert (probe.folder / "after.txt").exists()
    first, *_, last = (job.kind for job in cluster.jobs(probe))
    assert (first, last) == ("slow", "after")


def test_a_gpu_that_is_not_there_is_one_line(run: OnSlurm) -> None:
    (run.folder / "results/labels/encoder/solid/mini_test.parquet").unlink()
    run.more = {"BERT_JUDGE_WITHOUT_GPU": ""}
    result = run.run("results/labels/encoder/solid/mini_test.parquet", "--retries", "0")
    assert result.code != 0
    lines = [line for line in run.log("labels/encoder/solid/mini_test").splitlines() if "ERROR" in line]
    assert len(lines) == 1 and "the job requested 1 GPU" in lines[0]


# --- how many there are ---


def test_a_second_submission_has_nothing_to_do(cluster: Cluster, run: OnSlurm) -> None:
    assert run.done().idle
    assert cluster.jobs(run) == []


def test_a_new_model_submits_its_own_jobs_and_the_summaries(cluster: Cluster, run: OnSlurm) -> None:
    config = run.config
    config["models"]["middling"] = {"generator": "simulated", "p_correct": 0.6}
    run.configure(config)
    run.done()
    assert sorted(job.rule for job in cluster.jobs(run)) == [
        "rule_build_report",
        "rule_build_standings",
        "rule_light-middling_label_simulate_candidates",
        "rule_scores-middling_build_scores",
        "rule_trained-middling_label_encoder",
    ]
