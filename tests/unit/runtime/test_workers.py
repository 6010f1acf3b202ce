"""Worker processes: results in order, few items under way, and clear errors."""

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bert_judge.runtime.errors import InputError
from bert_judge.runtime.workers import Workers, possible_processes

PROCESSES, AHEAD = 2, 5


class Arithmetic:
    """Methods for worker processes, and the process that they run in."""

    def __init__(self, offset: int) -> None:
        self.offset = offset

    def add(self, number: int) -> int:
        # The first item is the last to be ready.
        time.sleep(0.3 if number == 0 else 0)
        return number + self.offset

    def process(self) -> int:
        return os.getpid()

    def fail(self, number: int) -> int:
        if number == 2:
            raise ValueError("two is no number")
        return number

    def end(self, name: str) -> str:
        os.kill(os.getpid(), getattr(signal, name))
        return "still here"


@pytest.fixture(scope="module")
def workers() -> Workers:
    return Workers(Arithmetic(100), PROCESSES)


def test_results_come_in_order_and_few_items_are_under_way(workers: Workers) -> None:
    taken = []

    def items() -> Iterator[tuple[int]]:
        for number in range(20):
            taken.append(number)
            yield (number,)

    for count, result in enumerate(workers.map("add", items(), AHEAD), start=1):
        assert result == 99 + count
        assert len(taken) <= count + AHEAD + 1
    assert count == 20


def test_another_process_computes_and_stages_follow_each_other(workers: Workers) -> None:
    assert os.getpid() not in workers.map("process", [()] * 4, AHEAD)
    first = workers.map("add", ((number,) for number in range(30)), AHEAD)
    assert list(workers.map("add", ((result + 1,) for result in first), 1)) == [201 + number for number in range(30)]
    assert list(workers.map("add", [], AHEAD)) == []


def test_an_exception_is_raised_where_its_result_is_due(workers: Workers) -> None:
    results = workers.map("fail", ((number,) for number in range(9)), AHEAD)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(ValueError, match="two is no number"):
        next(results)
    assert list(workers.map("fail", [(5,)], AHEAD)) == [5]


def test_a_signal_to_the_whole_group_leaves_the_decision_to_the_caller(workers: Workers) -> None:
    assert list(workers.map("end", [("SIGTERM",), ("SIGINT",)], AHEAD)) == ["still here"] * 2


def test_a_killed_process_is_an_error_of_one_line() -> None:
    workers = Workers(Arithmetic(0), 1)
    assert workers.is_usable
    with pytest.raises(
        InputError,
        match=r"a worker process ended; .* it was killed, perhaps because memory ran out: .*OMP_NUM_THREADS sets their number",
    ):
        list(workers.map("end", [("SIGKILL",)], 0))
    assert not workers.is_usable


def in_a_daemon(_: int) -> int:
    return possible_processes(4)


def test_no_process_where_none_can_start(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (possible_processes(4), possible_processes(1)) == (4, 1)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(in_a_daemon, [0]) == [1]
    # What joblib finds on a machine without semaphores, such as some containers.
    monkeypatch.setattr("joblib._parallel_backends.mp", None)
    assert possible_processes(4) == 1


# Without `if __name__ == "__main__"`, as in a notebook or a script of Snakemake.
SCRIPT = """
from bert_judge.judges.bert import judge as bert
bert.SINGLE_PROCESS_ROWS, bert.MIN_PARALLEL_ROWS = 0, 1
print("begun")
judge = bert.BERTJudge()
judge.processes = 2
print(len(judge.predict(["Capital?"] * 40, ["Paris"] * 40, ["Paris", "Rome"] * 20)), "rows")
"""


def test_a_script_is_not_run_twice_and_leaves_no_process(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    completed = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=False)
    assert (completed.returncode, completed.stdout, completed.stderr) == (0, "begun\n40 rows\n", "")
