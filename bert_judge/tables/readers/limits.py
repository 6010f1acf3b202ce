"""Bounds on the memory that a file of answers takes: on what it unpacks to, and on the size of a chunk of rows.

A file may come from a stranger, and a few bytes can stand for gigabytes: a compressed run of one character, a dictionary of one
long text in a parquet file.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bert_judge.runtime.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

Row = TypeVar("Row")

# Any file may unpack to MIN_UNPACKED_BYTES; a larger one to so many times its size. A document is held in memory as a whole, where
# it takes several times the size of its text.
MIN_UNPACKED_BYTES, MAX_EXPANSION = 2**28, 300
MIN_DOCUMENT_BYTES, MAX_DOCUMENT_EXPANSION = 2**26, 100
MIN_DOCUMENT_VALUES, MAX_VALUES_PER_BYTE = 2**22, 10
# Bytes or characters of the rows of a chunk, if it has more than one.
CHUNK_BYTES = 2**25
# Memory of a Python object for a value, a list or a mapping, with the reference to it.
OBJECT_BYTES = 64
# Bytes of a parquet column that are fetched at once.
BUFFER_BYTES = 1 << 20
# Columns with fewer bytes per value may repeat a long text of a dictionary in every row.
DICTIONARY_BYTES = 256
# Rows that are decoded at once where each may repeat a part of the last one.
INCREMENTAL_ROWS = 16


def unpacked_limit(path: Path, is_document: bool = False) -> int:
    """Return how many bytes a file may unpack to."""
    least, factor = (MIN_DOCUMENT_BYTES, MAX_DOCUMENT_EXPANSION) if is_document else (MIN_UNPACKED_BYTES, MAX_EXPANSION)
    return max(least, factor * path.stat().st_size)


def value_limit(path: Path) -> int:
    """Return how many values a compressed document may have: an empty one takes 64 bytes of memory."""
    return max(MIN_DOCUMENT_VALUES, MAX_VALUES_PER_BYTE * path.stat().st_size)


def too_large(path: Path, limit: int) -> InputError:
    return InputError(
        f"{path}: unpacks to more than {limit // 2**20:,} MiB, {limit // max(1, path.stat().st_size):,} times its size; "
        "if you trust it, unpack it, or write its rows as JSON lines"
    )


def check_archive(path: Path) -> None:
    """Refuse a zip archive whose members unpack to too much. Their sizes are true: zipfile reads no more of them."""
    with zipfile.ZipFile(path) as archive:
        if sum(member.file_size for member in archive.infolist()) > (limit := unpacked_limit(path)):
            raise too_large(path, limit)


class LimitedStream(io.RawIOBase):
    """An unpacked stream that ends with an `InputError` after too many bytes."""

    def __init__(self, path: Path, stream: IO[bytes], limit: int) -> None:
        self._path, self._stream, self._limit, self._read = path, stream, limit, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        self._read += len(data)
        if self._read > self._limit:
            raise too_large(self._path, self._limit)
        buffer[: len(data)] = data
        return len(data)


def batch_rows(rows: Iterable[Row], count: int, size: Callable[[Row], int]) -> Iterator[list[Row]]:
    """Yield lists of at most `count` rows, and of at most `CHUNK_BYTES` if they have more than one."""
    batch: list[Row] = []
    total = 0
    for row in rows:
        row_size = size(row)
        if batch and (len(batch) == count or total + row_size > CHUNK_BYTES):
            yield batch
            batch, total = [], 0
        batch.append(row)
        total += row_size
    if batch:
        yield batch


def iterate_batches(path: Path, rows: int, columns: list[str] | None) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a parquet file in batches of at most `rows` and `CHUNK_BYTES`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        schema, leaves = file.schema_arrow, [file.schema.column(number) for number in range(len(file.schema))]
        groups = [file.metadata.row_group(number) for number in range(file.metadata.num_row_groups)]
    chunks = [(group.column(number), leaf) for group in groups for number, leaf in enumerate(leaves)]
    limit, total = unpacked_limit(path), 0
    # The values of lists can be packed to nothing, and one row may have them all.
    listed = sum(8 * chunk.num_values for chunk, leaf in chunks if leaf.max_repetition_level)
    if max(listed, sum(chunk.total_uncompressed_size for chunk, _ in chunks)) > limit:
        raise too_large(path, limit)
    if any("DELTA_BYTE_ARRAY" in chunk.encodings for chunk, _ in chunks):
        rows = min(rows, INCREMENTAL_ROWS)
    if longest := max((leaf.length for leaf in leaves if leaf.physical_type == "FIXED_LEN_BYTE_ARRAY"), default=0):
        rows = max(1, min(rows, CHUNK_BYTES // longest))
    # A text of a dictionary is in memory once, however many rows have it. Where few bytes stand for many rows this matters;
    # elsewhere the dictionary of different texts would only be a second copy of them.
    packed = {leaf.path for chunk, leaf in chunks if chunk.total_uncompressed_size < DICTIONARY_BYTES * chunk.num_values}
    leaves = [leaf for leaf in leaves if leaf.physical_type == "BYTE_ARRAY" and leaf.path in packed]
    texts = [leaf.path for leaf in leaves if not leaf.max_repetition_level]
    # Some versions of Arrow cannot read lists of them in parts, so these are unpacked, a few rows at a time.
    if len(texts) < len(leaves):
        rows = min(rows, INCREMENTAL_ROWS)
    # Buffered by default, a whole row group is fetched before its first row, and many writers put all rows into one group.
    with pq.ParquetFile(path, read_dictionary=texts, pre_buffer=False, buffer_size=BUFFER_BYTES) as file:
        for batch in file.iter_batches(batch_size=rows, columns=columns):
            plain = schema if columns is None else pa.schema([schema.field(name) for name in batch.schema.names])
            total += int(_row_bytes(batch.columns, batch.num_rows, 0).sum())
            if total > limit:
                raise too_large(path, limit)
            ends, start = np.cumsum(_row_bytes(batch.columns, batch.num_rows, OBJECT_BYTES)), 0
            while start < batch.num_rows:
                done = ends[start - 1] if start else 0
                stop = max(start + 1, int(np.searchsorted(ends, done + CHUNK_BYTES, "right")))
                yield batch.slice(start, stop - start).cast(plain)
                start = stop


def _row_bytes(columns: Iterable[pa.Array], count: int, overhead: int) -> NDArray[np.int64]:
    """Return the bytes of the texts in each row, and `overhead` for every value and list, shape (count,)."""
    return sum((_value_bytes(column, overhead) for column in columns), np.zeros(count, np.int64))


def _value_bytes(values: pa.Array, overhead: int) -> NDArray[np.int64]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(values.type):
        lengths = np.append(_value_bytes(values.dictionary, overhead), 0)
        return lengths[pc.fill_null(values.indices, len(values.dictionary)).to_numpy(zero_copy_only=False)]
    if pa.types.is_struct(values.type):
        return overhead + _row_bytes(values.flatten(), len(values), overhead)
    if pa.types.is_map(values.type):
        values = values.cast(pa.list_(pa.struct({"key": values.type.key_type, "value": values.type.item_type})))
    if pa.types.is_list(values.type) or pa.types.is_large_list(values.type) or pa.types.is_fixed_size_list(values.type):
        ends = np.cumsum(pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False))
        totals = np.append(0, np.cumsum(_value_bytes(values.flatten(), overhead)))
        return overhead + np.diff(totals[np.append(0, ends)])
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type) or pa.types.is_binary(values.type):
        return overhead + pc.fill_null(pc.binary_length(values), 0).to_numpy(zero_copy_only=False).astype(np.int64)
    width = values.type.byte_width if pa.types.is_fixed_size_binary(values.type) else 0
    return np.full(len(values), overhead + width, np.int64)
