"""The stage that writes a task table: questions and references from a task function, a dataset or an imported file."""

import logging
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.assets.prepare import load_manifest
from bert_judge.importers import files
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import LocatedRecord, open_rows
from bert_judge.tasks import families, registry
from bert_judge.tasks.families import NUMBER
from bert_judge.tasks.registry import Sample

log = logging.getLogger(__name__)

LETTER = re.compile(r"[A-Z]")


def build_task(
    spec: Mapping[str, Any], output: str | Path, source: str | Path | None = None, manifest: str | Path | None = None
) -> None:
    """Write the task table.

    Args:
        spec: `Plan.task_spec`; with an `import` or a `source`, the questions come from a file or a dataset.
        source: that file, or the Python file that defines the task; None for a built-in task and for a dataset of the hub.

    Raises:
        InputError: the file is unreadable, the task does not exist, or it has an invalid sample or no samples.
    """
    revisions: dict[str, str] = {}
    if "import" in spec:
        assert source is not None
        samples = _imported_samples(spec, source)
    elif "source" in spec:
        paths = [Path(source)] if source is not None else []
        if manifest is not None:
            prepared = load_manifest(manifest)
            paths = [prepared.path / file.name for file in prepared.files]
            revisions = {prepared.repository: prepared.revision}
        samples = map_rows(spec["task"], spec["source"], read_rows(paths, *needed_columns(spec["source"])))
    else:
        if source is not None:
            registry.load_files([source])
        samples = _defined_samples(spec["task"])
    distinct = _select_distinct(spec["task"], samples, spec.get("limit"), log_duplicates="import" not in spec)
    if not distinct:
        raise InputError(_no_samples(spec, source))
    frame = pd.DataFrame([{"sample_id": sample_id, **vars(sample)} for sample_id, sample in distinct.items()])
    tables.write(frame, output, tables.TASK, spec, revisions=revisions)
    log.info("%s: %d questions", spec["task"], len(frame))


def _select_distinct(task: str, samples: Iterable[Sample], limit: int | None, log_duplicates: bool) -> dict[str, Sample]:
    """Return sample id → sample, each once, in the order of the source.

    With a limit, those with the smallest ids are kept. An id is a hash of the sample's content, so the selection is effectively
    random, identical in every run, and a subset of the selection with a higher limit.
    """
    distinct: dict[str, Sample] = {}
    count = 0
    for count, sample in enumerate(samples, 1):  # noqa: B007
        distinct.setdefault(tables.sample_id(task, sample.question, sample.references), sample)
    if log_duplicates and len(distinct) < count:
        log.info("%s: dropped %d duplicate samples", task, count - len(distinct))
    if limit is None or limit >= len(distinct):
        return distinct
    log.info("%s: limited to %d of %d questions", task, limit, len(distinct))
    selected = set(sorted(distinct)[:limit])
    return {sample_id: sample for sample_id, sample in distinct.items() if sample_id in selected}


def _no_samples(spec: Mapping[str, Any], source: str | Path | None) -> str:
    if "import" in spec:
        return (
            f"{source}: no question of task {spec['task']!r} is in the range {spec['part']['question_split']}; "
            f"widen tasks.imported.{spec['task']}.question_split"
        )
    return f"task {spec['task']!r}: its function yields no sample; yield at least one"


def answer_kind(question: str, references: Sequence[str], choices: Sequence[str] | None = None) -> str:
    """Return the kind of a correct answer to an imported question: `choice`, `number` or `text`."""
    has_options = choices is not None or tables.question_stem(question) != question
    if has_options and LETTER.fullmatch(references[0]):
        return "choice"
    return "number" if all(NUMBER.fullmatch(reference) for reference in references) else "text"


def _imported_samples(spec: Mapping[str, Any], source: str | Path) -> Iterator[Sample]:
    required = [] if spec["import"]["columns"]["choices"] is None else ["choices"]
    rows = files.read_task_rows(spec, source, required).drop_duplicates("sample_id")
    choices: Iterable[list[str] | None] = rows["choices"] if required else [None] * len(rows)
    for question, references, options in zip(rows["question"], rows["references"], choices, strict=True):
        kind = answer_kind(question, references, options)
        yield Sample(question, tuple(references), kind, None if options is None else tuple(options))


def _defined_samples(name: str) -> Iterator[Sample]:
    samples: Any = registry.find(name).samples()
    if not isinstance(samples, Iterable):
        raise InputError(f"task {name!r}: its function returns a {type(samples).__name__}; let it yield samples")
    for number, sample in enumerate(samples, 1):
        if problem := _find_problem(sample):
            raise InputError(f"task {name!r}: sample {number}: {problem}")
        yield sample


def _find_problem(sample: object) -> str | None:
    if not isinstance(sample, Sample):
        return f"it is a {type(sample).__name__}; yield bert_judge.tasks.Sample objects"
    if not _is_text(sample.question):
        return f"its question is {sample.question!r:.80}; give a non-empty text"
    # A string is a sequence of strings too.
    if not _are_texts(sample.references) or not sample.references:
        return f"its references are {sample.references!r:.80}; give a tuple of at least one non-empty text"
    if sample.choices is not None and not _are_texts(sample.choices):
        return f"its choices are {sample.choices!r:.80}; give None or a tuple of non-empty texts"
    if any(tables.storable(text) != text for text in (sample.question, *sample.references, *(sample.choices or ()))):
        return "it has a lone surrogate (half a character), which no file can store; remove it"
    if sample.answer_kind not in tables.ANSWER_KINDS:
        return f"its answer_kind is {sample.answer_kind!r}; give one of {', '.join(tables.ANSWER_KINDS)}"
    return None


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_texts(values: object) -> bool:
    return isinstance(values, list | tuple) and all(map(_is_text, values))


def needed_columns(source: families.Source) -> tuple[list[str], list[str]]:
    """Return the columns that a source needs, and those among them that contain lists."""
    columns = source["columns"]
    choices, answer = columns["choices"] or [], columns["answer"]
    lists = [*(choices if len(choices) == 1 else []), *([columns["labels"]] if columns["labels"] else [])]
    lists += answer if source["family"] != "multiple_choice" or source["answer_form"] == "flags" else []
    names = [*columns["question"], *(columns["context"] or []), *choices, *lists, *answer, *source["where"]]
    return list(dict.fromkeys(names)), lists


def read_rows(files: Sequence[Path], names: Collection[str], list_columns: Collection[str] = ()) -> Iterator[LocatedRecord]:
    """Read some columns of the files of a dataset.

    Args:
        names: columns; `a.b` is the member `b` of column `a`, which is then read completely.
        list_columns: columns with lists, which CSV files store as JSON.

    Yields:
        (location, row), e.g. ("train.parquet: row 3", {"question": …}).

    Raises:
        InputError: a file is unreadable or lacks a column.
    """
    for path in files:
        source = open_rows(path)
        columns = _top_level_columns(source.columns, names)
        if set(columns) - set(source.columns):
            # A JSONL file may have them in later rows.
            source = open_rows(path, needed=columns)
            columns = _top_level_columns(source.columns, names)
        if missing := [name for name in columns if name not in source.columns]:
            present = ", ".join(map(repr, source.columns))
            raise InputError(f"{path}: no column {missing[0]!r}; available: {present}; fix the source's columns or where")
        for location, record in source.records(columns):
            if source.holds_texts:
                record = {name: values.parse_literal(value) if name in list_columns else value for name, value in record.items()}
            yield f"{path}: {location}", record


def _top_level_columns(present: Sequence[str], names: Collection[str]) -> list[str]:
    return list(dict.fromkeys(name if name in present else name.split(".")[0] for name in names))


def map_rows(task: str, source: families.Source, rows: Iterable[LocatedRecord]) -> Iterator[Sample]:
    """Yield the samples of rows, and log at the end how many rows were unusable and why.

    Raises:
        InputError: a row does not match the source, or no row gives a question.
    """
    unusable: Counter[str] = Counter()
    used = total = 0
    for location, row in rows:
        total += 1
        try:
            if not all(
                values.matches_filter(values.require_cell(row, name), accepted) for name, accepted in source["where"].items()
            ):
                continue
            samples = families.make_samples(source, row)
        except values.SkippedRecord as error:
            unusable[str(error)] += 1
            continue
        except InputError as error:
            raise InputError(f"task {task!r}: {location}: {error}") from error
        used += 1
        yield from samples
    reasons = ", ".join(f"{count} with {reason}" for reason, count in unusable.most_common())
    if not used:
        reason = reasons or (f"none of {total} rows passes the source's where" if total else "its files are empty")
        raise InputError(
            f"task {task!r}: no row of its dataset gives a question: {reason}; fix the source's columns, split or where"
        )
    if unusable:
        log.warning("%s: skipped %d of %d rows: %s", task, unusable.total(), total, reasons)
