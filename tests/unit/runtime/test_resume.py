"""Shards: a killed job goes on where it was, loses at most the shard in hand, and ends with the same results."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_judge.runtime import resume


def doubling(seen: list[int]) -> Callable[[Sequence[Sequence[int]]], Iterable[list[dict[str, Any]]]]:
    def work(some: Sequence[int]) -> list[dict[str, Any]]:
        seen.extend(some)
        return [{"double": 2 * item, "note": None if item % 2 else "größer\0"} for item in some]

    return partial(map, work)


def keys_of(items: Sequence[int]) -> list[str]:
    return [resume.content_key("double", item) for item in items]


@settings(max_examples=50)
@given(items=st.lists(st.integers(0, 20)), shard_rows=st.integers(1, 7))
def test_one_result_per_item_in_order_and_each_item_once(tmp_path_factory: Any, items: list[int], shard_rows: int) -> None:
    folder, seen = tmp_path_factory.mktemp("work"), []
    results = resume.run_resumable(items, keys_of(items), doubling(seen), folder, shard_rows=shard_rows)
    assert [result["double"] for result in results] == [2 * item for item in items]
    assert seen == list(dict.fromkeys(items))
    again: list[int] = []
    assert resume.run_resumable(items, keys_of(items), doubling(again), folder, shard_rows=shard_rows) == results
    assert again == []


def test_only_what_is_missing_is_done(tmp_path: Path) -> None:
    resume.run_resumable([1, 2, 3], keys_of([1, 2, 3]), doubling([]), tmp_path, shard_rows=2)
    seen: list[int] = []
    results = resume.run_resumable([4, 3, 2, 5], keys_of([4, 3, 2, 5]), doubling(seen), tmp_path, shard_rows=2)
    assert [result["double"] for result in results] == [8, 6, 4, 10]
    assert seen == [4, 5]


def test_another_content_is_another_key() -> None:
    parts: list[Any] = ["a", "b", "ab", "", 1, "1", None, 1.5, "\ud83d"]
    assert len({resume.content_key(one, other) for one in parts for other in parts}) == len(parts) ** 2


def test_a_failure_keeps_the_shards_before_it(tmp_path: Path) -> None:
    def failing(some: Sequence[int]) -> list[Mapping[str, Any]]:
        if 4 in some:
            raise RuntimeError("the model is gone")
        return [{"double": 2 * item, "note": None} for item in some]

    with pytest.raises(RuntimeError, match="the model is gone"):
        resume.run_resumable(range(6), keys_of(range(6)), partial(map, failing), tmp_path, shard_rows=2)
    seen: list[int] = []
    resume.run_resumable(range(6), keys_of(range(6)), doubling(seen), tmp_path, shard_rows=2)
    assert seen == [4, 5]


def test_too_few_results_are_no_results(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="shorter"):
        resume.run_resumable([1, 2], keys_of([1, 2]), lambda shards: [[{"double": 2}]], tmp_path, shard_rows=2)
    assert list(tmp_path.iterdir()) == []


def test_a_damaged_shard_is_done_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    resume.run_resumable(range(4), keys_of(range(4)), doubling([]), tmp_path, shard_rows=2)
    damaged = sorted(tmp_path.iterdir())[0]
    damaged.write_bytes(b"")
    seen: list[int] = []
    results = resume.run_resumable(range(4), keys_of(range(4)), doubling(seen), tmp_path, shard_rows=2)
    assert [result["double"] for result in results] == [0, 2, 4, 6]
    assert len(seen) == 2
    assert f"{damaged} is damaged" in caplog.text


def test_progress_lines_are_rare_and_the_last_one_comes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    resume.run_resumable(range(50), keys_of(range(50)), doubling([]), tmp_path, shard_rows=1, unit="answers")
    lines = [message for message in caplog.messages if "/50 answers" in message]
    assert len(lines) == 1
    assert lines[0].startswith("50/50 answers, ")
    resume.run_resumable(range(51), keys_of(range(51)), doubling([]), tmp_path, shard_rows=1, unit="answers")
    assert "50 of 51 answers are already done" in caplog.messages


def test_clear_removes_the_shards(tmp_path: Path) -> None:
    resume.run_resumable([1], keys_of([1]), doubling([]), tmp_path / "work", shard_rows=1)
    resume.clear(tmp_path / "work")
    resume.clear(tmp_path / "work")
    assert list(tmp_path.iterdir()) == []


def test_work_folder_of_an_output() -> None:
    assert resume.work_folder("results/labels/j/m/t.parquet") == Path("results/.work/labels/j/m/t")
    assert resume.work_folder("results/judges/j") == Path("results/.work/judges/j")


# --- killed ---

SLOW = """
import sys, time
from bert_judge.runtime import resume

def work(shards):
    for some in shards:
        time.sleep(0.05)
        yield [{"square": item * item, "text": "ü" * item} for item in some]

items = list(range(60))
results = resume.run_resumable(items, [resume.content_key(item) for item in items], work, sys.argv[1], shard_rows=2)
print([(result["square"], result["text"]) for result in results])
"""


def started(folder: Path, at_least: int) -> subprocess.Popen[str]:
    """A job that has finished some of its thirty shards."""
    job = subprocess.Popen([sys.executable, "-c", SLOW, str(folder)], stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 600
    while len(list(folder.glob("*.parquet"))) < at_least:
        assert job.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    return job


@pytest.mark.parametrize(("number", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGTERM, 128 + signal.SIGTERM)])
def test_a_killed_job_goes_on(tmp_path: Path, number: signal.Signals, code: int) -> None:
    with started(tmp_path, at_least=3) as job:
        os.kill(job.pid, number)
        assert job.wait(timeout=300) == code
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.parquet")}
    assert 3 <= len(kept) < 30
    with started(tmp_path, at_least=len(kept) + 1) as job:
        output, _ = job.communicate(timeout=600)
    assert job.returncode == 0
    assert output == f"{[(item * item, 'ü' * item) for item in range(60)]}\n"
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert len(list(tmp_path.glob("*.parquet"))) == 30


def test_work_that_stops_in_the_middle_keeps_what_it_has(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def stopping_work(some: Sequence[int]) -> list[dict[str, Any]]:
        if 3 in some:
            # The results come in any order, and a failure is not worth keeping.
            raise resume.Stopped({2: {"double": 10, "note": None}, 0: {"double": 6, "note": "failed"}})
        return [{"double": 2 * item, "note": None} for item in some]

    with pytest.raises(SystemExit) as ended:
        resume.run_resumable(
            range(9),
            keys_of(range(9)),
            partial(map, stopping_work),
            tmp_path,
            shard_rows=3,
            unit="rows",
            should_cache=lambda result: result["note"] != "failed",
        )
    assert ended.value.code == 143
    assert "stopped by SIGTERM after 5 of 9 rows" in caplog.text
    seen: list[int] = []
    results = resume.run_resumable(range(9), keys_of(range(9)), doubling(seen), tmp_path, shard_rows=3)
    assert [result["double"] for result in results] == [2 * item for item in range(9)]
    assert seen == [3, 4, 6, 7, 8]


def test_the_handler_of_sigterm_is_given_back(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    resume.run_resumable([1], keys_of([1]), doubling([]), tmp_path, shard_rows=1)
    assert signal.getsignal(signal.SIGTERM) is before


def test_shards_run_in_a_thread_too(tmp_path: Path) -> None:
    results: list[Any] = []
    thread = threading.Thread(
        target=lambda: results.extend(resume.run_resumable([1], keys_of([1]), doubling([]), tmp_path, shard_rows=1))
    )
    thread.start()
    thread.join()
    assert [result["double"] for result in results] == [2]
