"""The SLURM of the tests, and a copy of the workflow that runs on it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from workspace import PROJECT, Result, Workspace

SCRIPT = Path(__file__).with_name("cluster.sh")
# Longest time of a run.
SECONDS = 1800


class Submitted(NamedTuple):
    """A job as SLURM remembers it."""

    number: str
    state: str
    rule: str


class Cluster:
    """The SLURM of these tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def do(self, verb: str) -> None:
        """`up`, `down`, `crash` or `revive`."""
        # To a file, not a pipe: the daemons keep what they inherit open.
        log = self.folder.with_suffix(".log")
        with log.open("a") as out:
            done = subprocess.run([SCRIPT, verb, self.folder], stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        assert done.returncode == 0, log.read_text()

    def jobs(self) -> list[Submitted]:
        """Every job ever submitted, the oldest first, by its rule or group."""
        command = ["squeue", "--states=all", "--noheader", "--sort=i", "--format=%i|%T|%k"]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        return [Submitted(*line.strip().split("|")) for line in lines]

    def since(self, before: Sequence[Submitted]) -> list[str]:
        """Rules or groups of the jobs submitted after `before = jobs()`."""
        return sorted(job.rule for job in self.jobs()[len(before) :])


class OnSlurm(Workspace):
    """A copy of the workflow whose runs go through the project's profile, on a CPU, and without accounting."""

    # What a test of its own needs beside that.
    more: dict[str, str]

    def _command(self, *arguments: str) -> list[str]:
        own = ["--workflow-profile", str(PROJECT / "profiles/slurm"), "--slurm-status-command", "squeue"]
        quick = ["--slurm-init-seconds-before-status-checks", "2", "--latency-wait", "10"]
        return [sys.executable, "-m", "snakemake", *arguments, *own, *quick]

    def environment(self) -> dict[str, str]:
        path = os.pathsep.join([str(Path(__file__).with_name("bin")), str(Path(sys.executable).parent), os.environ["PATH"]])
        return super().environment() | {"PATH": path, "BERT_JUDGE_WITHOUT_GPU": "1"} | getattr(self, "more", {})

    def run(self, *arguments: str) -> Result:
        """Run Snakemake to its end, which never comes when it has lost sight of its jobs."""
        command = self._command(*arguments)
        ended = subprocess.run(
            command, capture_output=True, text=True, cwd=self.folder, env=self.environment(), timeout=SECONDS, check=False
        )
        return Result(ended.returncode, ended.stdout + ended.stderr)

    def copy(self, folder: Path) -> OnSlurm:
        return OnSlurm(super().copy(folder).folder)

    def during(self, act: Callable[[], None], ready: Callable[[], bool], *arguments: str) -> str:
        """Run to the end, and do something as soon as `ready()`; returns what Snakemake printed."""
        with (self.folder / "printed").open("w") as out:
            process = subprocess.Popen(
                self._command(*arguments), cwd=self.folder, env=self.environment(), stdout=out, stderr=subprocess.STDOUT
            )
            wait_for(lambda: ready() or process.poll() is not None)
            assert process.poll() is None, (self.folder / "printed").read_text()[-6000:]
            act()
            code = process.wait(SECONDS)
            text = (self.folder / "printed").read_text()
        assert code == 0, text[-6000:]
        return text


def wait_for(ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not ready():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.05)
