"""Finished work of a job that may be killed: small parquet shards in a folder of their own, found again by their content key.

Snakemake deletes a job's declared outputs before it starts and after it fails, so shards live in an undeclared folder
(`results/.work/…`). A row whose key is in a shard is never computed twice; a killed job loses at most the shard it was filling.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from bert_judge import tables

Item = TypeVar("Item")
log = logging.getLogger(__name__)


def content_key(*parts: Hashable) -> str:
    """A key of 32 hex digits that depends on the parts' content only."""
    return hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def run(
    items: Sequence[Item],
    keys: Sequence[str],
    work: Callable[[Sequence[Item]], Sequence[Mapping[str, Any]]],
    folder: str | Path,
    shard_rows: int,
    what: str = "rows",
) -> list[Mapping[str, Any]]:
    """Work through items shard by shard, skipping what earlier shards hold.

    Args:
        items, keys: what is to be done, and the content key of each item.
        work: gives one result (plain values) per item of a shard.
        folder: where the shards lie; made when missing.
        shard_rows: items per shard, the most that a kill can lose.
        what: name of the items in progress lines.

    Returns:
        One result per item, in the items' order. Items with equal keys share one result.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    done = _load(folder)
    first = dict(zip(reversed(keys), reversed(items), strict=True))
    missing = [(key, item) for key, item in reversed(first.items()) if key not in done]
    if len(first) > len(missing):
        log.info("%d of %d %s are there already", len(first) - len(missing), len(first), what)
    started = time.monotonic()
    for start in range(0, len(missing), shard_rows):
        shard = missing[start : start + shard_rows]
        results = {key: result for (key, _), result in zip(shard, work([item for _, item in shard]), strict=True)}
        _save(folder, results)
        done |= results
        finished = start + len(shard)
        rate = finished / max(time.monotonic() - started, 1e-9)
        log.info("%d/%d %s, %.1f/s, %.0f s left", finished, len(missing), what, rate, (len(missing) - finished) / rate)
    return [done[key] for key in keys]


def work_folder(output: str | Path, root: str | Path = "results") -> Path:
    """Where the unfinished work on an output lies: `results/.work/{stage}/{key}` for `results/{stage}/{key}.parquet`."""
    path = Path(output).relative_to(root)
    return Path(root, ".work", path.with_suffix("") if path.suffix == ".parquet" else path)


def clear(folder: str | Path) -> None:
    """Delete the shards of a job whose table is written."""
    shutil.rmtree(folder, ignore_errors=True)


def _save(folder: Path, results: Mapping[str, Mapping[str, Any]]) -> None:
    table = pa.Table.from_pylist([{"key": key, **result} for key, result in results.items()])
    with tables.atomic(folder / f"{content_key(*results)}.parquet") as temporary:
        pq.write_table(table, temporary)


def _load(folder: Path) -> dict[str, Mapping[str, Any]]:
    done: dict[str, Mapping[str, Any]] = {}
    for path in sorted(folder.glob("[0-9a-f]*.parquet")):
        table = pq.read_table(path)
        done |= {row.pop("key"): row for row in table.to_pylist()}
    return done
