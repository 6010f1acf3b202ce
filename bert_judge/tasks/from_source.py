"""Samples out of the files of a data set: rows are filtered, mapped by their family, and those without a question are counted."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values
from bert_judge.tasks import cells, families, source_rows
from bert_judge.tasks.registry import Sample

log = logging.getLogger(__name__)


def samples(task: str, source: families.Source, files: Sequence[Path]) -> Iterator[Sample]:
    """The samples of a data set's files.

    Args:
        source: `config.TaskSource` as plain values.

    Raises:
        InputError: a file or a row cannot be read, or no row gives a question.
    """
    names, lists = columns(source)
    yield from mapped(task, source, source_rows.read(files, names, lists))


def columns(source: families.Source) -> tuple[list[str], list[str]]:
    """The columns that a source needs, and those of them that hold lists."""
    named = source["columns"]
    choices, answer = named["choices"] or [], named["answer"]
    choice = source["family"] == "multiple_choice"
    lists = [*(choices if len(choices) == 1 else []), *([named["labels"]] if named["labels"] else [])]
    lists += answer if not choice or source["answer_form"] == "flags" else []
    names = [*named["question"], *(named["context"] or []), *choices, *lists, *answer, *source["where"]]
    return list(dict.fromkeys(names)), lists


def mapped(task: str, source: families.Source, rows: Iterable[source_rows.PlacedRow]) -> Iterator[Sample]:
    """The samples of rows; how many rows gave none, and why, is logged at the end.

    Raises:
        InputError: a row does not fit the source, or none gives a question.
    """
    unusable: Counter[str] = Counter()
    used = total = 0
    for place, row in rows:
        total += 1
        try:
            if not _passes(source["where"], row):
                continue
            found = families.samples(source, row)
        except cells.Unusable as error:
            unusable[str(error)] += 1
            continue
        except InputError as error:
            raise InputError(f"task {task!r}: {place}: {error}") from error
        used += 1
        yield from found
    reasons = ", ".join(f"{count} with {reason}" for reason, count in unusable.most_common())
    if not used:
        why = reasons or (f"none of {total} rows passes the source's where" if total else "its files are empty")
        raise InputError(
            f"task {task!r}: no row of its data set gives a question: {why}; mend the source's columns, split or where"
        )
    if unusable:
        log.warning("%s: %d of %d rows are left out: %s", task, unusable.total(), total, reasons)


def _passes(where: Mapping[str, Any], row: cells.Row) -> bool:
    return all(
        any(values.matches_filter(cells.cell(row, name), value) for value in (wanted if isinstance(wanted, list) else [wanted]))
        for name, wanted in where.items()
    )
