"""`predict_batch`: batches of any size, of pandas or Arrow, get the verdicts of `bert-judge score`."""

from __future__ import annotations

import pickle
from functools import partial
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

from bert_judge.cli import app
from bert_judge.integrations.dataframes import ADDED, predict_batch, predict_batches
from bert_judge.runtime.errors import InputError

ANSWERS = pd.DataFrame(
    {
        "id": range(6),
        "question": ["Capital of France?"] * 6,
        "expected_output": [["Paris"], ["Paris", "Paname"], ["Größe 東京"], ["Paris"], [], ["Paris"]],
        "actual_output": ["It is Paris.", "Paname", "größe 東京!", "London", "Paris", "<think>hm"],
    }
)


@pytest.mark.parametrize("size", [1, 4, 6])
def test_batches_have_the_verdicts_of_the_command(tmp_path: Path, size: int) -> None:
    ANSWERS.to_parquet(tmp_path / "answers.parquet")
    done = CliRunner().invoke(
        app, ["score", str(tmp_path / "answers.parquet"), "--judge", "contains", "-o", str(tmp_path / "s.parquet")]
    )
    assert done.exit_code == 0, done.output
    expected = pd.read_parquet(tmp_path / "s.parquet")[list(ADDED)]
    score = pickle.loads(pickle.dumps(partial(predict_batches, judge="contains")))
    shuffled = ANSWERS.set_axis(range(9, 3, -1))
    found = pd.concat(score(shuffled.iloc[start : start + size] for start in range(0, 6, size)))
    pd.testing.assert_frame_equal(found[list(ADDED)].reset_index(drop=True), expected, check_dtype=False)
    pd.testing.assert_frame_equal(found[list(ANSWERS)], shuffled)
    assert set(found["verdict"]) == {"correct", "incorrect", "invalid"}


def test_an_arrow_table_stays_one() -> None:
    table = pa.Table.from_pandas(ANSWERS)
    scored = predict_batch(table, "contains", {"candidate": "actual_output"})
    assert scored.schema == pa.schema([*table.schema, *ADDED.items()])
    assert scored["score"].null_count == 2
    # No row, no error: an engine may have empty partitions.
    assert predict_batch(table.slice(0, 0), "contains").schema == scored.schema


@pytest.mark.parametrize(
    ("frame", "line"),
    [
        (ANSWERS.assign(verdict=""), "the table: has a column 'verdict' already; rename it"),
        (ANSWERS.drop(columns="actual_output"), "the table: cannot tell which column holds the candidate"),
    ],
)
def test_a_table_that_does_not_fit(frame: pd.DataFrame, line: str) -> None:
    with pytest.raises(InputError, match=line):
        predict_batch(frame, "contains")
