"""The schema of every table, and the only functions that read and write them.

Every file carries, in its parquet metadata, the name and version of its schema, the program version, the resolved spec that made it
(canonical JSON), the revisions of the models that took part and the time. A file is written under a temporary name and renamed,
so a path that exists is a whole table.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from bert_judge import __version__
from bert_judge.errors import InputError

METADATA_KEY = b"bert_judge"
TEXTS = pa.list_(pa.string())

# A line that offers one answer: "(A) Paris", "A. Paris" or "A) Paris".
OPTION_LINE = re.compile(r"\s*(?:\(([A-Z])\)|([A-Z])[.)])(?:\s|$)")

STATUSES = ("ok", "truncated", "empty", "error", "imported")
VERDICTS = ("correct", "incorrect", "invalid")
ANSWER_KINDS = ("choice", "number", "math", "span", "text")


@dataclass(frozen=True)
class Column:
    """One column: its name, arrow type and meaning; `nullable` columns may hold nulls, `allowed` lists a closed set of values."""

    name: str
    type: pa.DataType
    description: str
    nullable: bool = False
    allowed: tuple[str, ...] | None = None
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True)
class Schema:
    """A kind of table. `key` is the list of columns that together are unique."""

    name: str
    version: int
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def arrow(self) -> pa.Schema:
        return pa.schema([pa.field(c.name, c.type, nullable=c.nullable) for c in self.columns])


SAMPLE_ID = Column("sample_id", pa.string(), "first 16 hex digits of the SHA-256 of task, question and references")
ATTEMPT = Column("attempt", pa.int32(), "0 for a model's first answer to the question, 1 for its second, …")
QUESTION = Column("question", pa.string(), "the question as the model under test saw it")
REFERENCES = Column("references", TEXTS, "right answers; any one of them is right")
MODEL = Column("model", pa.string(), "name of the model in the configuration")
CANDIDATE = Column("candidate", pa.string(), "the model's answer without its reasoning block")
STATUS = Column("status", pa.string(), "how the answer ended", allowed=STATUSES)

TASK = Schema(
    "task",
    1,
    ("sample_id",),
    (
        SAMPLE_ID,
        QUESTION,
        REFERENCES,
        Column("choices", TEXTS, "answer options in their order, for multiple choice", nullable=True),
        Column("answer_kind", pa.string(), "what a right answer looks like", allowed=ANSWER_KINDS),
    ),
)

CANDIDATES = Schema(
    "candidates",
    1,
    ("sample_id", "attempt"),
    (
        SAMPLE_ID,
        ATTEMPT,
        QUESTION,
        REFERENCES,
        MODEL,
        CANDIDATE,
        Column("reasoning", pa.string(), "text of a separate reasoning block", nullable=True),
        STATUS,
        Column("prompt_tokens", pa.int32(), "tokens of the prompt", nullable=True),
        Column("completion_tokens", pa.int32(), "tokens generated, reasoning included", nullable=True),
    ),
)

LABELS = Schema(
    "labels",
    1,
    ("sample_id", "attempt"),
    (
        SAMPLE_ID,
        ATTEMPT,
        MODEL,
        Column("judge", pa.string(), "name of the judge in the configuration"),
        Column("verdict", pa.string(), "the decision", allowed=VERDICTS),
        Column("score", pa.float64(), "how right, 0 to 1; null when invalid", nullable=True, bounds=(0.0, 1.0)),
        Column("reason", pa.string(), "why a verdict is invalid, or what decided it", nullable=True),
        Column("raw", pa.string(), "the judge's own words or uncalibrated score", nullable=True),
        Column("truncated", pa.bool_(), "the judge did not see the whole question, candidate and reference"),
        Column("prompt_tokens", pa.int32(), "tokens the judge read", nullable=True),
        Column("completion_tokens", pa.int32(), "tokens the judge wrote", nullable=True),
    ),
)

DATASET = Schema(
    "dataset",
    1,
    ("sample_id", "attempt", "model"),
    (
        SAMPLE_ID,
        ATTEMPT,
        Column("task", pa.string(), "name of the task"),
        MODEL,
        QUESTION,
        REFERENCES,
        CANDIDATE,
        Column("label", pa.float64(), "the teacher's score, 0 to 1", bounds=(0.0, 1.0)),
        Column("weight", pa.float64(), "weight of the row in the training loss"),
    ),
)

LEVELS = ("all", "family", "task")

STANDINGS = Schema(
    "standings",
    1,
    ("level", "task", "model", "judge"),
    (
        Column("level", pa.string(), "'task', or 'all' for the answers to all tasks together", allowed=("all", "task")),
        Column("task", pa.string(), "name of the task, or 'all'"),
        MODEL,
        Column("judge", pa.string(), "name of the judge"),
        Column("n", pa.int64(), "answers"),
        Column("questions", pa.int64(), "distinct questions"),
        Column("accuracy", pa.float64(), "share of correct among valid verdicts; null without any", nullable=True),
        Column("low", pa.float64(), "lower end of the 95% interval, clustered by question", nullable=True),
        Column("high", pa.float64(), "upper end of the 95% interval", nullable=True),
        Column("invalid", pa.float64(), "share of invalid verdicts; null without rows", nullable=True),
        Column("accuracy_if_wrong", pa.float64(), "accuracy if every invalid verdict were wrong", nullable=True),
        Column("accuracy_if_right", pa.float64(), "accuracy if every invalid verdict were right", nullable=True),
    ),
)

GROUP = Column("group", pa.string(), "name of a task or of a family of tasks, or 'all'")
LEVEL = Column("level", pa.string(), "what the group is", allowed=LEVELS)

AGREEMENT = Schema(
    "agreement",
    1,
    ("level", "group", "judge"),
    (
        LEVEL,
        GROUP,
        Column("judge", pa.string(), "the judge that is compared with the gold labels, or '(majority class)'"),
        Column("n", pa.int64(), "rows with a valid gold label"),
        Column("questions", pa.int64(), "distinct questions among them"),
        Column(
            "agreement",
            pa.float64(),
            "share of rows with the gold verdict; an invalid verdict never agrees",
            nullable=True,
        ),
        Column("low", pa.float64(), "lower end of the 95% interval, clustered by question", nullable=True),
        Column("high", pa.float64(), "upper end of the 95% interval", nullable=True),
        Column("macro_f1", pa.float64(), "mean of the F1 of correct and of incorrect", nullable=True),
        Column("kappa", pa.float64(), "Cohen's kappa; null where both have one class", nullable=True),
        Column("ece", pa.float64(), "expected calibration error of the scores, 10 bins", nullable=True),
        Column("auroc", pa.float64(), "area under the ROC curve of the scores; null where gold has one class", nullable=True),
        Column("invalid", pa.float64(), "share of invalid verdicts", nullable=True),
        Column("models", pa.int64(), "models with a valid gold label in the group"),
        Column(
            "accuracy_error",
            pa.float64(),
            "mean over models of |accuracy under the judge - under gold|; invalid verdicts count as wrong",
            nullable=True,
        ),
        Column(
            "accuracy_error_valid",
            pa.float64(),
            "the same over the rows with a valid verdict of the judge, for the models that have any",
            nullable=True,
        ),
        Column(
            "rank_correlation",
            pa.float64(),
            "Kendall's tau-b of the models' order against gold; invalid verdicts count as wrong",
            nullable=True,
        ),
        Column("moved_model", pa.string(), "the model that the judge puts farthest from its gold rank", nullable=True),
        Column("moved_places", pa.int64(), "by how many places; positive is too good a rank", nullable=True),
    ),
)

COMPARISONS = Schema(
    "comparisons",
    1,
    ("level", "group", "judge", "other"),
    (
        LEVEL,
        GROUP,
        Column("judge", pa.string(), "a trained judge"),
        Column("other", pa.string(), "the judge it is compared with"),
        Column("n", pa.int64(), "rows with a valid gold label"),
        Column(
            "difference",
            pa.float64(),
            "agreement of judge minus agreement of other, on the same rows; null without rows",
            nullable=True,
        ),
        Column("low", pa.float64(), "lower end of the 95% interval, bootstrapped over questions", nullable=True),
        Column("high", pa.float64(), "upper end of the 95% interval", nullable=True),
        Column("p_value", pa.float64(), "exact McNemar test over rows, two-sided", nullable=True),
    ),
)


def scores_schema(judges: Iterable[str]) -> Schema:
    """The schema of a score table: the candidate's row, then `{judge}` and `{judge}_verdict` per judge."""
    columns = [SAMPLE_ID, ATTEMPT, QUESTION, REFERENCES, CANDIDATE, STATUS]
    for judge in judges:
        columns += [
            Column(judge, pa.float64(), f"score by {judge}; null when invalid", nullable=True, bounds=(0.0, 1.0)),
            Column(f"{judge}_verdict", pa.string(), f"verdict by {judge}", allowed=VERDICTS),
        ]
    return Schema("scores", 1, ("sample_id", "attempt"), tuple(columns))


def sample_id(task: str, question: str, references: Iterable[str]) -> str:
    """Identity of a sample: 16 hex digits that depend on its content only."""
    text = json.dumps([task, question, list(references)], ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def question_key(question: str) -> str:
    """Identity of a question over tasks: case and white space do not count."""
    return hashlib.sha256(" ".join(question.casefold().split()).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def question_stem(question: str) -> str:
    """The question without its option lines at the end, so that one question asked with other options is still the same question.

    Options are lines lettered from A on without a gap, at least two; an option but the last may go on over further lines. A
    question whose lines all belong to options is its own stem.
    """
    lines = question.rstrip().split("\n")
    wanted: str | None = None
    for at in range(len(lines) - 1, 0, -1):
        option = OPTION_LINE.match(lines[at])
        letter = (option[1] or option[2]) if option else None
        if wanted is None and (letter is None or letter == "A"):
            break
        if wanted is not None and letter != wanted:
            continue
        if letter == "A":
            return "\n".join(lines[:at]).rstrip() or question
        wanted = chr(ord(str(letter)) - 1)
    return question


def question_point(question: str) -> float:
    """A fixed point in [0, 1] for the question's stem: the same in every file, so a split by it never parts a question."""
    return int(question_key(question_stem(question)), 16) / 16**16


def storable(text: str) -> str:
    """The text with each half character (lone surrogate), which no file can hold, replaced by the sign for a broken character."""
    return text if text.isascii() else text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def canonical(spec: Mapping[str, Any]) -> str:
    """Canonical JSON: sorted keys, no white space, so that equal specs are equal strings."""
    return json.dumps(spec, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def empty(schema: Schema) -> pd.DataFrame:
    """A frame with the schema's columns and no row."""
    return schema.arrow().empty_table().to_pandas()


def write(
    frame: pd.DataFrame,
    path: str | Path,
    schema: Schema,
    spec: Mapping[str, Any],
    revisions: Mapping[str, str] | None = None,
) -> None:
    """Write a table whole or not at all.

    Args:
        frame: holds at least the columns of `schema`; others are left out.
        path: its folder is made when missing.
        spec: what made the table, as plain JSON values.
        revisions: model name → revision, for tables that a model took part in.

    Raises:
        InputError: a column is missing, holds a forbidden value or null, or the key repeats.
    """
    path = Path(path)
    _check_columns(frame.columns, schema, path)
    _check_values(frame, schema, path)
    if frame.empty:
        # Without a value, pandas gives a column any type.
        frame = empty(schema)
    try:
        table = pa.Table.from_pandas(frame[schema.names], schema=schema.arrow(), preserve_index=False)
    except (pa.ArrowException, UnicodeEncodeError) as error:
        raise InputError(f"{path}: cannot be written as a {schema.name} table: {_one_line(error)}") from error
    provenance = {
        "schema": schema.name,
        "schema_version": schema.version,
        "program": f"bert-judge {__version__}",
        "spec": canonical(spec),
        "revisions": dict(revisions or {}),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    metadata = {**(table.schema.metadata or {}), METADATA_KEY: canonical(provenance).encode()}
    with atomic(path) as temporary:
        pq.write_table(table.replace_schema_metadata(metadata), temporary, compression="zstd")


def read(path: str | Path, schema: Schema) -> pd.DataFrame:
    """Read and check a table; list columns come as Python lists.

    Raises:
        InputError: no such file, no parquet, a damaged one, or a missing column.
    """
    file = _open(path, schema)
    with _damage_told(path):
        frame = file.read(columns=schema.names).to_pandas()
    for column in schema.columns:
        if column.type == TEXTS:
            frame[column.name] = frame[column.name].map(lambda value: None if value is None else list(value)).astype(object)
    return frame


def read_batches(path: str | Path, schema: Schema, rows: int) -> Iterator[pd.DataFrame]:
    """Read a table in frames of at most `rows` rows, so that memory does not grow with the file; list columns come as arrays.

    Raises:
        InputError: as `read`.
    """
    file = _open(path, schema)
    with _damage_told(path):
        for batch in file.iter_batches(batch_size=rows, columns=schema.names):
            yield batch.to_pandas()


def provenance(path: str | Path) -> dict[str, Any]:
    """What the metadata of a table says of its origin; empty for a parquet file that is not ours."""
    metadata = _parquet(path).schema_arrow.metadata or {}
    return json.loads(metadata[METADATA_KEY]) if METADATA_KEY in metadata else {}


def fingerprint(frame: pd.DataFrame) -> str:
    """A hash of a frame's content, 16 hex digits."""
    text = frame.to_json(orient="split", date_format="iso", double_precision=15, force_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class atomic:
    """Context manager: yields a temporary path in the target's folder and renames it on success.

    A killed process leaves at most a hidden temporary file, never half a table under the real name.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def __enter__(self) -> Path:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=f".{self.path.name}.", suffix=".tmp", dir=self.path.parent)
        os.close(descriptor)
        self.temporary = Path(name)
        return self.temporary

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            # mkstemp makes files private; a table is as readable as any file of its maker.
            umask = os.umask(0)
            os.umask(umask)
            self.temporary.chmod(0o666 & ~umask)
            self.temporary.replace(self.path)
        else:
            self.temporary.unlink(missing_ok=True)


def _parquet(path: str | Path) -> pq.ParquetFile:
    with _damage_told(path):
        return pq.ParquetFile(path)


@contextmanager
def _damage_told(path: str | Path) -> Iterator[None]:
    """Say of which file it is that Arrow could not make sense."""
    try:
        yield
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file") from error
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path}: not a readable parquet file: {_one_line(error)}") from error


def _open(path: str | Path, schema: Schema) -> pq.ParquetFile:
    file = _parquet(path)
    _check_columns(file.schema_arrow.names, schema, Path(path))
    return file


def _check_columns(present: Iterable[str], schema: Schema, path: Path) -> None:
    missing = [name for name in schema.names if name not in set(present)]
    if missing:
        raise InputError(f"{path}: a {schema.name} table needs the column {', '.join(map(repr, missing))}")


def _check_values(frame: pd.DataFrame, schema: Schema, path: Path) -> None:
    for column in schema.columns:
        values = frame[column.name]
        if not column.nullable and values.isna().any():
            raise InputError(f"{path}: column {column.name!r} holds {int(values.isna().sum())} nulls; none is allowed")
        if column.allowed and not (known := values.isin(column.allowed)).all():
            raise InputError(f"{path}: column {column.name!r} holds {values[~known].iloc[0]!r}; allowed are {column.allowed}")
        if column.type == TEXTS and (odd := [value for value in values.dropna() if not _are_texts(value)]):
            raise InputError(f"{path}: column {column.name!r} holds {odd[0]!r:.80}; it needs lists of texts")
        if column.bounds and not (inside := values.dropna().between(*column.bounds)).all():
            raise InputError(
                f"{path}: column {column.name!r} holds {values.dropna()[~inside].iloc[0]}; the range is {column.bounds}"
            )
    repeated = frame.duplicated(list(schema.key))
    if repeated.any():
        first = frame.loc[repeated, list(schema.key)].iloc[0].to_dict()
        raise InputError(f"{path}: {int(repeated.sum())} rows repeat the key {schema.key}; the first is {first}")


def _are_texts(value: object) -> bool:
    # Arrow would take a bare text for the list of its letters.
    return isinstance(value, Iterable) and not isinstance(value, str) and all(isinstance(text, str) for text in value)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
