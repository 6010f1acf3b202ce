"""Features by several processes are those of one, and small tables need no other process."""

import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest

from bert_judge.judges.bert import feature_pool
from bert_judge.judges.bert.feature_pool import FeaturePool
from bert_judge.judges.bert.features import NAMES, feature_table

ANSWERS = ["Paris", "", "東京 and Größe", "no " * 3_000, "It is Paris, not Lyon.", "\ud83d"]
# No guard around what it does, as in a notebook or in a script of Snakemake's.
SCRIPT = """
from bert_judge.judges.bert import feature_pool
feature_pool.ROWS_ALONE, feature_pool.LEAST_ROWS = 0, 1
print("begun")
table = feature_pool.FeaturePool(2).table(["Capital?"] * 40, [["Paris"]] * 40, ["Paris", "Rome"] * 20)
print(table.shape[0], "rows")
"""


def rows(count: int) -> tuple[list[str], list[list[str]], list[str]]:
    candidates = [f"{ANSWERS[i % len(ANSWERS)]} {i}" for i in range(count)]
    return [f"Which town is number {i}?" for i in range(count)], [["Paris", str(i)] for i in range(count)], candidates


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes are worth it from the first row on."""
    monkeypatch.setattr(feature_pool, "ROWS_ALONE", 0)
    monkeypatch.setattr(feature_pool, "LEAST_ROWS", 1)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks for another process fails."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("another process was asked for")

    monkeypatch.setattr(joblib, "Parallel", refuse)


@pytest.mark.parametrize("count", [0, 1, 5, 203])
def test_several_processes_say_what_one_says(eager: None, count: int) -> None:
    columns = rows(count)
    found = FeaturePool(3).table(*columns)
    assert found.shape == (count, len(NAMES))
    np.testing.assert_array_equal(found, feature_table(*columns))


def test_columns_of_a_data_frame_are_divided_by_place(eager: None) -> None:
    columns = rows(30)
    shuffled = pd.DataFrame(dict(zip("qrc", columns, strict=True)), index=np.arange(30)[::-1], dtype=object)
    found = FeaturePool(2).table(shuffled["q"], shuffled["r"], shuffled["c"])
    np.testing.assert_array_equal(found, feature_table(*columns))


def test_a_small_table_needs_no_other_process(alone: None) -> None:
    columns = rows(600)
    np.testing.assert_array_equal(FeaturePool(2).table(*columns), feature_table(*columns))


def test_one_core_needs_no_other_process(eager: None, alone: None) -> None:
    columns = rows(20)
    np.testing.assert_array_equal(FeaturePool(1).table(*columns), feature_table(*columns))


def test_many_small_tables_come_to_a_long_one(monkeypatch: pytest.MonkeyPatch, alone: None) -> None:
    monkeypatch.setattr(feature_pool, "ROWS_ALONE", 100)
    monkeypatch.setattr(feature_pool, "LEAST_ROWS", 40)
    pool = FeaturePool(2)
    for count in (50, 50, 39):
        pool.table(*rows(count))
    with pytest.raises(AssertionError, match="another process"):
        pool.table(*rows(40))


def test_no_machine_is_filled_with_processes() -> None:
    assert FeaturePool(200).processes == feature_pool.MOST_PROCESSES


def test_a_script_is_not_run_twice(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "begun\n40 rows\n", "")
