"""What a schema is: each column with its type, its meaning and the values that it may hold. And the columns that many share."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

TEXTS = pa.list_(pa.string())
NUMBERS = pa.map_(pa.string(), pa.float64())

STATUSES = ("ok", "truncated", "empty", "error", "imported")
VERDICTS = ("correct", "incorrect", "invalid")
ANSWER_KINDS = ("choice", "number", "math", "span", "text")


@dataclass(frozen=True)
class Column:
    """One column: its name, arrow type and meaning; `nullable` columns may hold nulls, `allowed` lists a closed set of values.

    A `late` column came after files of its schema were written: where it is missing it is all nulls, and no old file is stale.
    """

    name: str
    type: pa.DataType
    description: str
    nullable: bool = False
    allowed: tuple[str, ...] | None = None
    bounds: tuple[float, float] | None = None
    late: bool = False


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
REFERENCES = Column("references", TEXTS, "reference answers; each one alone is correct")
MODEL = Column("model", pa.string(), "name of the model in the configuration")
CANDIDATE = Column("candidate", pa.string(), "the model's answer without its reasoning block")
STATUS = Column("status", pa.string(), "how the answer ended", allowed=STATUSES)
