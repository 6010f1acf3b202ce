"""A mapping that may be larger than memory: values of a companion file by id, looked up while the main file is read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from bert_judge.runtime.errors import InputError

V = TypeVar("V")


class DiskMap(Mapping[str, V]):
    """A mapping in a private SQLite database: a few megabytes of memory, and beyond that a temporary file.

    The file has no name and disappears with the mapping or its process.
    """

    def __init__(self, path: Path, key_name: str, entries: Iterable[tuple[str, str, V]]) -> None:
        """Read all entries.

        Args:
            path: of the file with the entries, for error messages.
            key_name: of its ids, for error messages.
            entries: (location in the file, id, value that JSON can represent).

        Raises:
            InputError: a duplicate id, or no space for the temporary file.
        """
        # An empty name is a private on-disk database, to which SQLite writes what exceeds its cache.
        self._database = sqlite3.connect("")
        self._database.execute("CREATE TABLE rows (id BLOB PRIMARY KEY, value TEXT)")
        try:
            for location, key, value in entries:
                cursor = self._database.execute("INSERT OR IGNORE INTO rows VALUES (?, ?)", (_encode(key), json.dumps(value)))
                if not cursor.rowcount:
                    raise InputError(f"{path}: {location}: duplicate {key_name} {key!r}; make the ids unique")
        except sqlite3.OperationalError as error:
            raise InputError(
                f"{path}: no space for a temporary copy ({error}); set TMPDIR to a folder with as much space as the file takes"
            ) from error

    def __getitem__(self, key: str) -> V:
        row = self._database.execute("SELECT value FROM rows WHERE id = ?", (_encode(key),)).fetchone()
        if row is None:
            raise KeyError(key)
        value: V = json.loads(row[0])
        return value

    def __iter__(self) -> Iterator[str]:
        rows = self._database.execute("SELECT id FROM rows ORDER BY rowid")
        return (key.decode("utf-8", "surrogatepass") for (key,) in rows)

    def __len__(self) -> int:
        [count] = self._database.execute("SELECT count(*) FROM rows").fetchone()
        return int(count)


def _encode(key: str) -> bytes:
    # SQLite texts cannot contain lone surrogates; JSON texts can.
    return key.encode("utf-8", "surrogatepass")
