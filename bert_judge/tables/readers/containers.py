"""What a file is, judged by its content: compression, encoding, format, and the delimiter of a table."""

import bz2
import codecs
import csv
import gzip
import io
import json
import logging
import lzma
import re
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from io import StringIO, TextIOWrapper
from itertools import islice
from pathlib import Path
from typing import IO, Any

from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import sheets
from bert_judge.tables.readers.limits import LimitedStream, unpacked_limit

log = logging.getLogger(__name__)

# Format of a file whose content does not tell, by its ending.
ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
}
FORMATS = ("parquet", "csv", "jsonl", "json")
_COMPRESSED_ENDINGS = {".gz", ".bz2", ".xz", ".gzip", ".zip", ".zst"}
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_OTHER_FORMATS = {b"ARROW1": "an Arrow or Feather file", b"\xd0\xcf\x11\xe0": "an old or encrypted Excel workbook"}
_ZIP = b"PK\x03\x04"
_HEAD_BYTES, _BLOCK_BYTES, _SNIFFED_ROWS = 1 << 16, 1 << 20, 64
_DELIMITERS = (",", ";", "\t", "|")
# Western European text has few letters beyond ASCII; text in other 8-bit and 16-bit encodings has many.
_MAX_WESTERN_SHARE = 0.25


def _open_zip(file: IO[bytes]) -> IO[bytes]:
    """Open the only file in an archive."""
    archive = zipfile.ZipFile(file)
    if len(names := archive.namelist()) != 1:
        raise InputError(f"{file.name}: is an Excel workbook or an archive; save it as CSV (UTF-8), JSON lines or parquet")
    return archive.open(names[0])


def _open_zstd(file: IO[bytes]) -> Any:
    import pyarrow as pa

    return pa.input_stream(file, compression="zstd")


_DECOMPRESSORS: dict[bytes, Callable[[Any], Any]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ": lzma.open,
    _ZIP: _open_zip,
    b"\x28\xb5\x2f\xfd": _open_zstd,
}


@dataclass(frozen=True)
class Container:
    """How to read a file.

    Attributes:
        format: `parquet`, `csv`, `markdown`, `xlsx`, `jsonl` (an object per line) or `json` (one document).
        encoding: of its text.
        magic: first bytes of a compressed file, or empty.
        delimiter, skip_spaces: of a CSV file; whether blanks before a quote are no part of the cell.
        skipped_lines: before the header of a CSV file (Excel's `sep=;`).
    """

    path: Path
    format: str
    encoding: str = "utf-8"
    magic: bytes = b""
    delimiter: str = ","
    skip_spaces: bool = False
    skipped_lines: int = 0

    @contextmanager
    def open(self) -> Iterator[tuple[IO[bytes], IO[bytes]]]:
        """Yield the decompressed stream, and the file itself, whose position tells the progress."""
        with self.path.open("rb") as file:
            if not self.magic:
                yield file, file
                return
            with _DECOMPRESSORS[self.magic](file) as stream:
                limit = unpacked_limit(self.path, self.format == "json")
                yield io.BufferedReader(LimitedStream(self.path, stream, limit), _BLOCK_BYTES), file

    @contextmanager
    def open_text(self, newline: str) -> Iterator[tuple[TextIOWrapper, IO[bytes]]]:
        """Yield the decoded text, and the file itself."""
        with self.open() as (stream, file), TextIOWrapper(stream, self.encoding, newline=newline) as text:
            yield text, file

    @property
    def name(self) -> Path:
        """The file's path without the ending of its compression."""
        return self.path.with_suffix("") if self.path.suffix.lower() in _COMPRESSED_ENDINGS else self.path

    @property
    def output_suffix(self) -> str:
        """Ending of a file with the same rows: documents become lines, and nothing is compressed."""
        if self.format == "json":
            return ".jsonl"
        return self.name.suffix or f".{self.format}"


@contextmanager
def translate_errors(path: Path, format: str) -> Iterator[None]:
    """Raise errors of the operating system, Arrow and the text decoder as an `InputError` that names the file."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except IsADirectoryError as error:
        raise InputError(f"{path}: is a folder; name a file in it") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error.reason}); convert the file to UTF-8") from error
    except (OSError, EOFError, lzma.LZMAError, zipfile.BadZipFile, pa.ArrowException) as error:
        raise InputError(f"{path}: not a readable {format} file: {' '.join(str(error).split())}") from error


def no_rows(path: Path) -> InputError:
    """Return the error for a file without rows."""
    return InputError(f"{path}: the file has no rows; give a file with answers")


def sniff(path: Path, format: str | None = None) -> Container:
    """Determine how to read a file. Raises InputError: the file is unreadable, empty, or of an unknown format."""
    with translate_errors(path, format or ENDINGS.get(path.suffix.lower(), "rows")):
        status = path.stat()
        if not path.is_file() and not path.is_dir():
            raise InputError(f"{path}: is a pipe, which cannot be read twice; save it to a file, or send JSON lines to predict")
        return _sniff(path, format, (status.st_size, status.st_mtime_ns))


@lru_cache(maxsize=64)
def _sniff(path: Path, format: str | None, version: tuple[int, int]) -> Container:
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    magic = next((magic for magic in _DECOMPRESSORS if head.startswith(magic)), b"")
    plain = Container(path, format or "", magic=magic)
    if magic == _ZIP and _is_workbook(path):
        return Container(path, "xlsx")
    ending = ENDINGS.get(plain.name.suffix.lower())
    if magic:
        with plain.open() as (stream, _file):
            head = stream.read(_HEAD_BYTES)
    if head.startswith(b"PAR1") or "parquet" in (format, ending):
        return Container(path, "parquet")
    if not head:
        raise no_rows(path)
    encoding = _detect_encoding(plain, head)
    decoder = codecs.getincrementaldecoder(encoding)()
    text = decoder.decode(head)
    is_whole = len(head) < _HEAD_BYTES
    if format is None:
        format = _detect_format(text, ending, is_whole)
        format = "markdown" if format == "csv" and sheets.has_table(text) else format
    if format != "csv":
        return Container(path, format, encoding, magic)
    lines = text.splitlines(keepends=True)
    if separator := re.fullmatch(r'"?sep=(.)"?\r?\n?', lines[0] if lines else "", re.IGNORECASE):
        skip_spaces = _fit("".join(lines[1:]), separator[1], is_whole)[2]
        return Container(path, "csv", encoding, magic, separator[1], skip_spaces, skipped_lines=1)
    first = "\t" if plain.name.suffix.lower() == ".tsv" else ","
    fits = {delimiter: _fit(text, delimiter, is_whole) for delimiter in sorted(_DELIMITERS, key=lambda mark: mark != first)}
    delimiter = max(fits, key=lambda mark: fits[mark][:2] if fits[mark][1] > 1 else (0.0, 0))
    _, width, skip_spaces, titles = fits[delimiter]
    if ending is None and width < 2:
        raise InputError(f"{path}: unknown file format; give a parquet, CSV or JSON file with a row per answer")
    if titles:
        log.warning("%s: the line above the header is not read: %.60r", path, lines[0].strip())
    return Container(path, "csv", encoding, magic, delimiter, skip_spaces, titles)


def _is_workbook(path: Path) -> bool:
    with zipfile.ZipFile(path) as archive:
        return "xl/workbook.xml" in archive.namelist()


def _detect_encoding(container: Container, head: bytes) -> str:
    """Return the encoding of a text: that of its mark, UTF-16 with its many zero bytes, UTF-8, or else Windows-1252."""
    if format_name := next((name for mark, name in _OTHER_FORMATS.items() if head.startswith(mark)), None):
        raise InputError(f"{container.path}: is {format_name}; save it as CSV (UTF-8), JSON lines or parquet")
    for mark, encoding in _MARKS.items():
        if head.startswith(mark):
            return encoding
    if b"\0" in head:
        if head[1::2].count(0) > len(head) / 4:
            return "utf-16-le"
        if head[::2].count(0) > len(head) / 4:
            return "utf-16-be"
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with container.open() as (stream, _):
            while block := stream.read(_BLOCK_BYTES):
                decoder.decode(block)
            decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        return _check_western(container.path, error)
    return "utf-8"


def _check_western(path: Path, error: UnicodeDecodeError) -> str:
    """Return Windows-1252, a superset of Latin-1, for a text that is not UTF-8, with a warning.

    Raises:
        UnicodeDecodeError: the text is in no Western European encoding.
    """
    around = error.object[max(0, error.start - 2000) : error.start + 2000]
    high = sum(byte >= 0x80 for byte in around)
    letters = high + sum(chr(byte).isalpha() for byte in around if byte < 0x80)
    try:
        example = error.object[max(0, error.start - 20) : error.start + 20].decode("cp1252")
    except UnicodeDecodeError:
        raise error from None
    if high > _MAX_WESTERN_SHARE * letters:
        raise error
    log.warning("%s: not UTF-8; read as Windows-1252 (Western European): %r; convert it to UTF-8 if that is wrong", path, example)
    return "cp1252"


def _detect_format(text: str, ending: str | None, is_whole: bool) -> str:
    start = text.lstrip("\ufeff \t\r\n")
    if start.startswith("["):
        return "json" if ending == "json" or start[1:].lstrip().startswith("{") else ending or "csv"
    if not start.startswith("{"):
        return ending if ending in ("jsonl", "json") else "csv"
    first, line_end, rest = start.partition("\n")
    is_last = is_whole and not rest.strip()
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        if not line_end:
            # Longer than what was read, or cut off.
            return "json" if ending == "json" else "jsonl"
        return "jsonl" if rest.lstrip().startswith("{") else "json"
    holds_rows = any(isinstance(member, dict | list) for member in value.values())
    return "json" if is_last and (holds_rows or ending == "json") and ending != "jsonl" else "jsonl"


def _fit(text: str, delimiter: str, is_whole: bool) -> tuple[float, int, bool, int]:
    """Return how well a delimiter fits: share of the rows that are as wide as the header, its width, `skip_spaces`, and the number
    of rows above the header."""
    skip_spaces = bool(re.search(rf'{re.escape(delimiter)}[ \t]+"(?!")', text)) and delimiter != "\t"
    rows = list(islice(csv.reader(StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=skip_spaces), _SNIFFED_ROWS))
    rows = rows if is_whole or len(rows) == _SNIFFED_ROWS else rows[:-1] or rows
    titles = _count_titles(rows)
    width = next((len(row) for row in rows[titles:] if row), 0)
    rows = [row for row in rows if row]
    # Titles fit no delimiter, so that one without them is preferred.
    return sum(len(row) == width for row in rows) / max(len(rows), 1), width, skip_spaces, titles


def _count_titles(rows: list[list[str]]) -> int:
    """Return the number of rows before a table of several columns in which only the first cell is filled, as in FreshQA's sheet."""
    start = next((number for number, row in enumerate(rows) if sum(map(bool, row)) > 1), 0)
    are_titles = any(map(any, rows[:start])) and not any(any(row[1:]) for row in rows[:start])
    table = [row for row in rows[start:] if row]
    return start if are_titles and len(table) > 1 and len(set(map(len, table))) == 1 else 0
