"""Samples from the files of a dataset: rows are filtered and mapped by the family of the task; unusable rows are counted."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import LocatedRecord, open_rows
from bert_judge.tasks import cells, families
from bert_judge.tasks.registry import Sample

log = logging.getLogger(__name__)


def read_samples(task: str, source: families.Source, files: Sequence[Path]) -> Iterator[Sample]:
    """Yield the samples of a dataset's files; `source` is `config.TaskSource` as plain values."""
    yield from map_rows(task, source, read_rows(files, *needed_columns(source)))


def needed_columns(source: families.Source) -> tuple[list[str], list[str]]:
    """Return the columns that a source needs, and those among them that contain lists."""
    columns = source["columns"]
    choices, answer = columns["choices"] or [], columns["answer"]
    lists = [*(choices if len(choices) == 1 else []), *([columns["labels"]] if columns["labels"] else [])]
    lists += answer if source["family"] != "multiple_choice" or source["answer_form"] == "flags" else []
    names = [*columns["question"], *(columns["context"] or []), *choices, *lists, *answer, *source["where"]]
    return list(dict.fromkeys(names)), lists


def read_rows(files: Sequence[Path], names: Collection[str], list_columns: Collection[str] = ()) -> Iterator[LocatedRecord]:
    """Read some columns of the files of a dataset.

    Args:
        names: columns; `a.b` is the member `b` of column `a`, which is then read completely.
        list_columns: columns with lists, which CSV files store as JSON.

    Yields:
        (location, row), e.g. ("train.parquet: row 3", {"question": …}).

    Raises:
        InputError: a file is unreadable or lacks a column.
    """
    for path in files:
        source = open_rows(path)
        columns = _top_level_columns(source.columns, names)
        if set(columns) - set(source.columns):
            # A JSONL file may have them in later rows.
            source = open_rows(path, needed=columns)
            columns = _top_level_columns(source.columns, names)
        if missing := [name for name in columns if name not in source.columns]:
            present = ", ".join(map(repr, source.columns))
            raise InputError(f"{path}: no column {missing[0]!r}; available: {present}; fix the source's columns or where")
        for location, record in source.records(columns):
            if source.format == "csv":
                record = {name: values.parse_literal(value) if name in list_columns else value for name, value in record.items()}
            yield f"{path}: {location}", record


def _top_level_columns(present: Sequence[str], names: Collection[str]) -> list[str]:
    return list(dict.fromkeys(name if name in present else name.split(".")[0] for name in names))


def map_rows(task: str, source: families.Source, rows: Iterable[LocatedRecord]) -> Iterator[Sample]:
    """Yield the samples of rows, and log at the end how many rows were unusable and why.

    Raises:
        InputError: a row does not match the source, or no row gives a question.
    """
    unusable: Counter[str] = Counter()
    used = total = 0
    for location, row in rows:
        total += 1
        try:
            if not _passes_filter(source["where"], row):
                continue
            samples = families.make_samples(source, row)
        except cells.UnusableRow as error:
            unusable[str(error)] += 1
            continue
        except InputError as error:
            raise InputError(f"task {task!r}: {location}: {error}") from error
        used += 1
        yield from samples
    reasons = ", ".join(f"{count} with {reason}" for reason, count in unusable.most_common())
    if not used:
        reason = reasons or (f"none of {total} rows passes the source's where" if total else "its files are empty")
        raise InputError(
            f"task {task!r}: no row of its dataset gives a question: {reason}; fix the source's columns, split or where"
        )
    if unusable:
        log.warning("%s: skipped %d of %d rows: %s", task, unusable.total(), total, reasons)


def _passes_filter(where: Mapping[str, Any], row: cells.SourceRow) -> bool:
    return all(
        any(
            values.matches_filter(cells.get_cell(row, name), value)
            for value in (accepted if isinstance(accepted, list) else [accepted])
        )
        for name, accepted in where.items()
    )
