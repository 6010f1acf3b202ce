"""A file is read by its content, whatever its ending, encoding, compression and delimiter."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers.rows import open_rows

ROWS = [
    {"question": "Capital of France?", "reference": "Paris", "answer": "It is Größe."},
    {"question": "b", "reference": "c", "answer": "d"},
]
TABLE = "question,reference,answer\nCapital of France?,Paris,It is Größe.\nb,c,d\n"
LINES = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)
COLUMNS = {name: [row[name] for row in ROWS] for name in ROWS[0]}
BY_NUMBER = {name: {str(number): text for number, text in enumerate(cells)} for name, cells in COLUMNS.items()}


def zipped(*names: str) -> bytes:
    """Return a zip archive with the same lines under each name."""
    with zipfile.ZipFile(stream := io.BytesIO(), "w", zipfile.ZIP_DEFLATED) as archive:
        for name in names:
            archive.writestr(name, LINES)
    return stream.getvalue()


def records(path: Path) -> list[dict[str, Any]]:
    return [dict(record) for _, record in open_rows(path).records()]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", TABLE),
        ("a.csv", TABLE.replace(",", ";")),
        ("a.csv", TABLE.replace(",", "\t")),
        ("a.tsv", TABLE.replace(",", "\t")),
        ("a.txt", TABLE.replace(",", "|")),
        ("a.csv", "sep=;\r\n" + TABLE.replace(",", ";").replace("\n", "\r\n")),
        ("a.csv", '"SEP=;"\n' + TABLE.replace(",", ";")),
        ("a.csv", "\n\n" + TABLE.replace("\n", "\n\n")),
        ("a.csv", TABLE.replace("\n", "\r\n")),
        ("a.csv", TABLE.rstrip("\n")),
        ("a.csv", '"question", "reference", "answer" \n"Capital of France?", "Paris", "It is Größe."\n"b", "c", "d"\n'),
        ("a.csv", TABLE.replace("\n", ",,\n", 1)),
        ("a.csv", TABLE.replace(".\n", ".,,,\n") + ",,,,\n"),
        ("a.csv", TABLE.encode("utf-16")),
        ("a.csv", TABLE.encode("utf-16-le")),
        ("a.csv", TABLE.encode("utf-16-be")),
        ("a.csv", TABLE.encode("utf-8-sig")),
        ("a.csv", TABLE.encode("latin-1")),
        ("a.csv.gz", gzip.compress(TABLE.encode("utf-16"))),
        ("a.jsonl", LINES),
        ("a.json", LINES),
        ("a.txt", LINES),
        ("a.jsonl", LINES.encode("utf-16")),
        ("a.jsonl.gz", gzip.compress(LINES.encode())),
        ("a.jsonl", gzip.compress(LINES.encode())),
        ("a.json.bz2", bz2.compress(LINES.encode())),
        ("a.json.xz", lzma.compress(LINES.encode())),
        ("a.jsonl.zip", zipped("a.jsonl")),
        ("a.jsonl.zst", pa.compress(LINES.encode(), "zstd", asbytes=True)),
        ("a.json", json.dumps(ROWS)),
        ("a.jsonl", json.dumps(ROWS, indent=2)),
        ("a.json", json.dumps(ROWS).encode("utf-8-sig")),
        ("a.json.gz", gzip.compress(json.dumps(ROWS).encode("utf-16"))),
        ("a.json", json.dumps({"version": 1, "config": {"a": {}}, "rows": ROWS})),
        ("a.json", json.dumps({"name": "m", "results": {"summary": {"n": 2}, "samples": ROWS}})),
        ("a.json", json.dumps({"metrics": [{"name": "accuracy", "value": 0.5}] * 3, "rows": ROWS})),
        ("a.json", json.dumps({"rows": ROWS, "scores": [{"faithfulness_of_answers_to_contexts": 0.5}] * 2})),
        ("a.json", json.dumps({"task 1": ROWS[:1], "task 2": ROWS[1:]})),
        ("a.json", json.dumps({"schema": {"fields": [{"name": name, "type": "string"} for name in ROWS[0]]}, "data": ROWS})),
        ("a.jsonl", "\n".join(json.dumps(row, indent=2) for row in ROWS)),
        ("a.json", "".join(map(json.dumps, ROWS))),
        ("a.json", json.dumps([row | {"score": float("nan")} for row in ROWS]).replace("NaN", 'NaN, "least": -Infinity')),
        ("a.json", json.dumps(COLUMNS)),
        ("a.json", json.dumps(BY_NUMBER)),
        ("a.json", json.dumps({"columns": list(ROWS[0]), "index": [0, 1], "data": [list(row.values()) for row in ROWS]})),
    ],
)
def test_the_same_rows_in_any_container(tmp_path: Path, name: str, content: str | bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    found = [{name: text.strip() for name, text in record.items() if name and text} for record in records(path)]
    assert found == ROWS


def test_messages_are_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(row := {"messages": [{"role": "user", "content": "Q?"}], "answer": "Paris"}), "utf-8")
    assert records(path) == [row]


@pytest.mark.parametrize("folder", [False, True])
def test_members_by_id_keep_it(tmp_path: Path, folder: bool) -> None:
    path = tmp_path / "a.json"
    by_id = {"q.1": ROWS[0], "q.2": ROWS[1]}
    path.write_text(json.dumps({"accuracy": 0.5, "details": by_id} if folder else by_id), "utf-8")
    assert records(path) == [{"id": "q.1", **ROWS[0]}, {"id": "q.2", **ROWS[1]}]


@pytest.mark.parametrize(
    ("document", "rows"),
    [
        ({"56be": "a", "57cf": "b"}, [{"id": "56be", "prediction": "a"}, {"id": "57cf", "prediction": "b"}]),
        (
            {"answer": {"5a": "x", "5b": "y"}, "sp": {"5a": [["T", 0]]}},
            [{"id": "5a", "prediction": "x"}, {"id": "5b", "prediction": "y"}],
        ),
        ({"type": "GEN", "score": 5, "0": {"gold": "a"}, "1": {"gold": "b"}}, [{"id": "0", "gold": "a"}, {"id": "1", "gold": "b"}]),
        ({"Who is it?": {"gold": "a"}}, [{"question": "Who is it?", "gold": "a"}]),
        ({"question": "a", "gold": "b"}, [{"question": "a", "gold": "b"}]),
        (
            {"version": "1.1", "data": [{"title": "T", "paragraphs": [{"context": "c", "qas": [{"id": "1"}, {"id": "2"}]}]}]},
            [{"id": "1"}, {"id": "2"}],
        ),
    ],
)
def test_predictions_and_references_of_question_answering(tmp_path: Path, document: Any, rows: Any) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document), "utf-8")
    assert records(path) == rows


def test_an_8_bit_encoding_is_guessed_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(("question,reference\n" + "plain,text\n" * 20_000 + "Größe?,é\n").encode("cp1252"))
    assert records(path)[-1] == {"question": "Größe?", "reference": "é"}
    [message] = {record.getMessage() for record in caplog.records}
    assert "not UTF-8; read as Windows-1252" in message and "Größe?" in message


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("имя;ответ\nКто это;Никто\n".encode("cp1251"), "not UTF-8 text"),
        ("問題,答案\n你是誰,我是誰\n".encode("gbk"), "not UTF-8 text"),
        (zipped("a.xml", "b.xml"), "is an Excel workbook or an archive; save it as CSV"),
        (zipped("xl/workbook.xml"), "not a readable Excel workbook"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is an old or encrypted Excel workbook; save it as CSV"),
        (b"| a | b |\n|---|---|\n| 1 | 2 | 3 |\n", "line 3 has 3 cells and the header 2; write a bar within a cell as"),
        (b"ARROW1\x00\x00", "is an Arrow or Feather file; save it as CSV"),
        (b'[{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}]", "not a complete JSON file (maximum recursion depth exceeded"),
        (gzip.compress(TABLE.encode())[:-20], "not a readable"),
        (b'a,b\n"1,2\n3,4\n', "broken CSV near line 3: a quote is not closed"),
        (b"a,b\n1,2,3\n", "line 2 has 3 cells and the header 2"),
        (b"a,b\n1\n", "line 2 has 1 cells and the header 2"),
        (b'[{"a": 1}, 2]', "item 2 is a JSON int; write a list of objects"),
        (b'{"columns": ["a"], "data": [[1, 2]]}', "item 1 of 'data' does not fit 'columns'"),
        (b'[{"a": 1}, {"a"', "not a complete JSON file"),
    ],
)
def test_what_cannot_be_read_is_one_line(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        records(path)
    assert str(caught.value).startswith(f"{path}: ") and says in str(caught.value) and "\n" not in str(caught.value)


CELL = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8).map(lambda text: f"x{text}")


@given(cells=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=5), delimiter=st.sampled_from([",", ";", "\t", "|"]))
def test_any_quoted_table_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, cells: list[tuple[str, str]], delimiter: str
) -> None:
    quoted = [[f'"{text.replace(chr(34), chr(34) * 2)}"' for text in row] for row in [("first", "second"), *cells]]
    path = tmp_path_factory.mktemp("any") / "a.csv"
    path.write_text("".join(delimiter.join(row) + "\n" for row in quoted), "utf-8", newline="")
    assert [tuple(record.values()) for record in records(path)] == cells
