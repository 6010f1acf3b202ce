"""The SLURM of the tests, and a copy of the workflow that runs on it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from helpers.workspace import PROJECT, Result, Workspace

SCRIPT = Path(__file__).with_name("cluster.sh")
# Longest time of a run, on a machine that is busy with other work.
SECONDS = 1200


class Submitted(NamedTuple):
    """A job as SLURM remembers it; `rule` names its group where it has one, and the wildcards."""

    number: str
    state: str
    rule: str

    @property
    def kind(self) -> str:
        """Its rule or group without the wildcards of a rule."""
        return self.rule.removeprefix("rule_").partition("_wildcards")[0]

    def shown(self) -> str:
        """All that SLURM says of it."""
        return subprocess.run(["scontrol", "show", "job", self.number], capture_output=True, text=True, check=True).stdout


class Cluster:
    """The SLURM of these tests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def do(self, verb: str, *more: object) -> None:
        """`up`, `down`, `crash` or `revive`."""
        # To a file, not a pipe: the daemons keep what they inherit open.
        log = self.folder.with_suffix(".log")
        with log.open("a") as out:
            command = [str(SCRIPT), verb, str(self.folder), *map(str, more)]
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        assert done.returncode == 0, log.read_text()

    def jobs(self, run: OnSlurm) -> list[Submitted]:
        """Every job that was ever submitted from a run's folder, the oldest first."""
        command = ["squeue", "--states=all", "--noheader", "--sort=i", "--format=%Z|%i|%T|%k"]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        rows = [line.strip().split("|") for line in lines]
        return [Submitted(*row) for folder, *row in rows if Path(folder) == run.folder.resolve()]


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
