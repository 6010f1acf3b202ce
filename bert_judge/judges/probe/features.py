"""The stage that reads a table of answers with a frozen model, and the tables of hidden states that it writes.

A table has a row per answer and a column per layer and pooling, so a reader of one layer reads nothing else of the file.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd
import pyarrow as pa

from bert_judge import tables
from bert_judge.judges.probe.config import BASIC_POOLINGS
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

# States held in memory at once, and those of a shard, the most that a kill can lose.
BATCH_BYTES, SHARDS_PER_BATCH = 256_000_000, 8
PREFIX = "layer_"
Key = tuple[str, int]


class StateReader(Protocol):
    """See `extraction.Reader`."""

    @property
    def shape(self) -> tuple[int, int, int]: ...

    @property
    def row_bytes(self) -> int: ...

    def read(self, questions: Sequence[str], candidates: Sequence[str]) -> Any: ...


def schema(layers: int, poolings: Sequence[str], width: int, storage_dtype: str) -> tables.Schema:
    """Of a table of hidden states. States of an answer that failed to be generated are null."""
    number = pa.from_numpy_dtype(np.dtype(storage_dtype))
    told = {"mean": "mean over the tokens", "last": "last token", "min": "least of each number", "max": "largest of each number"}
    states = tuple(
        tables.Column(_column(layer, pooling), pa.list_(number, width), f"layer {layer}: {told[pooling]}", nullable=True)
        for layer in range(layers)
        for pooling in poolings
    )
    keys = tuple(column for column in tables.CANDIDATES.columns if column.name in tables.CANDIDATES.key)
    more = (
        tables.Column("truncated", pa.bool_(), "the model did not see the whole question and candidate"),
        tables.Column("tokens", pa.int32(), "tokens that the model read"),
    )
    return tables.Schema("features", 1, tables.CANDIDATES.key, (*keys, *more, *states))


def feature_table(
    spec: Mapping[str, Any],
    candidates: str | Path,
    output: str | Path,
    reader: StateReader,
    revision: str,
    work_folder: str | Path,
    batch_bytes: int = BATCH_BYTES,
) -> None:
    """Write the hidden states of every answer of a table.

    Args:
        spec: `Plan.features_spec`.
        reader: the frozen model.
        revision: of the model's weights.
        work_folder: keeps finished shards until the table is written.
        batch_bytes: states held in memory at once.

    Raises:
        InputError: the candidates cannot be read.
    """
    layers, poolings, width = reader.shape
    assert poolings == len(spec["poolings"])
    found = schema(layers, spec["poolings"], width, spec["storage_dtype"])
    rows = max(1, batch_bytes // reader.row_bytes)
    origin = tables.canonical({**_meaning(spec), "revision": revision})

    def frames() -> Iterator[pd.DataFrame]:
        for number, batch in enumerate(tables.read_batches(candidates, tables.CANDIDATES, rows)):
            folder = Path(work_folder) / f"{number:05d}"
            yield _frame(
                batch, _states(batch, reader, origin, folder, max(1, rows // SHARDS_PER_BATCH)), found, spec["storage_dtype"]
            )

    tables.write_parts(frames(), output, found, spec, {spec["backbone"]: revision})
    resume.clear(work_folder)


def _meaning(spec: Mapping[str, Any]) -> dict[str, Any]:
    """What states depend on, apart from the answer."""
    return {name: value for name, value in spec.items() if name not in ("features", "model", "task")}


def _states(batch: pd.DataFrame, reader: StateReader, origin: str, folder: Path, shard_rows: int) -> list[Mapping[str, Any] | None]:
    """Per row of a batch its states, or None for an answer that failed."""
    failed = (batch["status"] == "error").tolist()
    texts = [pair for pair, bad in zip(zip(batch["question"], batch["candidate"], strict=True), failed, strict=True) if not bad]

    def work(some: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
        pooled = reader.read([question for question, _ in some], [candidate for _, candidate in some])
        columns = zip(pooled.states, pooled.truncated.tolist(), pooled.tokens.tolist(), strict=True)
        return [{"states": states.tobytes(), "truncated": cut, "tokens": tokens} for states, cut, tokens in columns]

    keys = [resume.content_key(origin, *pair) for pair in texts]
    results = iter(resume.run_resumable(texts, keys, work, folder, shard_rows, unit="answers") if texts else [])
    return [None if bad else next(results) for bad in failed]


def _frame(batch: pd.DataFrame, results: list[Mapping[str, Any] | None], found: tables.Schema, storage_dtype: str) -> pd.DataFrame:
    columns = [column for column in found.columns if pa.types.is_fixed_size_list(column.type)]
    width = columns[0].type.list_size
    states = np.zeros((len(results), len(columns), width), storage_dtype)
    for row, result in enumerate(results):
        if result is not None:
            states[row] = np.frombuffer(result["states"], storage_dtype).reshape(len(columns), width)
    failed = pa.array([result is None for result in results], pa.bool_())
    known = [result or {"truncated": False, "tokens": 0} for result in results]
    frame = batch[list(tables.CANDIDATES.key)].reset_index(drop=True)
    frame = frame.assign(truncated=[row["truncated"] for row in known], tokens=[row["tokens"] for row in known])
    lists = {
        column.name: pd.Series(
            pd.arrays.ArrowExtensionArray(
                pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(states[:, place]).ravel()), width, mask=failed)
            )
        )
        for place, column in enumerate(columns)
    }
    return pd.concat([frame, pd.DataFrame(lists)], axis=1)


class FeatureTable:
    """A table of hidden states, read a column at a time.

    Attributes:
        keys: (sample_id, attempt) of each row.
        truncated, tokens: see `schema`.
        layers: number of layers.
        poolings: those that are stored.

    Raises:
        InputError: the file is no such table.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        origin = tables.provenance(path)
        if origin.get("schema") != "features":
            raise InputError(f"{path}: no table of hidden states; delete the file, and the next run makes it anew")
        self.poolings: list[str] = json.loads(origin["spec"])["poolings"]
        self.layers = sum(name.startswith(PREFIX) for name in tables.names(path)) // len(self.poolings)
        head = tables.read_columns(path, [*tables.CANDIDATES.key, "truncated", "tokens"])
        self.keys: list[Key] = list(zip(head["sample_id"].to_pylist(), head["attempt"].to_pylist(), strict=True))
        self.truncated, self.tokens = head["truncated"].to_numpy(), head["tokens"].to_numpy()

    def states(self, layer: int, pooling: str) -> np.ndarray:
        """float32, shape (rows, width), four times as wide for `concat`; not a number for an answer that failed."""
        return side_by_side(lambda each: self._stored(layer, each), pooling)

    def _stored(self, layer: int, pooling: str) -> np.ndarray:
        name = _column(layer, pooling)
        lists = tables.read_columns(self.path, [name])[name].combine_chunks()
        there = lists.is_valid().to_numpy(zero_copy_only=False)
        found = np.full((len(lists), lists.type.list_size), np.nan, np.float32)
        found[there] = lists.flatten().to_numpy(zero_copy_only=False).reshape(-1, lists.type.list_size)
        return found


def side_by_side(stored: Callable[[str], np.ndarray], pooling: str) -> np.ndarray:
    """Vectors of a pooling, given those of the stored ones; shape (rows, width or four times width)."""
    return np.concatenate([stored(each) for each in BASIC_POOLINGS], axis=1) if pooling == "concat" else stored(pooling)


def _column(layer: int, pooling: str) -> str:
    return f"{PREFIX}{layer}_{pooling}"
