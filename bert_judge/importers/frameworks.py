"""The files of evaluation frameworks: detection, and their answers one at a time, for files of any size.

Plain rows are the form into which the files of all frameworks are converted.
"""

import csv
import json
import logging
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bert_judge import tables
from bert_judge.importers import harnesses, judge_benchmarks, promptfoo, run_logs
from bert_judge.importers.answers import (
    NO_REFERENCE,
    Answer,
    RecordReader,
    make_answers,
    make_column_reader,
    parse_question,
)
from bert_judge.importers.companion_files import BatchReader, CompanionFiles, read_candidates, references_by_id
from bert_judge.importers.options import join_letters
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import log_once
from bert_judge.runtime.package_data import read_yaml
from bert_judge.tables.readers import json_documents, values
from bert_judge.tables.readers.containers import sniff
from bert_judge.tables.readers.rows import LocatedRecord, Record, RowFile, open_rows
from bert_judge.tables.readers.values import SkippedRecord, get_path

CHUNK_ROWS = 1024
SCHEMA = pa.schema(
    [
        ("question", pa.string()),
        ("references", pa.list_(pa.string())),
        ("candidate", pa.string()),
        ("model", pa.string()),
        ("task", pa.string()),
        ("label", pa.float64()),
        ("id", pa.string()),
        ("attempt", pa.int32()),
    ]
)
Rows = Sequence[Mapping[str, Any]]


def write_rows(output: Path, rows: Iterator[Mapping[str, Any]], schema: pa.Schema, error: Callable[[], InputError]) -> int:
    """Write rows in chunks and return their number; raise an error if there are none."""
    count = 0
    with tables.atomic(output) as temporary:
        with open_row_writer(output, temporary, schema) as write:
            while chunk := list(islice(rows, CHUNK_ROWS)):
                write(chunk)
                count += len(chunk)
        if not count:
            raise error()
    return count


def open_row_writer(output: Path, temporary: Path, schema: pa.Schema = SCHEMA) -> Any:
    """Return the writer for an output's suffix: a context manager that yields a function that writes rows of the schema."""
    writers: dict[str, Callable[[Path, pa.Schema], Any]] = {".jsonl": _jsonl, ".csv": _csv, ".parquet": _parquet}
    if output.suffix.lower() not in writers:
        raise InputError(f"{output}: let its name end in {', '.join(writers)}")
    return writers[output.suffix.lower()](temporary, schema)


@contextmanager
def _jsonl(path: Path, _: pa.Schema) -> Iterator[Callable[[Rows], None]]:
    with path.open("w", encoding="utf-8") as file:
        yield lambda rows: file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


@contextmanager
def _csv(path: Path, schema: pa.Schema) -> Iterator[Callable[[Rows], None]]:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv_writer = csv.writer(file)
        csv_writer.writerow(schema.names)
        yield lambda rows: csv_writer.writerows([_cell(row[name]) for name in schema.names] for row in rows)


def _cell(value: Any) -> Any:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, tuple | list) else value


@contextmanager
def _parquet(path: Path, schema: pa.Schema) -> Iterator[Callable[[Rows], None]]:
    with pq.ParquetWriter(path, schema, compression="zstd") as file:
        yield lambda rows: file.write_table(pa.Table.from_pylist(list(rows), schema))


# --- detection ---

log = logging.getLogger(__name__)

NO_COMPANIONS = CompanionFiles()
ANSWER_COLUMNS = list(Answer.__dataclass_fields__)
PLAIN_COLUMNS = {name: name for name in ("question", "references", "candidate", "model", "task", "label")}
# A place in a list, also from its end.
_INDEX = re.compile(r"-?\d+")
_DEFINITIONS: Mapping[str, Mapping[str, Any]] = read_yaml(Path(__file__).with_name("frameworks.yaml"))


class MapReader:
    """Reader of rows by the paths of a map.

    A verdict is 1 or 0, since partial credit is none. A file that names no model is in the folder of the model.
    """

    def __init__(self, paths: Mapping[str, Any], path: Path) -> None:
        self.map = paths
        folder = path.resolve().parent
        self.model = folder.name if folder.parent.name == paths.get("folder") else ""

    def __call__(self, record: Record) -> list[Answer]:
        references = self._find(record, "references")
        if references is None:
            raise values.UnreadableCell(self.map.get("no_reference", NO_REFERENCE))
        question, label = parse_question(self._find(record, "question")), values.parse_label(self._find(record, "label"))
        answers = make_answers(
            join_letters(question, references) if self.map.get("letters_together") else references,
            values.parse_answers(self._find(record, "candidate")),
            question=question,
            model=values.parse_text(self._find(record, "model")) or self.model,
            task=values.parse_text(self._find(record, "task")),
            label=label if label in (0, 1) else None,
            id=values.parse_text(self._find(record, "id")),
        )
        first = int(values.parse_number(self._find(record, "attempt")) or 0)
        return [replace(answer, attempt=first + answer.attempt) for answer in answers]

    def _find(self, record: Record, role: str) -> Any:
        paths = ([int(step) if _INDEX.fullmatch(step) else step for step in path.split(".")] for path in self.map.get(role, ()))
        return next((value for path in paths if (value := get_path(record, *path)) is not None), None)


def _read_rows(path: Path, _: CompanionFiles) -> Iterator[LocatedRecord]:
    return open_rows(path).records()


@dataclass(frozen=True)
class Framework:
    """A kind of file, see `frameworks.yaml`.

    Attributes:
        make_reader: returns the reader of the records of a file.
        records: yields the records of a file, with their locations.
        has_rows: recognizes a file of rows by its first rows.
        has_document: recognizes a JSON document by its content.
    """

    description: str
    make_reader: Callable[[Path, CompanionFiles], RecordReader]
    records: Callable[[Path, CompanionFiles], Iterator[LocatedRecord]]
    has_rows: Callable[[Sequence[Record]], bool]
    has_document: Callable[[Path], bool]
    columns: Sequence[Sequence[str]] = ()
    document_keys: Sequence[str] = ()
    is_annotatable: bool = False

    def wrote_document(self, path: Path, keys: Sequence[str]) -> bool:
        """Return whether a JSON document with these first keys, see `json_documents.top_level_keys`, is of this kind."""
        return (bool(self.document_keys) and set(keys) >= set(self.document_keys)) or self.has_document(path)

    def wrote_rows(self, columns: Sequence[str], sample: Sequence[Record]) -> bool:
        """Return whether a file with these columns and first rows is of this kind."""
        return any(set(columns) >= set(needed) for needed in self.columns) or self.has_rows(sample)


# Framework → reader of its records; for the others, a map suffices.
_READERS: Mapping[str, Callable[[Path, CompanionFiles], RecordReader]] = {
    "lm_eval": lambda path, _: harnesses.LMEvalReader(path),
    "lighteval": lambda path, _: harnesses.LightevalReader(path),
    "inspect": lambda *_: run_logs.read_sample,
    "helm": lambda path, _: harnesses.HelmReader(path),
    "openai_batch": BatchReader,
    "judgelm": lambda path, companions: judge_benchmarks.JudgeLMReader(path, references_by_id(companions.references)),
    "bert_as_a_judge": lambda *_: make_column_reader(PLAIN_COLUMNS),
    "promptfoo": lambda *_: promptfoo.read_result,
    "promptfoo_table": lambda path, _: promptfoo.TableReader(path),
    "openai_evals": lambda path, _: run_logs.EvalsReader(path),
    "turns": lambda path, companions: judge_benchmarks.TurnReader(path, companions.references, companions.is_conversation),
}
# Those of them that read a second file of references.
NEEDS_REFERENCES = ("openai_batch", "judgelm", "bert_as_a_judge", "turns")
# Framework → its records, if these are not the rows of a file.
_RECORDS: Mapping[str, Callable[[Path, CompanionFiles], Iterator[LocatedRecord]]] = {
    "inspect": lambda path, _: run_logs.read_log(path),
    "helm": lambda path, _: harnesses.read_states(path),
    "bert_as_a_judge": read_candidates,
    "promptfoo": lambda path, _: promptfoo.read_results(path),
    "promptfoo_table": lambda path, _: promptfoo.read_table(path),
}
# Framework → recognizes a document that lacks its usual keys.
_DOCUMENTS: Mapping[str, Callable[[Path], bool]] = {"inspect": run_logs.is_log, "promptfoo": promptfoo.has_results}


def _make_framework(name: str, content: Mapping[str, Any]) -> Framework:
    return Framework(
        content["description"],
        _READERS.get(name, lambda path, _: MapReader(content, path)),
        _RECORDS.get(name, _read_rows),
        judge_benchmarks.are_conversations if name == "turns" else lambda _: False,
        _DOCUMENTS.get(name, lambda _: False),
        columns=content.get("columns", ()),
        document_keys=content.get("document_keys", ()),
        is_annotatable=content.get("annotatable", False),
    )


FRAMEWORKS = {name: _make_framework(name, content) for name, content in _DEFINITIONS.items()}


@dataclass(frozen=True)
class AnswerFile:
    """A file of answers that was opened once.

    Attributes:
        framework: that wrote it; None for plain rows and unknown formats.
        source: its rows; None for a document or an archive of a framework.
    """

    path: Path
    framework: str | None
    source: RowFile | None

    @property
    def rows(self) -> RowFile | None:
        """The rows that `score` writes again with more columns; None if the answers must be converted to rows first."""
        return self.source if self.framework is None or self.is_annotatable else None

    @cached_property
    def is_annotatable(self) -> bool:
        """Whether each row of a framework's file is one answer, so that its verdict is a column; rows of repeats are several."""
        kind = FRAMEWORKS[str(self.framework)]
        if not kind.is_annotatable or self.source is None:
            return False
        sample = islice(kind.records(self.path, NO_COMPANIONS), CHUNK_ROWS)
        positions = [position for position, _ in read_answers(kind.make_reader(self.path, NO_COMPANIONS), sample, ImportStats())]
        if has_repeats := len(set(positions)) < len(positions):
            log_once(log, f"{self.path}: rows have several answers; the output has a row per answer")
        return not has_repeats


def open_answers(path: Path, *, is_plain: bool = False) -> AnswerFile:
    """Open a file and detect the framework that wrote it, unless its rows are plain. Raises InputError: it is unreadable."""
    if is_plain:
        return AnswerFile(path, None, open_rows(path))
    if path.suffix.lower() in run_logs.ENDINGS:
        return AnswerFile(path, "inspect", None)
    if sniff(path).format == "json":
        keys = json_documents.top_level_keys(path)
        if name := next((name for name, kind in FRAMEWORKS.items() if kind.wrote_document(path, keys)), None):
            return AnswerFile(path, name, None)
    source = open_rows(path, allow_duplicates=True)
    if source.holds_texts:
        if promptfoo.is_table(source.columns):
            return AnswerFile(path, "promptfoo_table", source)
        # Opened again, a table of another program with duplicate columns is refused.
        return AnswerFile(path, None, open_rows(path))
    sample = source.sample[: json_documents.HEAD_MEMBERS]
    name = next((name for name, kind in FRAMEWORKS.items() if kind.wrote_rows(source.columns, sample)), None)
    return AnswerFile(path, name, source)


@dataclass
class ImportStats:
    """Number of imported answers, and of the records without one by reason."""

    answers: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    unreadable: Counter[str] = field(default_factory=Counter)

    def describe_losses(self) -> list[str]:
        """Return lines about the records without an answer."""
        groups = (("skipped", self.skipped), ("not readable", self.unreadable))
        return [f"{count:,} {group}: {reason}" for group, reasons in groups for reason, count in reasons.most_common(3)]


def read_answers(reader: RecordReader, records: Iterator[LocatedRecord], stats: ImportStats) -> Iterator[tuple[str, Answer]]:
    """Yield location and answer for all records that contain one; update the statistics."""
    for location, record in records:
        try:
            answers = reader(record)
        except SkippedRecord as error:
            stats.skipped[str(error)] += 1
            continue
        except values.UnreadableCell as error:
            stats.unreadable[str(error)] += 1
            continue
        for answer in answers:
            stats.answers += 1
            yield location, answer


def iterate_answers(
    path: Path, framework: str, stats: ImportStats, companions: CompanionFiles = NO_COMPANIONS
) -> Iterator[tuple[str, Answer]]:
    """Yield location and answer of a framework's file; see `read_answers`."""
    kind = FRAMEWORKS[framework]
    return read_answers(kind.make_reader(path, companions), kind.records(path, companions), stats)


def no_answers_error(path: Path, stats: ImportStats) -> InputError:
    return InputError(f"{path}: {'; '.join(stats.describe_losses()) or 'the file has no rows'}; there is no answer to import")


def read_answer_records(path: Path, framework: str) -> Iterator[LocatedRecord]:
    """Yield a framework's answers as rows with `ANSWER_COLUMNS`. Raises InputError: the file is damaged, or has no answer."""
    stats = ImportStats()
    for location, answer in iterate_answers(path, framework, stats):
        yield location, asdict(answer) | {"references": list(answer.references)}
    if not stats.answers:
        raise no_answers_error(path, stats)
    for line in stats.describe_losses():
        log_once(log, f"{path}: {line}")


def convert_to_rows(path: Path, framework: str, output: Path, companions: CompanionFiles = NO_COMPANIONS) -> ImportStats:
    """Write the answers of a framework's file as JSONL; a missing model name is allowed. Raises InputError: there is none."""
    stats = ImportStats()
    rows = (asdict(answer) for _, answer in iterate_answers(path, framework, stats, companions))
    write_rows(output, rows, SCHEMA, lambda: no_answers_error(path, stats))
    return stats
