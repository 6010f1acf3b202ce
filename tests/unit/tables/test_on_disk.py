"""A mapping that lies on disk is a mapping, whatever its ids hold, and says in one line what it cannot take."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers.disk_map import DiskMap

PATH = Path("gold.jsonl")


@given(st.dictionaries(st.text(st.characters(codec=None)), st.lists(st.text())))
def test_it_holds_what_a_dict_would(entries: dict[str, list[str]]) -> None:
    found = DiskMap(PATH, "id", ((f"line {n}", identity, value) for n, (identity, value) in enumerate(entries.items(), 1)))
    assert dict(found) == entries and list(found) == list(entries) and len(found) == len(entries)
    assert all(found.get(identity) == value for identity, value in entries.items())


def test_an_id_that_is_not_there() -> None:
    found = DiskMap(PATH, "id", [("line 1", "a", 1)])
    assert found.get("b") is None and found.get("b", 2) == 2 and "b" not in found
    with pytest.raises(KeyError):
        found["b"]


@pytest.mark.parametrize("identity", ["a", "", "é", "a\0b", "half \ud83d"])
def test_an_id_that_is_there_twice(identity: str) -> None:
    with pytest.raises(InputError) as caught:
        DiskMap(PATH, "custom_id", [("line 1", identity, 1), ("line 2", "other", 1), ("line 3", identity, 2)])
    assert str(caught.value) == f"gold.jsonl: line 3: duplicate custom_id {identity!r}; make the ids unique"


def test_a_full_disk_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect

    def small(name: str) -> sqlite3.Connection:
        made = connect(name)
        made.execute("PRAGMA max_page_count = 10")
        return made

    monkeypatch.setattr(sqlite3, "connect", small)
    with pytest.raises(InputError) as caught:
        DiskMap(PATH, "id", ((f"line {n}", f"{n}", "x" * 1000) for n in range(100)))
    assert "gold.jsonl: no space for a temporary copy (database or disk is full); set TMPDIR" in str(caught.value)
    assert "\n" not in str(caught.value)
