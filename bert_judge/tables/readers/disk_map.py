"""Values by id that may be more than fit into memory: what a second file says, looked up while the first is read."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from bert_judge.runtime.errors import InputError

V = TypeVar("V")


class OnDisk(Mapping[str, V]):
    """A mapping that lies in a private database: in a few megabytes of memory, and beyond that in a file for temporary data.

    The file has no name and goes with the mapping or its process, however that ends.
    """

    def __init__(self, path: Path, kind: str, entries: Iterable[tuple[str, str, V]]) -> None:
        """Read all entries.

        Args:
            path: of the file that they come from, for messages.
            kind: what its ids are called, for messages.
            entries: place in the file, id, and a value that JSON can hold.

        Raises:
            InputError: an id is there twice, or there is no room for the temporary file.
        """
        # An empty name is a database on disk that nobody else sees; SQLite itself writes to it what its cache cannot hold.
        self._rows = sqlite3.connect("")
        self._rows.execute("CREATE TABLE rows (id BLOB PRIMARY KEY, value TEXT)")
        try:
            for place, identity, value in entries:
                done = self._rows.execute("INSERT OR IGNORE INTO rows VALUES (?, ?)", (_bytes(identity), json.dumps(value)))
                if not done.rowcount:
                    raise InputError(f"{path}: {place}: the {kind} {identity!r} is there twice; make the ids unique")
        except sqlite3.OperationalError as error:
            raise InputError(
                f"{path}: no room for a temporary copy ({error}); set TMPDIR to a folder with as much room as the file takes"
            ) from error

    def __getitem__(self, identity: str) -> V:
        row = self._rows.execute("SELECT value FROM rows WHERE id = ?", (_bytes(identity),)).fetchone()
        if row is None:
            raise KeyError(identity)
        value: V = json.loads(row[0])
        return value

    def __iter__(self) -> Iterator[str]:
        return (key.decode("utf-8", "surrogatepass") for (key,) in self._rows.execute("SELECT id FROM rows ORDER BY rowid"))

    def __len__(self) -> int:
        [count] = self._rows.execute("SELECT count(*) FROM rows").fetchone()
        return int(count)


def _bytes(identity: str) -> bytes:
    # SQLite's own texts cannot hold half a character, which JSON can.
    return identity.encode("utf-8", "surrogatepass")
