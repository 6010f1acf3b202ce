"""SIGKILL at random moments, a full disk, and two runs of one folder: afterwards, every table is that of an undisturbed run.

`make test-crash` runs these; BERT_JUDGE_KILLS is the number of kills of each test, and BERT_JUDGE_SEED chooses their moments.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from workspace import PROJECT, Workspace

KILLS = int(os.environ.get("BERT_JUDGE_KILLS", 0))
SEED = int(os.environ.get("BERT_JUDGE_SEED", time.time_ns() % 100_000))
pytestmark = [pytest.mark.workflow, pytest.mark.skipif(not KILLS, reason="long; run by make test-crash")]
ROWS = 20_000
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(PROJECT)}


@pytest.fixture
def moments() -> random.Random:
    print(f"BERT_JUDGE_SEED={SEED}")
    return random.Random(SEED)


def kill_after(seconds: float, command: Sequence[str], folder: Path, environment: Mapping[str, str]) -> bool:
    """Start a program and kill it with all its children; return whether it was still running."""
    with subprocess.Popen(
        command, cwd=folder, env=environment, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            return process.wait(seconds) is None
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return True


def assert_nothing_is_left(folder: Path) -> None:
    """No temporary file, lock, or process that works in this folder."""
    left = [path for path in folder.rglob("*") if path.name.endswith((".tmp", ".lock", ".parts"))]
    assert [path for path in left if ".snakemake" not in path.parts] == []
    orphans = [link for link in Path("/proc").glob("[0-9]*/cwd") if link.exists() and link.resolve().is_relative_to(folder)]
    assert orphans == []


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


def test_score(answers: Path, moments: random.Random) -> None:
    expected, output = answers.with_name("expected.csv"), answers.with_name("b.csv")
    started = time.monotonic()
    subprocess.run(score_command(answers, expected), env=ENVIRONMENT, check=True, capture_output=True)
    seconds = time.monotonic() - started
    for _ in range(KILLS):
        kill_after(moments.uniform(0, seconds), score_command(answers, output), answers.parent, ENVIRONMENT)
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


def test_a_run(fresh: Workspace, finished: Workspace, moments: random.Random) -> None:
    """Answers, labels, a data set, a training and the summaries, killed while any of them is written."""
    command, environment = fresh._command(), fresh.environment() | {"PAUSE_AFTER_SHARD": "0.05"}
    running, kills = True, 0
    while running and kills < KILLS:
        # Later kills come later, because the run has less left to do.
        running = kill_after(moments.uniform(3, 25), command, fresh.folder, environment)
        fresh.done("--unlock")
        kills += running
    fresh.done("--rerun-incomplete")
    assert fresh.run().idle
    expected, tables = finished.contents(), fresh.contents()
    assert tables.keys() == expected.keys()
    different = [path for path in tables if path.endswith(".parquet") and tables[path] != expected[path]]
    assert different == []
    assert_nothing_is_left(fresh.folder)


def test_two_runs_of_one_folder(fresh: Workspace, finished: Workspace) -> None:
    first = subprocess.Popen(fresh._command(), cwd=fresh.folder, env=fresh.environment(), stderr=subprocess.PIPE, text=True)
    while not fresh.found(".snakemake/locks/*"):
        assert first.poll() is None
        time.sleep(0.05)
    second = fresh.run()
    assert second.code != 0 and "cannot be locked" in second.text
    assert first.communicate()[1] is not None and first.returncode == 0
    assert {path: content for path, content in fresh.contents().items() if path.endswith(".parquet")} == {
        path: content for path, content in finished.contents().items() if path.endswith(".parquet")
    }
