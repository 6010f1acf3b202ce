"""Tables: read and write them by their schemas (`schemas.yaml`), and identify their rows (`identity`).

The parquet metadata of a table contain the name and version of its schema, the program with a hash of its source, its commit, the
versions of packages, its resolved spec (canonical JSON), the revisions of the models involved, and the time. A path that exists is
a complete table: the names of `runtime.outputs`, which writes completely and by one process at a time, are offered here too.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from bert_judge.runtime.errors import InputError
from bert_judge.runtime.outputs import (
    atomic,
    atomic_folder,
    canonical,
    claim_output,
    exclusive,
    hidden_path,
    remove_leftovers,
    set_default_mode,
    write_json,
)
from bert_judge.runtime.package_data import read_yaml
from bert_judge.runtime.program import commit, packages, program
from bert_judge.tables.identity import (
    file_content,
    item_keys,
    item_points,
    pair_id,
    question_key,
    question_point,
    question_stem,
    sample_id,
)
from bert_judge.tables.readers.containers import translate_errors

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    import pyarrow.parquet as pq


# A first verdict reads and writes no table, so pandas and pyarrow are imported where one is: a fifth of its time and memory.
def arrow_type(name: str | pa.DataType) -> pa.DataType:
    """Return Arrow's type for the name of a type in `schemas.yaml`; other types, such as lists of numbers, as they are."""
    import pyarrow as pa

    if not isinstance(name, str):
        return name
    if name == "texts":
        return pa.list_(pa.string())
    if name == "numbers":
        return pa.map_(pa.string(), pa.float64())
    return pa.type_for_alias({"text": "string", "integer": "int64", "number": "float64", "boolean": "bool"}.get(name, name))


@dataclass(frozen=True)
class Column:
    """A column: `nullable` columns may hold nulls, `allowed` lists a closed set of values, `bounds` are the lowest and highest."""

    name: str
    type: str | pa.DataType
    description: str
    nullable: bool = False
    allowed: tuple[str, ...] | None = None
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True)
class Schema:
    """A kind of table. `key` lists the columns that together are unique."""

    name: str
    version: int
    key: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        return [column.name for column in self.columns]

    def arrow(self) -> pa.Schema:
        import pyarrow as pa

        return pa.schema([pa.field(c.name, arrow_type(c.type), nullable=c.nullable) for c in self.columns])


def _read_column(name: str, entry: Mapping[str, Any], values: Mapping[str, Iterable[str]]) -> Column:
    allowed, bounds = entry.get("allowed"), entry.get("bounds")
    return Column(
        name,
        entry["type"],
        entry["description"],
        entry.get("nullable", False),
        tuple(values[allowed] if isinstance(allowed, str) else allowed) if allowed else None,
        (float(bounds[0]), float(bounds[1])) if bounds else None,
    )


def _read_schemas(content: Mapping[str, Any]) -> dict[str, Schema]:
    return {
        name: Schema(
            name,
            entry["version"],
            tuple(entry["key"]),
            tuple(_read_column(column, values, content["values"]) for column, values in entry["columns"].items()),
        )
        for name, entry in content["tables"].items()
    }


_CONTENT = read_yaml(Path(__file__).with_name("schemas.yaml"))
# Table name → schema.
SCHEMAS = _read_schemas(_CONTENT)
# Closed sets of values: those of pair measures with their meaning.
VALUES: Mapping[str, Any] = {name: v if isinstance(v, dict) else tuple(v) for name, v in _CONTENT["values"].items()}

AGREEMENT = SCHEMAS["agreement"]
ATTACKS = SCHEMAS["attacks"]
ATTACK_EXAMPLES = SCHEMAS["attack_examples"]
ATTACK_RATES = SCHEMAS["attack_rates"]
CANDIDATES = SCHEMAS["candidates"]
CASCADES = SCHEMAS["cascades"]
CERTIFICATE = SCHEMAS["certificate"]
COMPARISONS = SCHEMAS["comparisons"]
CORRECTED_ACCURACY = SCHEMAS["corrected_accuracy"]
CORRECTED_PAIRS = SCHEMAS["corrected_pairs"]
COST = SCHEMAS["cost"]
DATASET = SCHEMAS["dataset"]
FILTERED = SCHEMAS["filtered"]
JUDGE_PAIRS = SCHEMAS["judge_pairs"]
LABELS = SCHEMAS["labels"]
MODEL_PAIRS = SCHEMAS["model_pairs"]
PAIRS = SCHEMAS["pairs"]
PAIR_AGREEMENT = SCHEMAS["pair_agreement"]
PREDICTIONS = SCHEMAS["predictions"]
PREFERENCES = SCHEMAS["preferences"]
RANKS = SCHEMAS["ranks"]
RANK_CORRELATIONS = SCHEMAS["rank_correlations"]
RANK_SHIFTS = SCHEMAS["rank_shifts"]
RELIABILITY = SCHEMAS["reliability"]
STANDINGS = SCHEMAS["standings"]
STUDENTS = SCHEMAS["students"]
TASK = SCHEMAS["task"]
THRESHOLDS = SCHEMAS["thresholds"]

ANSWER_KINDS: tuple[str, ...] = VALUES["answer_kinds"]
OUTCOMES: tuple[str, ...] = VALUES["outcomes"]
ORDER_VERDICTS: tuple[str, ...] = VALUES["order_verdicts"]
PAIR_MEASURES: dict[str, str] = VALUES["pair_measures"]
PAIR_VERDICTS: tuple[str, ...] = VALUES["pair_verdicts"]
PREFERRED: tuple[str, ...] = VALUES["preferred"]
STATUSES: tuple[str, ...] = VALUES["statuses"]
VERDICTS: tuple[str, ...] = VALUES["verdicts"]


def scores_schema(judges: Iterable[str]) -> Schema:
    """Return the schema of a score table: the candidate's row, then `{judge}`, and `{judge}_verdict`, `_outcome` and
    `_certain` per judge."""
    import pyarrow as pa

    names = ("sample_id", "attempt", "question", "references", "candidate", "status")
    columns = [column for column in SCHEMAS["candidates"].columns if column.name in names]
    for judge in judges:
        columns += [
            Column(judge, "number", f"score by {judge}; null when invalid", nullable=True, bounds=(0.0, 1.0)),
            Column(f"{judge}_verdict", "text", f"verdict by {judge}", allowed=VALUES["verdicts"]),
            Column(f"{judge}_outcome", "text", f"outcome by {judge}", allowed=VALUES["outcomes"]),
            Column(f"{judge}_certain", "boolean", f"whether {judge} is certain; null: no claim", nullable=True),
        ]
    return Schema("scores", 3, ("sample_id", "attempt"), tuple(columns))


# --- files ---

METADATA_KEY = b"bert_judge"
# A reader of batches holds at least one row group; by default a group has a million rows.
GROUP_ROWS = 16_384


@overload
def storable(text: str) -> str: ...
@overload
def storable(text: str | None) -> str | None: ...
def storable(text: str | None) -> str | None:
    """Replace lone surrogates, which no file can hold, by the replacement character."""
    return text if text is None or text.isascii() else text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def empty(schema: Schema) -> pd.DataFrame:
    """Return a frame with the schema's columns and no row."""
    return schema.arrow().empty_table().to_pandas()


def write(
    frame: pd.DataFrame,
    path: str | Path,
    schema: Schema,
    spec: Mapping[str, Any],
    *,
    revisions: Mapping[str, str] | None = None,
) -> None:
    """Write a table completely or not at all.

    Args:
        frame: has at least the columns of `schema`; others are left out.
        path: its folder is created if missing.
        spec: of the table, as plain JSON values.
        revisions: model name → revision, of the models involved.

    Raises:
        InputError: a column is missing, has a forbidden value or null, or a key repeats.
    """
    write_parts([frame], path, schema, spec, revisions={} if revisions is None else revisions)


def write_parts(
    frames: Iterable[pd.DataFrame], path: str | Path, schema: Schema, spec: Mapping[str, Any], *, revisions: Mapping[str, str]
) -> None:
    """Write a table that comes in parts; see `write`. Of finished parts, memory holds eight bytes per row.

    Args:
        revisions: read after the last part, because they may become known only then.
    """
    import pandas as pd
    import pyarrow.parquet as pq

    path, columns = Path(path), schema.arrow()
    keys: list[np.ndarray] = []
    with atomic(path) as temporary, pq.ParquetWriter(temporary, columns, compression="zstd") as writer:
        for frame in frames:
            _check_columns(frame.columns, schema, path)
            _check_values(frame, schema, path)
            if not frame.empty:
                keys.append(pd.util.hash_pandas_object(frame[list(schema.key)], index=False).to_numpy())
                writer.write_table(_arrow(frame, schema, path), row_group_size=GROUP_ROWS)
        if not keys:
            writer.write_table(columns.empty_table())
        elif repeated := sum(map(len, keys)) - len(np.unique(np.concatenate(keys))):
            raise InputError(f"{path}: {repeated} rows repeat the key {schema.key} of others")
        provenance = {
            "schema": schema.name,
            "schema_version": schema.version,
            "program": program(),
            "commit": commit(),
            "packages": packages(),
            "spec": canonical(spec),
            "revisions": dict(revisions),
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        writer.add_key_value_metadata({METADATA_KEY: canonical(provenance).encode()})


def _arrow(frame: pd.DataFrame, schema: Schema, path: Path) -> pa.Table:
    # Arrow does not convert a column of NaN, which has the type of numbers, to a map.
    import pyarrow as pa

    frame = frame[schema.names].astype({column.name: object for column in schema.columns if column.type == "numbers"})
    try:
        return pa.Table.from_pandas(frame, schema=schema.arrow(), preserve_index=False)
    except (pa.ArrowException, UnicodeEncodeError) as error:
        raise InputError(f"{path}: cannot be written as a {schema.name} table: {' '.join(str(error).split())}") from error


def read(path: str | Path, schema: Schema) -> pd.DataFrame:
    """Read and check a table; list columns become Python lists, columns of named numbers dicts.

    Raises:
        InputError: no such file, not a readable parquet file, or a missing column.
    """
    file = _open(path, schema)
    with translate_errors(Path(path), "parquet"):
        frame = file.read(columns=schema.names).to_pandas(maps_as_pydicts="strict")
    for column in schema.columns:
        if column.type == "texts":
            frame[column.name] = frame[column.name].map(lambda value: None if value is None else list(value)).astype(object)
    return frame


def read_batches(path: str | Path, schema: Schema, rows: int) -> Iterator[pd.DataFrame]:
    """Read a table in frames of at most `rows` rows, so that memory does not grow with the file; list columns become arrays."""
    file = _open(path, schema)
    with translate_errors(Path(path), "parquet"):
        for batch in file.iter_batches(batch_size=rows, columns=schema.names):
            yield batch.to_pandas(maps_as_pydicts="strict")


def read_columns(path: str | Path, names: Sequence[str]) -> pa.Table:
    """Read some columns of a table as an Arrow table, for columns too large for Python objects.

    Raises:
        InputError: as `read`; a column is missing.
    """
    file = _parquet(path)
    if missing := [name for name in names if name not in file.schema_arrow.names]:
        raise InputError(f"{path}: the column {missing[0]!r} is missing; delete the file, and the next run writes it again")
    with translate_errors(Path(path), "parquet"):
        return file.read(columns=list(names))


def names(path: str | Path) -> list[str]:
    """Return the names of a table's columns."""
    return list(_parquet(path).schema_arrow.names)


def count(path: str | Path) -> int:
    """Return the number of rows of a table, from its footer."""
    return _parquet(path).metadata.num_rows


def provenance(path: str | Path) -> dict[str, Any]:
    """Return the metadata of a table: schema, spec, revisions, time; empty for other parquet files."""
    # From the file's metadata: those of its Arrow schema lack what was added after the first rows.
    metadata = _parquet(path).metadata.metadata or {}
    return json.loads(metadata[METADATA_KEY]) if METADATA_KEY in metadata else {}


def merge_revisions(paths: Iterable[str | Path]) -> dict[str, str]:
    """Merge the revisions of several tables: model → revision."""
    return {model: revision for path in paths for model, revision in provenance(path).get("revisions", {}).items()}


def fingerprint(frame: pd.DataFrame) -> str:
    """Return a hash of a frame's content, 16 hex digits."""
    text = frame.to_json(orient="split", date_format="iso", double_precision=15, force_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _parquet(path: str | Path) -> pq.ParquetFile:
    import pyarrow.parquet as pq

    with translate_errors(Path(path), "parquet"):
        return pq.ParquetFile(path)


def _open(path: str | Path, schema: Schema) -> pq.ParquetFile:
    file = _parquet(path)
    _check_columns(file.schema_arrow.names, schema, Path(path))
    return file


def _check_columns(present: Iterable[str], schema: Schema, path: Path) -> None:
    if missing := [name for name in schema.names if name not in set(present)]:
        raise InputError(f"{path}: a {schema.name} table needs the column {', '.join(map(repr, missing))}")


def _check_values(frame: pd.DataFrame, schema: Schema, path: Path) -> None:
    for column in schema.columns:
        values = frame[column.name]
        if not column.nullable and values.isna().any():
            raise InputError(f"{path}: column {column.name!r} holds {int(values.isna().sum())} nulls; none is allowed")
        if column.allowed and not (is_allowed := values.isin(column.allowed) | values.isna()).all():
            raise InputError(f"{path}: column {column.name!r} holds {values[~is_allowed].iloc[0]!r}; allowed are {column.allowed}")
        if column.type == "texts" and (odd := [value for value in values.dropna() if not _are_texts(value)]):
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
