"""SIGKILL at random moments, a full disk, and two runs of one folder: afterwards, every table is that of an undisturbed run.

`make test-slow` runs these; BERT_JUDGE_KILLS is the number of kills of each test, and BERT_JUDGE_SEED chooses their moments.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import pandas as pd
import pytest
from helpers.workspace import PROJECT, Workspace

KILLS = int(os.environ.get("BERT_JUDGE_KILLS", 1))
SEED = int(os.environ.get("BERT_JUDGE_SEED", time.time_ns() % 100_000))
COST = "results/cost.parquet"
pytestmark = [pytest.mark.workflow, pytest.mark.slow]
ROWS, DAY_NS = 20_000, 86_400 * 10**9
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PROJECT)}
# Stage of a run → a file that is there, or words in a log, once it has begun.
STAGES = {
    "answers": ("logs/candidates/*/*", ""),
    "teacher": ("logs/labels/noisy/*/*", ""),
    "dataset": ("logs/datasets/*", ""),
    "training, a step": ("logs/judges/encoder.log", "step 1 of "),
    "training, a checkpoint": ("results/.work/judges/encoder/*/checkpoint-*/*", ""),
    "training, calibration": ("logs/judges/encoder.log", "step {last} of {last}"),
    "verdicts": ("logs/label*/encoder/*/*", ""),
    "scores": ("logs/scores/*/*", ""),
    "standings": ("logs/standings.log", ""),
    "report": ("logs/report.log", ""),
}


def kill(command: Sequence[str], folder: Path, environment: Mapping[str, str], begun: Callable[[], bool], delay: float) -> bool:
    """Start a program and kill it with all its children some seconds after `begun`; return whether it was still running."""
    with subprocess.Popen(
        command, cwd=folder, env=environment, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        while process.poll() is None and not begun():
            time.sleep(0.005)
        with suppress(subprocess.TimeoutExpired):
            process.wait(delay)
            return False
        os.killpg(process.pid, signal.SIGKILL)
        return True


def processes_in(folder: Path) -> list[str]:
    """The command lines of the processes that work in a folder."""
    found = []
    for link in Path("/proc").glob("[0-9]*/cwd"):
        # It may end while it is looked at.
        with suppress(OSError):
            if link.readlink().is_relative_to(folder):
                found.append((link.parent / "cmdline").read_text().replace("\0", " "))
    return found


def wait_for_end(folder: Path) -> None:
    """Expect that no process works in a folder, now or a moment later."""
    deadline = time.monotonic() + 10
    while (orphans := processes_in(folder)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert orphans == []


def assert_nothing_is_left(folder: Path) -> None:
    """No temporary file, lock, or process that works in this folder."""
    wait_for_end(folder)
    left = [path for path in folder.rglob("*") if path.name.endswith((".tmp", ".lock", ".parts"))]
    assert [path for path in left if ".snakemake" not in path.parts] == []


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    lines = (f"m{n % 3},question {n},answer {n},it is answer {n - n % 2}\n" for n in range(ROWS))
    path = tmp_path / "answers" / "a.csv"
    path.parent.mkdir()
    path.write_text("model,question,reference,candidate\n" + "".join(lines), "utf-8")
    return path


def score_command(file: Path, output: Path) -> list[str]:
    arguments = ["score", str(file), "-o", str(output), "--judge", "contains", "--judge", "token_f1", "--force"]
    return [sys.executable, "-c", "from bert_judge.cli import app; app()", *arguments]


def test_score(answers: Path) -> None:
    print(f"BERT_JUDGE_SEED={SEED}")
    moments = random.Random(SEED)
    expected, output = answers.with_name("expected.csv"), answers.with_name("b.csv")
    started = time.monotonic()
    subprocess.run(score_command(answers, expected), env=ENVIRONMENT, check=True, capture_output=True)
    seconds = time.monotonic() - started
    for _ in range(KILLS):
        kill(score_command(answers, output), answers.parent, ENVIRONMENT, lambda: True, moments.uniform(0, seconds))
        # A kill may come after the end; what has its name is whole at any time.
        assert not output.exists() or output.read_bytes() == expected.read_bytes()
    subprocess.run(score_command(answers, output), env=ENVIRONMENT, check=True, capture_output=True)
    assert output.read_bytes() == expected.read_bytes()
    assert sorted(path.name for path in answers.parent.iterdir()) == ["a.csv", "b.csv", "expected.csv"]
    assert_nothing_is_left(answers.parent)


def test_two_calls_of_score_with_one_output(answers: Path) -> None:
    output = answers.with_name("b.csv")
    commands = [score_command(answers, output) for _ in range(2)]
    processes = [subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True) for command in commands]
    results = [(process.communicate()[1], process.returncode) for process in processes]
    assert sorted(code for _, code in results) in ([0, 0], [0, 1])
    for errors, code in results:
        assert code == 0 or "is being written by process" in errors.splitlines()[-1]
    assert len(output.read_text("utf-8").splitlines()) == ROWS + 1


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)], capture_output=True, check=False)
    if mounted.returncode:
        pytest.skip("only root can mount a file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk(answers: Path, small_disk: Path) -> None:
    output, expected = small_disk / "b.csv", answers.with_name("expected.csv")
    result = subprocess.run(score_command(answers, output), env=ENVIRONMENT, check=False, capture_output=True, text=True)
    assert result.returncode == 1 and not output.exists()
    assert result.stderr.splitlines()[-1].endswith("cannot be written: No space left on device"), result.stderr
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    for path in (output, expected):
        subprocess.run(score_command(answers, path), env=ENVIRONMENT, check=True, capture_output=True)
    assert output.read_bytes() == expected.read_bytes()
    assert [path.name for path in small_disk.iterdir()] == ["b.csv"]


def has_begun(run: Workspace, stage: str) -> bool:
    pattern, words = STAGES[stage]
    if not words:
        return bool(run.found(pattern))
    texts = [path.read_text("utf-8", errors="replace") for path in run.found(pattern)]
    return any(re.search(words.replace("{last}", r"(\d+)", 1).replace("{last}", r"\1"), text) for text in texts)


def assert_same_tables(one: Workspace, other: Workspace) -> None:
    tables, expected = ({path: text for path, text in run.contents().items() if path.endswith(".parquet")} for run in (one, other))
    assert tables.keys() == expected.keys()
    assert [path for path, text in tables.items() if text != expected[path]] in ([], [COST])
    if COST in tables:
        # The jobs took other times.
        costs = (pd.read_parquet(run.folder / COST).drop(columns=["seconds", "gpu_hours"]) for run in (one, other))
        pd.testing.assert_frame_equal(*costs)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("number", range(KILLS))
def test_a_run(fresh: Workspace, finished: Workspace, number: int, first: int) -> None:
    """A kill in every other stage; before the teacher's labels, the clock jumps ahead by a day, and before the verdicts back."""
    moments, kills, stages = random.Random(2 * (SEED + number) + first), 0, list(STAGES)[first::2]
    environment = fresh.environment() | {"PAUSE_AFTER_SHARD": "0.05"}
    for stage in stages:
        if stage == "teacher":
            date_results(fresh, -DAY_NS)
        if stage == "verdicts":
            date_results(fresh, DAY_NS)
            # What docs/running.md advises.
            subprocess.run("find results -newermt now -exec touch {} +", shell=True, cwd=fresh.folder, check=True)
        begun = partial(has_begun, fresh, stage)
        kills += kill(fresh._command("--rerun-incomplete"), fresh.folder, environment, begun, moments.uniform(0, 0.5))
        wait_for_end(fresh.folder)
        # As --unlock does, in a moment.
        shutil.rmtree(fresh.folder / ".snakemake" / "locks", ignore_errors=True)
    print(f"BERT_JUDGE_SEED={SEED}: {kills} of {len(stages)} kills came before the end")
    fresh.done("--rerun-incomplete")
    assert fresh.run().idle
    assert_same_tables(fresh, finished)
    assert_nothing_is_left(fresh.folder)


def date_results(run: Workspace, nanoseconds: int) -> None:
    """Make all results look as if they had been written at another time."""
    for path, written in run.times().items():
        os.utime(run.folder / path, ns=(written + nanoseconds,) * 2)


def test_a_clock_that_was_set_back_is_told(finished: Workspace, tmp_path: Path) -> None:
    run = finished.copy(tmp_path / "run")
    date_results(run, DAY_NS)
    (run.folder / "results" / "standings.parquet").unlink()
    assert "clock skew" in run.run().text


def test_two_runs_of_one_folder(fresh: Workspace, finished: Workspace) -> None:
    """The results are on another file system than the rest."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as elsewhere:
        (fresh.folder / "results").symlink_to(elsewhere)
        first = subprocess.Popen(fresh._command(), cwd=fresh.folder, env=fresh.environment(), stderr=subprocess.PIPE, text=True)
        while not fresh.found(".snakemake/locks/*"):
            assert first.poll() is None
            time.sleep(0.05)
        second = fresh.run()
        assert second.code != 0 and "cannot be locked" in second.text
        assert first.communicate()[1] is not None and first.returncode == 0
        assert_same_tables(fresh, finished)
