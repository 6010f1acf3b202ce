"""Small files that stand for gigabytes are refused in one line, or read in little memory."""

from __future__ import annotations

import gzip
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bert_judge.importers.run_logs import read_log
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import limits
from bert_judge.tables.readers.rows import open_rows


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limits of kilobytes."""
    for name, value in {"MIN_UNPACKED_BYTES": 150_000, "MIN_DOCUMENT_BYTES": 50_000, "CHUNK_BYTES": 10_000}.items():
        monkeypatch.setattr(limits, name, value)
    monkeypatch.setattr(limits, "MAX_EXPANSION", 2)
    monkeypatch.setattr(limits, "MAX_DOCUMENT_EXPANSION", 1)


def table(**columns: Any) -> pa.Table:
    return pa.table(columns)


def long_list(count: int) -> pa.Array:
    """One row with a list of so many zeros."""
    return pa.array([[0] * count], pa.list_(pa.int64()))


@pytest.mark.parametrize(
    "content",
    [
        table(question=["x" * 1000] * 500),
        table(question=pa.array([["x" * 1000]] * 500)),
        table(question=pa.array([{"text": "x" * 1000}] * 500)),
        table(question=pa.array([[("key", "x" * 1000)]] * 500, pa.map_(pa.string(), pa.string()))),
        table(question=pa.array(["x" * 1000] * 500, pa.large_string())),
        table(question=pa.array([b"x" * 1000] * 500, pa.binary(1000))),
        table(question=long_list(20_000)),
    ],
    ids=["text", "list", "object", "map", "large text", "fixed", "long list"],
)
def test_a_parquet_file_of_repeated_values_is_refused(small: None, tmp_path: Path, content: pa.Table) -> None:
    path = tmp_path / "answers.parquet"
    pq.write_table(content, path, compression="zstd")
    assert path.stat().st_size < 40_000
    with pytest.raises(
        InputError, match=r"answers\.parquet: unpacks to more than 0 MiB, .* times its size; if you trust it"
    ) as error:
        list(open_rows(path).records())
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("name", "text"), [("a.jsonl.gz", '{"question": "x"}\n'), ("a.csv.gz", "question,answer\nxyz,b\n")])
def test_a_compressed_text_is_refused_after_the_limit(small: None, tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress((text * 3000).encode()))
    assert len(list(open_rows(path).records())) >= 3000
    path.write_bytes(gzip.compress((text * 30_000).encode()))
    with pytest.raises(InputError, match="unpacks to more than"):
        list(open_rows(path).records())


def test_a_document_of_many_empty_values_is_refused_before_they_become_objects(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MIN_DOCUMENT_VALUES", 5000)
    path = tmp_path / "answers.json.gz"
    path.write_bytes(gzip.compress(b'[{"q": "a"}' + b',{"q": "a"}' * 2000 + b"]"))
    assert len(list(open_rows(path).records())) == 2001
    path.write_bytes(gzip.compress(b'[{"q": "a"}' + b',{"q": "a"}' * 3000 + b"]"))
    with pytest.raises(InputError, match="unpacks to more than"):
        open_rows(path)


def test_a_document_may_unpack_to_less_because_it_is_read_as_a_whole(small: None, tmp_path: Path) -> None:
    path = tmp_path / "answers.json.gz"
    path.write_bytes(gzip.compress(b'[{"question": "x"}' + b', {"question": "x"}' * 2000 + b"]"))
    assert len(list(open_rows(path).records())) == 2001
    path.write_bytes(gzip.compress(b'[{"question": "x"}' + b', {"question": "x"}' * 4000 + b"]"))
    with pytest.raises(InputError, match="unpacks to more than"):
        open_rows(path)


@pytest.mark.parametrize("format", ["parquet", "jsonl", "csv"])
def test_chunks_are_bounded_in_bytes_and_no_row_is_lost(small: None, tmp_path: Path, format: str) -> None:
    texts = [str(number) + "x" * (3000 if number % 3 else 1) for number in range(30)]
    path = tmp_path / f"answers.{format}"
    content = table(number=list(range(30)), question=texts, references=[[text, "y"] for text in texts])
    if format == "parquet":
        pq.write_table(content, path)
    else:
        frame = content.drop(["references"]).to_pandas()
        path.write_text(frame.to_json(orient="records", lines=True) if format == "jsonl" else frame.to_csv(index=False))
    chunks = list(open_rows(path).chunks(1024))
    assert [record["question"] for chunk in chunks for record in chunk.records] == texts
    assert len(chunks) >= 6
    if format == "parquet":
        assert [record["references"] for chunk in chunks for record in chunk.records] == [[text, "y"] for text in texts]
        assert {chunk.raw.schema for chunk in chunks} == {pq.read_schema(path)}, "what is written again has the types of the file"


# As two files that took 12.9 and 3.4 GB.
READ = """
import re
import sys
from pathlib import Path
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers.rows import open_rows
try:
    sum(len(chunk.records) for chunk in open_rows(Path(sys.argv[1])).chunks(4096))
except InputError as error:
    print(error)
# Not the peak that the kernel gives, which counts the parent's before this program was loaded.
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
@pytest.mark.parametrize("name", ["answers.parquet", "answers.json.gz"])
def test_small_files_take_little_memory(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "answers.parquet":
        text = pa.DictionaryArray.from_arrays(pa.array([0] * 200_000, pa.int32()), pa.array(["x" * 3_000_000]))
        pq.write_table(table(question=text, answer=["y"] * 200_000), path, compression="zstd")
    else:
        path.write_bytes(gzip.compress(b"[" + b'{"q":"x"},' * 12_000_000 + b"{}]", 1))
    assert path.stat().st_size < 5_000_000
    result = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
    refusal, kilobytes = result.stdout.splitlines()
    assert "unpacks to more than" in refusal
    assert int(kilobytes) < 2**20


@pytest.mark.parametrize("name", ["answers.xlsx", "log.eval"])
def test_an_archive_whose_members_unpack_to_too_much_is_refused(small: None, tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for member in ("xl/workbook.xml", "header.json"):
            archive.writestr(member, "x" * 100_000)
    with pytest.raises(InputError, match="unpacks to more than"):
        list(read_log(tmp_path / name)) if name == "log.eval" else open_rows(tmp_path / name)
