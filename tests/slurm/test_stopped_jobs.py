"""Jobs that SLURM stops in the middle of a table: the next attempt goes on, and the table is the one of an undisturbed job."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import pandas as pd
import pytest
from helpers.workspace import Workspace
from on_slurm import Cluster, OnSlurm, wait_for

from bert_judge.candidates.stage import SHARD_ROWS

pytestmark = pytest.mark.slurm

TARGET = "results/candidates/solid/long_test.parquet"
SHARDS = "results/.work/candidates/solid/long_test/[0-9a-f]*.parquet"
LOG = "candidates/solid/long_test"

# What happens to the job, and the states of all jobs in the end.
WAYS = {
    # SIGTERM alone: the job saves what it has and fails; the next attempt is another job.
    "terminated": (["scancel", "--signal=TERM"], ["FAILED", "COMPLETED"]),
    # SIGTERM, and SIGKILL after the grace time.
    "cancelled": (["scancel"], ["CANCELLED", "COMPLETED"]),
    # What pre-emption does: the same job runs again.
    "requeued": (["scontrol", "requeue"], ["COMPLETED"]),
}


class Stopped(NamedTuple):
    """A run whose job was stopped once and that has ended well.

    Attributes:
        run: the run.
        said: the log of the first attempt, as it was when the job was asked to stop.
    """

    run: OnSlurm
    said: str


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> OnSlurm:
    """A run that is asked for a table of six shards; its questions are made."""
    config = {
        "models": {"solid": {"generator": "simulated", "p_correct": 0.9}},
        "tasks": {"test": ["long_test"]},
        "task_files": ["mini_tasks.py"],
        "judges": {"strict": {"kind": "lexical", "metric": "exact_match"}},
        "scorers": ["strict"],
    }
    made = OnSlurm.create(tmp_path_factory.mktemp("long") / "run", config)
    Workspace(made.folder).done("results/tasks/long_test.parquet")
    return made


@pytest.fixture(scope="module")
def undisturbed(long: OnSlurm, tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """The table of a job that nothing happened to, on no cluster."""
    made = Workspace(long.copy(tmp_path_factory.mktemp("undisturbed") / "run").folder)
    made.done(TARGET)
    return pd.read_parquet(made.folder / TARGET)


def stopped_by(command: list[str], cluster: Cluster, run: OnSlurm) -> Stopped:
    run.more = {"PAUSE_AFTER_SHARD": "3"}
    said: list[str] = []

    def stop() -> None:
        (job,) = cluster.jobs(run)
        subprocess.run([*command, job.number], check=True)
        # The last words of the first attempt, before its log is overwritten.
        wait_for(lambda: "stopped by SIGTERM after" in (text := run.log(LOG)) and not said.append(text))

    run.during(stop, lambda: bool(run.found(SHARDS)), TARGET)
    return Stopped(run, said[0])


@pytest.fixture(scope="module")
def stopped(cluster: Cluster, long: OnSlurm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Stopped]]]:
    """The runs of all ways, side by side: most of their time is waiting."""
    folder = tmp_path_factory.mktemp("stopped")
    with ThreadPoolExecutor(len(WAYS)) as pool:
        yield {way: pool.submit(stopped_by, command, cluster, long.copy(folder / way)) for way, (command, _) in WAYS.items()}


@pytest.mark.parametrize("way", WAYS)
def test_a_job_that_is_stopped_in_the_middle_goes_on(
    cluster: Cluster, stopped: dict[str, Future[Stopped]], undisturbed: pd.DataFrame, way: str
) -> None:
    run, said = stopped[way].result()
    done = int(re.findall(r"stopped by SIGTERM after (\d+) of 1300 answers", said)[0])
    assert done % SHARD_ROWS == 0 and 0 < done < 1300
    assert f"{done} of 1300 answers are already done" in run.log(LOG)
    assert [job.state for job in cluster.jobs(run)] == WAYS[way][1]
    pd.testing.assert_frame_equal(pd.read_parquet(run.folder / TARGET), undisturbed)
