"""A function from a table to a table for engines that split large tables: Spark's `mapInPandas`, Ray Data, Daft, Dask, DuckDB.

`predict_batch` has no state and is pickled by its name; `functools.partial(predict_batch, judge=…)` chooses a judge. Each process
loads the judge with its first batch and keeps it.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd
import pyarrow as pa

from bert_judge.importers.answers import make_column_reader
from bert_judge.importers.column_names import detect_columns
from bert_judge.integrations import load_judge
from bert_judge.labels.judging import judge_records
from bert_judge.runtime.errors import InputError

Table = TypeVar("Table", pd.DataFrame, pa.Table)
ADDED = {"verdict": pa.string(), "outcome": pa.string(), "score": pa.float64(), "certain": pa.bool_(), "reason": pa.string()}
# Columns that `predict_batch` appends, in the notation of Spark's schemas.
SPARK_SCHEMA = "verdict string, outcome string, score double, certain boolean, reason string"


def predict_batch(table: Table, judge: str | None = None, columns: Mapping[str, str] | None = None) -> Table:
    """Return the rows of a table with the columns verdict, outcome, score (None if invalid), certain (None: no
    claim, see `judges.protocol.Label`) and reason appended.

    The verdict on a row does not depend on the other rows, so batches may have any size; some thousand rows keep a CPU busy.

    Args:
        table: of pandas or Arrow; the result is of the same kind.
        judge: as for `bert-judge score --judge`; default: `general`.
        columns: role (`question`, `references`, `candidate`) → column; others are detected by name, as by `bert-judge score`.

    Raises:
        InputError: no such judge, a column is missing, or one is already called like an appended column.
    """
    arrow: Any = table if isinstance(table, pa.Table) else pa.Table.from_pandas(table, preserve_index=False)
    if taken := [name for name in ADDED if name in arrow.column_names]:
        raise InputError(f"the table: has a column {taken[0]!r} already; rename it")
    remedy = "pass columns={{{!r}: COLUMN}}".format
    reader = make_column_reader(detect_columns(Path("the table"), arrow.column_names, columns or {}, remedy=remedy))
    labels = judge_records(load_judge(judge), reader, arrow.to_pylist())
    added = {name: pa.array([label and getattr(label, name) for label in labels], kind) for name, kind in ADDED.items()}
    if not isinstance(table, pd.DataFrame):
        for name, values in added.items():
            arrow = arrow.append_column(name, values)
        return arrow
    return table.assign(**{name: values.to_pandas().set_axis(table.index) for name, values in added.items()})


def predict_batches(tables: Iterable[Table], judge: str | None = None, columns: Mapping[str, str] | None = None) -> Iterator[Table]:
    """Apply `predict_batch` to each table: the form of function that Spark's `mapInPandas` and `mapInArrow` take."""
    return (predict_batch(table, judge, columns) for table in tables)
