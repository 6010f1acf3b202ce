"""The files of evaluation frameworks: detection, and their answers one at a time, for files of any size."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from bert_judge.importers import batches, helm, inspect_logs, judgelm, lighteval, lm_eval, openai_evals, promptfoo, turns
from bert_judge.importers.answers import Answer, RecordReader, SkippedRecord, make_column_reader
from bert_judge.importers.companion_files import CompanionFiles, read_candidates, references_by_id
from bert_judge.importers.maps import MAPS, MapReader
from bert_judge.importers.plain_rows import SCHEMA, write_rows
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import json_documents, values
from bert_judge.tables.readers.containers import sniff
from bert_judge.tables.readers.rows import LocatedRecord, Record, RowFile, open_rows

log = logging.getLogger(__name__)

NO_COMPANIONS = CompanionFiles()
ANSWER_COLUMNS = list(Answer.__dataclass_fields__)
PLAIN_COLUMNS = {name: name for name in ("question", "references", "candidate", "model", "task", "label")}


def _read_rows(path: Path, _: CompanionFiles) -> Iterator[LocatedRecord]:
    return open_rows(path).records()


def _make_map_reader(name: str, *_: object) -> RecordReader:
    return MapReader(name)


@dataclass(frozen=True)
class Framework:
    """A kind of file.

    Attributes:
        make_reader: returns the reader of the records of a file.
        has_columns: recognizes a file of rows by its columns.
        has_rows: recognizes a file of rows by its first rows.
        has_keys: recognizes a JSON document by its first keys, see `json_documents.top_level_keys`.
        has_document: recognizes a JSON document by its content.
        is_annotatable: a file of rows that `score` writes again with more columns.
    """

    description: str
    make_reader: Callable[[Path, CompanionFiles], RecordReader]
    records: Callable[[Path, CompanionFiles], Iterator[LocatedRecord]] = _read_rows
    has_columns: Callable[[frozenset[str]], bool] = lambda _: False
    has_rows: Callable[[Sequence[Record]], bool] = lambda _: False
    has_keys: Callable[[list[str]], bool] = lambda _: False
    has_document: Callable[[Path], bool] = lambda _: False
    is_annotatable: bool = False


FRAMEWORKS = {
    "lm_eval": Framework(
        "samples of lm-evaluation-harness",
        lambda path, _: lm_eval.LMEvalReader(path),
        has_columns=lm_eval.KEYS.issubset,
        is_annotatable=True,
    ),
    "lighteval": Framework(
        "details of lighteval",
        lambda path, _: lighteval.LightevalReader(path),
        has_columns=lambda columns: {name.strip("_") for name in columns} >= lighteval.KEYS,
        is_annotatable=True,
    ),
    "inspect": Framework(
        "a log of inspect_ai",
        lambda *_: inspect_logs.read_sample,
        lambda path, _: inspect_logs.read_log(path),
        has_keys=lambda keys: {"eval", "plan"} <= set(keys),
    ),
    "helm": Framework(
        "a scenario state of HELM",
        lambda path, _: helm.HelmReader(path),
        lambda path, _: helm.read_states(path),
        has_keys=lambda keys: set(keys) >= helm.KEYS,
    ),
    "openai_batch": Framework(
        "responses of a batch interface",
        lambda path, companions: batches.BatchReader(
            path, batches.requests_by_id(companions.requests), references_by_id(companions.references)
        ),
        has_columns=batches.has_columns,
    ),
    "judgelm": Framework(
        "samples of JudgeLM",
        lambda path, companions: judgelm.JudgeLMReader(path, references_by_id(companions.references)),
        has_columns=judgelm.KEYS.issubset,
    ),
    "bert_as_a_judge": Framework(
        "candidates of BERT-as-a-Judge",
        lambda *_: make_column_reader(PLAIN_COLUMNS),
        read_candidates,
        has_keys=lambda keys: keys == [json_documents.LIST, json_documents.TEXT],
    ),
    "promptfoo": Framework(
        "results of promptfoo",
        lambda *_: promptfoo.read_result,
        lambda path, _: promptfoo.read_results(path),
        has_columns=promptfoo.KEYS.issubset,
        has_document=promptfoo.has_results,
    ),
    "openai_evals": Framework(
        "a log of openai/evals",
        lambda path, _: openai_evals.EvalsReader(path),
        has_columns=openai_evals.KEYS.issubset,
    ),
    **{
        name: Framework(
            content["description"],
            partial(_make_map_reader, name),
            has_columns=frozenset(content["keys"]).issubset,
            is_annotatable=True,
        )
        for name, content in MAPS.items()
    },
    "turns": Framework(
        "conversations with a reference per turn; the output has a row per turn",
        lambda path, companions: turns.TurnReader(path, companions.references),
        has_rows=turns.are_conversations,
    ),
}


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
        return self.source if self.framework is None or FRAMEWORKS[self.framework].is_annotatable else None


def open_answers(path: Path) -> AnswerFile:
    """Open a file and detect the framework that wrote it. Raises InputError: it is unreadable."""
    if path.suffix.lower() in inspect_logs.ENDINGS:
        return AnswerFile(path, "inspect", None)
    if sniff(path).format == "json":
        keys = json_documents.top_level_keys(path)
        if name := next((name for name, kind in FRAMEWORKS.items() if kind.has_keys(keys) or kind.has_document(path)), None):
            return AnswerFile(path, name, None)
    source = open_rows(path)
    if source.holds_texts:
        return AnswerFile(path, None, source)
    columns, sample = frozenset(source.columns), source.sample[: json_documents.HEAD_MEMBERS]
    name = next((name for name, kind in FRAMEWORKS.items() if kind.has_columns(columns) or kind.has_rows(sample)), None)
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
        log.warning("%s: %s", path, line)


def convert_to_rows(path: Path, framework: str, output: Path) -> ImportStats:
    """Write the answers of a framework's file as JSONL; a missing model name is allowed. Raises InputError: there is none."""
    stats = ImportStats()
    rows = (asdict(answer) for _, answer in iterate_answers(path, framework, stats))
    write_rows(output, rows, SCHEMA, lambda: no_answers_error(path, stats))
    return stats
