"""Finished work of a job that may be killed: small parquet shards in a folder of their own, found again by their content key.

Snakemake deletes a job's declared outputs before it starts and after it fails, so shards live in an undeclared folder
(`results/.work/…`). A row whose key is in a shard is never computed twice; a killed job loses at most the shard it was filling.
"""

from __future__ import annotations

import hashlib
import logging
import shutil
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from bert_judge import tables
from bert_judge.runtime import sigterm

Item = TypeVar("Item")
log = logging.getLogger(__name__)

# Least time between two progress lines.
PROGRESS_SECONDS = 10.0


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
    lasting: Callable[[Mapping[str, Any]], bool] = lambda _: True,
) -> list[Mapping[str, Any]]:
    """Work through items shard by shard, skipping what earlier shards hold.

    Args:
        items, keys: what is to be done, and the content key of each item.
        work: gives one result (plain values) per item of a shard. Long work looks at `stopping.asked` now and then, and raises
            `stopping.Stopped` with what it has.
        folder: where the shards lie; made when missing.
        shard_rows: items per shard, the most that a kill can lose.
        what: name of the items in progress lines.
        lasting: whether a result is worth keeping; one that is not (a failure that may pass) is tried again by the next run.

    Returns:
        One result per item, in the items' order. Items with equal keys share one result.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    done = _load(folder, set(keys))
    first: dict[str, Item] = {}
    for key, item in zip(keys, items, strict=True):
        first.setdefault(key, item)
    open_items = [(key, item) for key, item in first.items() if key not in done]
    if len(first) > len(open_items):
        log.info("%d of %d %s are there already", len(first) - len(open_items), len(first), what)
    progress = _Progress(len(open_items), what)
    with sigterm.sigterm_waits():
        for start in range(0, len(open_items), shard_rows):
            if sigterm.asked():
                sigterm.stop(f"{start} of {len(open_items)} {what}")
            shard = open_items[start : start + shard_rows]
            try:
                results = {key: result for (key, _), result in zip(shard, work([item for _, item in shard]), strict=True)}
            except sigterm.Stopped as early:
                save(folder, {shard[place][0]: result for place, result in early.done.items() if lasting(result)})
                sigterm.stop(f"{start + len(early.done)} of {len(open_items)} {what}")
            save(folder, {key: result for key, result in results.items() if lasting(result)})
            done |= results
            progress.show(start + len(shard))
    return [done[key] for key in keys]


class _Progress:
    """Log lines that are rare enough not to flood the log; the last one always comes."""

    def __init__(self, total: int, what: str) -> None:
        self.total, self.what = total, what
        self.started = self.shown = time.monotonic()

    def show(self, finished: int) -> None:
        now = time.monotonic()
        if finished < self.total and now - self.shown < PROGRESS_SECONDS:
            return
        self.shown = now
        rate = finished / max(now - self.started, 1e-9)
        log.info("%d/%d %s, %.1f/s, %.0f s left", finished, self.total, self.what, rate, (self.total - finished) / rate)


def work_folder(output: str | Path, root: str | Path = "results") -> Path:
    """Where the unfinished work on an output lies: `results/.work/{stage}/{key}` for `results/{stage}/{key}.parquet`."""
    path = Path(output).relative_to(root)
    return Path(root, ".work", path.with_suffix("") if path.suffix == ".parquet" else path)


def clear(folder: str | Path) -> None:
    """Delete the shards of a job whose table is written."""
    shutil.rmtree(folder, ignore_errors=True)


def store_folder(model: str, root: str | Path = "results") -> Path:
    """Where all answers lie that a model ever gave, whatever table asked for them."""
    return Path(root, ".work", "store", model)


def save(folder: str | Path, results: Mapping[str, Mapping[str, Any]]) -> None:
    """Write a shard: content key → result. Of no results there is no shard."""
    if not results:
        return
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist([{"key": key, **result} for key, result in results.items()])
    with tables.atomic(folder / f"{content_key(*results)}.parquet") as temporary:
        pq.write_table(table, temporary)


def missing(folder: str | Path, keys: Iterable[str]) -> list[str]:
    """Those of the keys, in their order, that no shard holds."""
    wanted = dict.fromkeys(keys)
    done = _load(Path(folder), set(wanted))
    return [key for key in wanted if key not in done]


def _load(folder: Path, wanted: Set[str]) -> dict[str, Mapping[str, Any]]:
    """The results with the wanted keys; a store may hold many others, which stay on the disk."""
    done: dict[str, Mapping[str, Any]] = {}
    for path in sorted(folder.glob("[0-9a-f]*.parquet")):
        try:
            if wanted.isdisjoint(pq.read_table(path, columns=["key"])["key"].to_pylist()):
                continue
            rows = pq.read_table(path).to_pylist()
        except (pa.ArrowInvalid, OSError) as error:
            # Of a full disk or a crashed machine; what it held is done again.
            log.warning("%s is not readable and is left out: %s", path, " ".join(str(error).split()))
            continue
        done |= {key: row for row in rows if (key := row.pop("key")) in wanted}
    return done
