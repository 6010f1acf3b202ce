"""Schemas of all tables, read from `schemas.yaml`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from bert_judge.runtime.package_data import read_yaml

TEXTS = pa.list_(pa.string())
NUMBERS = pa.map_(pa.string(), pa.float64())
TYPES = {
    "text": pa.string(),
    "texts": TEXTS,
    "numbers": NUMBERS,
    "integer": pa.int64(),
    "int32": pa.int32(),
    "number": pa.float64(),
    "boolean": pa.bool_(),
}


@dataclass(frozen=True)
class Column:
    """A column: `nullable` columns may hold nulls, `allowed` lists a closed set of values, `bounds` are the lowest and highest."""

    name: str
    type: pa.DataType
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
        return pa.schema([pa.field(c.name, c.type, nullable=c.nullable) for c in self.columns])


def _read_column(name: str, entry: Mapping[str, Any], values: Mapping[str, Iterable[str]]) -> Column:
    allowed, bounds = entry.get("allowed"), entry.get("bounds")
    return Column(
        name,
        TYPES[entry["type"]],
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


# The loader in C saves a tenth of a second at each start; not every build of PyYAML has it.
_CONTENT = read_yaml(Path(__file__).with_name("schemas.yaml"))
# Table name → schema.
SCHEMAS = _read_schemas(_CONTENT)
# Closed sets of values: those of pair measures with their meaning.
VALUES: Mapping[str, Any] = {name: v if isinstance(v, dict) else tuple(v) for name, v in _CONTENT["values"].items()}


def scores_schema(judges: Iterable[str]) -> Schema:
    """Return the schema of a score table: the candidate's row, then `{judge}`, `{judge}_verdict`, `{judge}_outcome` per judge."""
    names = ("sample_id", "attempt", "question", "references", "candidate", "status")
    columns = [column for column in SCHEMAS["candidates"].columns if column.name in names]
    for judge in judges:
        columns += [
            Column(judge, pa.float64(), f"score by {judge}; null when invalid", nullable=True, bounds=(0.0, 1.0)),
            Column(f"{judge}_verdict", pa.string(), f"verdict by {judge}", allowed=VALUES["verdicts"]),
            Column(f"{judge}_outcome", pa.string(), f"outcome by {judge}", allowed=VALUES["outcomes"]),
        ]
    return Schema("scores", 2, ("sample_id", "attempt"), tuple(columns))
