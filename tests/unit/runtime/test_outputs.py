"""Outputs are written completely or not at all, and by one process at a time."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bert_judge import tables
from bert_judge.runtime import outputs
from bert_judge.runtime.errors import InputError

# Locks a file, begins to write it and waits.
HOLDER = """
import sys
from pathlib import Path
from bert_judge import tables
with tables.exclusive(sys.argv[1]), tables.atomic(sys.argv[1]) as temporary:
    temporary.write_text("half")
    print("locked", flush=True)
    sys.stdin.read()
"""
# May write 1,000 bytes.
FULL_DISK = """
import resource, sys
from bert_judge import tables
from bert_judge.runtime.errors import InputError
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    with tables.atomic(sys.argv[1]) as temporary:
        temporary.write_text("x" * 10_000)
except InputError as error:
    print(error)
"""


@contextmanager
def written_elsewhere(path: Path) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "locked\n"
        yield process
        process.kill()


def test_atomic_leaves_the_old_file_when_it_fails(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), tables.atomic(path) as temporary:
        temporary.write_text("half")
        _ = 1 / 0
    assert path.read_text() == "old"
    with tables.atomic(path) as temporary:
        temporary.write_text("new")
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_second_process_is_refused_and_a_killed_one_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a[1].csv"
    with written_elsewhere(path) as process:
        with pytest.raises(InputError, match=f"is being written by process {process.pid}"), tables.claim_output(path, force=True):
            pass
        tables.remove_leftovers(tmp_path)
        assert not path.exists()
    assert len(list(tmp_path.iterdir())) == 2
    other = tmp_path / "folder" / path.name
    shutil.copytree(tmp_path, other.parent)
    tables.remove_leftovers(other.parent)
    other.parent.rmdir()
    with tables.claim_output(path, force=False), tables.atomic(path) as temporary:
        temporary.write_text("whole")
    assert path.read_text() == "whole" and list(tmp_path.iterdir()) == [path]


def test_a_file_that_was_finished_meanwhile_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, check = tmp_path / "a.csv", outputs._check_absence

    def finish_elsewhere(output: Path, force: bool) -> None:
        check(output, force)
        path.write_text("another process's")

    monkeypatch.setattr(outputs, "_check_absence", finish_elsewhere)
    with pytest.raises(InputError, match="already exists"), tables.claim_output(path, force=False):
        pass
    assert path.read_text() == "another process's"


def test_threads_wait_for_each_other(tmp_path: Path) -> None:
    path = tmp_path / "count"
    path.write_text("0")

    def add() -> None:
        for _ in range(5):
            with tables.exclusive(path, 60.0):
                count = int(path.read_text())
                with tables.atomic(path) as temporary:
                    temporary.write_text(str(count + 1))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert path.read_text() == "20" and list(tmp_path.iterdir()) == [path]


def test_names_of_any_length_can_be_written(tmp_path: Path) -> None:
    path = tmp_path / ("ü" * 120 + "x" * 10 + ".json")
    tables.write_json(path, {"a": 1})
    assert list(tmp_path.iterdir()) == [path]


def test_a_full_disk_is_one_line_and_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("old")
    result = subprocess.run([sys.executable, "-c", FULL_DISK, str(path)], capture_output=True, text=True, check=True)
    assert result.stdout == f"{path}: cannot be written: {os.strerror(27)}\n"
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
