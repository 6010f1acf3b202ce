"""The stage that extracts hidden states of a candidate table, and the tables of hidden states that it writes.

A table has a row per answer and a column per layer and pooling, so that a single layer can be read without the rest of the file.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyarrow as pa

from bert_judge import tables
from bert_judge.judges.probe import BASIC_POOLINGS
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError

if TYPE_CHECKING:
    from bert_judge.judges.probe.hidden_states import HiddenStateExtractor

log = logging.getLogger(__name__)

# States held in memory at once; a kill loses at most one shard of these.
BATCH_BYTES, SHARDS_PER_BATCH = 256_000_000, 8
COLUMN_PREFIX = "layer_"


def feature_schema(layers: int, poolings: Sequence[str], width: int, dtype: str) -> tables.Schema:
    """Return the schema of a table of hidden states; states of an answer whose generation failed are null."""
    number = pa.from_numpy_dtype(np.dtype(dtype))
    states = tuple(
        tables.Column(_column(layer, pooling), pa.list_(number, width), f"layer {layer}, {pooling} of the tokens", nullable=True)
        for layer in range(layers)
        for pooling in poolings
    )
    keys = tuple(column for column in tables.CANDIDATES.columns if column.name in tables.CANDIDATES.key)
    truncated = tables.Column("truncated", "boolean", "the prompt was truncated")
    tokens = tables.Column("tokens", "int32", "tokens of the prompt")
    return tables.Schema("features", 1, tables.CANDIDATES.key, (*keys, truncated, tokens, *states))


def extract_features(
    spec: Mapping[str, Any],
    candidates: str | Path,
    output: str | Path,
    extractor: HiddenStateExtractor,
    revision: str,
    work_folder: str | Path,
    batch_bytes: int = BATCH_BYTES,
) -> None:
    """Write the hidden states of every answer of a candidate table, of which at most `batch_bytes` are in memory at once."""
    layers, poolings, width = extractor.shape
    assert poolings == len(spec["poolings"])
    schema = feature_schema(layers, spec["poolings"], width, spec["storage_dtype"])
    batch_rows = max(1, batch_bytes // extractor.row_bytes)
    # The states depend on these values, besides the answer.
    origin = {name: value for name, value in spec.items() if name not in ("features", "model", "task")}
    origin_key = tables.canonical({**origin, "revision": revision})

    def frames() -> Iterator[pd.DataFrame]:
        for number, batch in enumerate(tables.read_batches(candidates, tables.CANDIDATES, batch_rows)):
            shards = Path(work_folder) / f"{number:05d}"
            results = _extract_batch(batch, extractor, origin_key, shards, max(1, batch_rows // SHARDS_PER_BATCH))
            yield _to_frame(batch, results, schema, spec["storage_dtype"])

    tables.write_parts(frames(), output, schema, spec, revisions={spec["backbone"]: revision})
    resume.clear(work_folder)


def _extract_batch(
    batch: pd.DataFrame, extractor: HiddenStateExtractor, origin_key: str, folder: Path, shard_rows: int
) -> list[Mapping[str, Any] | None]:
    failed = (batch["status"] == "error").tolist()
    pairs = list(batch.loc[batch["status"] != "error", ["question", "candidate"]].itertuples(index=False, name=None))

    def compute(shard: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
        pooled = extractor.extract([question for question, _ in shard], [candidate for _, candidate in shard])
        columns = zip(pooled.states, pooled.truncated.tolist(), pooled.tokens.tolist(), strict=True)
        return [{"states": states.tobytes(), "truncated": truncated, "tokens": tokens} for states, truncated, tokens in columns]

    keys = [resume.content_key(origin_key, *pair) for pair in pairs]
    results = iter(
        resume.run_resumable(pairs, keys, partial(map, compute), folder, shard_rows=shard_rows, unit="answers") if pairs else []
    )
    return [None if is_failed else next(results) for is_failed in failed]


def _to_frame(batch: pd.DataFrame, results: list[Mapping[str, Any] | None], schema: tables.Schema, dtype: str) -> pd.DataFrame:
    fields = [field for field in schema.arrow() if pa.types.is_fixed_size_list(field.type)]
    width = fields[0].type.list_size
    failed = {"states": bytes(len(fields) * width * np.dtype(dtype).itemsize), "truncated": False, "tokens": 0}
    rows = pd.DataFrame([result or failed for result in results], columns=list(failed))
    states = np.frombuffer(b"".join(rows["states"]), dtype).reshape(len(rows), len(fields), width)
    is_failed = pa.array([result is None for result in results], pa.bool_())
    lists = {}
    for index, field in enumerate(fields):
        values = pa.array(np.ascontiguousarray(states[:, index]).ravel())
        lists[field.name] = pd.arrays.ArrowExtensionArray(pa.FixedSizeListArray.from_arrays(values, width, mask=is_failed))
    identity = batch[list(tables.CANDIDATES.key)].reset_index(drop=True)
    return pd.concat([identity, rows[["truncated", "tokens"]], pd.DataFrame(lists)], axis=1)


class FeatureTable:
    """A table of hidden states, read by column; `keys`: (sample_id, attempt) of each row. Raises InputError: it is none."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        provenance = tables.provenance(path)
        if provenance.get("schema") != "features":
            raise InputError(f"{path}: not a table of hidden states; delete the file and run again")
        self.poolings: list[str] = json.loads(provenance["spec"])["poolings"]
        self.layers = sum(name.startswith(COLUMN_PREFIX) for name in tables.names(path)) // len(self.poolings)
        rows = tables.read_columns(path, [*tables.CANDIDATES.key, "truncated", "tokens"])
        self.keys: list[tuple[str, int]] = list(zip(rows["sample_id"].to_pylist(), rows["attempt"].to_pylist(), strict=True))
        self.truncated, self.tokens = rows["truncated"].to_numpy(), rows["tokens"].to_numpy()

    def states(self, layer: int, pooling: str) -> np.ndarray:
        """Read float32 states, shape (rows, width), or (rows, 4 * width) for `concat`; NaN for a failed answer."""
        return combine_poolings(lambda stored: self._read_column(layer, stored), pooling)

    def _read_column(self, layer: int, pooling: str) -> np.ndarray:
        name = _column(layer, pooling)
        lists = tables.read_columns(self.path, [name])[name].combine_chunks()
        valid = lists.is_valid().to_numpy(zero_copy_only=False)
        states = np.full((len(lists), lists.type.list_size), np.nan, np.float32)
        states[valid] = lists.flatten().to_numpy(zero_copy_only=False).reshape(-1, lists.type.list_size)
        return states


def combine_poolings(read_states: Callable[[str], np.ndarray], pooling: str) -> np.ndarray:
    """Return the states of a pooling; `concat` concatenates all stored poolings, shape (rows, 4 * width)."""
    if pooling == "concat":
        return np.concatenate([read_states(stored) for stored in BASIC_POOLINGS], axis=1)
    return read_states(pooling)


def _column(layer: int, pooling: str) -> str:
    return f"{COLUMN_PREFIX}{layer}_{pooling}"
