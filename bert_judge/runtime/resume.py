"""Resumable work: results are saved in small parquet shards and looked up by content key, so a rerun computes only what is missing.

Snakemake deletes a job's declared outputs before it starts and after it fails, so shards live in an undeclared folder
(`results/.work/…`). A killed job loses at most the shard it was filling, and what was computed ahead.

One job may produce several tables of a model (a `Batch`), so that an expensive model is loaded once. It writes a manifest, and a
light job then writes each table from the shards, so that every table stays a target of its own.

On SIGTERM, long work checks `stop_requested` and ends at the next point where nothing is lost. SLURM sends it before pre-emption,
at the time limit and on `scancel`; SIGKILL follows after the cluster's grace time.
"""

import hashlib
import json
import logging
import shutil
import signal
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

from bert_judge.runtime import outputs
from bert_judge.runtime.logs import ProgressLogger

# The status a shell reports for a process that SIGTERM ended. Schedulers treat it as a failure, so the job can be rerun.
EXIT_STATUS = 128 + signal.SIGTERM

_received: list[int] = []


class Stopped(Exception):
    """Work stopped in the middle of a shard because of SIGTERM.

    Attributes:
        results: position in the shard → its result; the next run computes the missing ones.
    """

    def __init__(self, results: Mapping[int, Any]) -> None:
        self.results = dict(results)
        super().__init__(f"stopped with {len(self.results)} results")


@contextmanager
def defer_sigterm() -> Iterator[None]:
    """Record SIGTERM for `stop_requested` instead of ending at once; a second SIGTERM has its original effect.

    No effect outside the main thread, where Python allows no signal handlers.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    original = signal.getsignal(signal.SIGTERM) or signal.SIG_DFL

    def record(number: int, _: object) -> None:
        _received.append(number)
        signal.signal(number, original)

    signal.signal(signal.SIGTERM, record)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, original)
        _received.clear()


def stop_requested() -> bool:
    """Return whether SIGTERM arrived inside `defer_sigterm`."""
    return bool(_received)


def stop(progress: str) -> NoReturn:
    """End the process once all results are saved. Raises SystemExit: with `EXIT_STATUS`."""
    log.warning("stopped by SIGTERM after %s; the next run resumes from here", progress)
    raise SystemExit(EXIT_STATUS)


# --- shards ---

Item = TypeVar("Item")
log = logging.getLogger(__name__)


def content_key(*values: Hashable) -> str:
    """Return a key of 32 hex digits that depends on the content of the values only."""
    return hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def run_resumable(
    items: Sequence[Item],
    keys: Sequence[str],
    compute: Callable[[Sequence[Sequence[Item]]], Iterable[Sequence[Mapping[str, Any]]]],
    folder: str | Path,
    *,
    shard_rows: int,
    unit: str = "rows",
    should_cache: Callable[[Mapping[str, Any]], bool] = lambda _: True,
    is_valid: Callable[[Mapping[str, Any]], bool] = lambda _: True,
) -> list[Mapping[str, Any]]:
    """Process items shard by shard, skipping those whose results an earlier run saved.

    Args:
        compute: yields for each shard one result (plain values) per item; `partial(map, function)` for a function of one shard.
            Long work checks `stop_requested` and raises `Stopped` with its results so far.
        shard_rows: items per shard, the most that a kill can lose if nothing is computed ahead.
        should_cache: whether to save a result; others (transient failures) are computed again by the next run.
        is_valid: whether a saved result may be used; others are computed again.

    Returns:
        One result per item, in order. Items with equal keys share one result.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    results = load(folder, set(keys), is_valid)
    distinct: dict[str, Item] = {}
    for key, item in zip(keys, items, strict=True):
        distinct.setdefault(key, item)
    pending = [(key, item) for key, item in distinct.items() if key not in results]
    if len(distinct) > len(pending):
        log.info("%d of %d %s are already done", len(distinct) - len(pending), len(distinct), unit)
    progress = ProgressLogger(unit, len(pending), emit=log.info)

    def save(shard_results: Mapping[str, Mapping[str, Any]]) -> None:
        save_shard(folder, {key: result for key, result in shard_results.items() if should_cache(result)})

    with defer_sigterm():
        shards = [pending[start : start + shard_rows] for start in range(0, len(pending), shard_rows)]
        computed = iter(compute([[item for _, item in shard] for shard in shards]) if shards else ())
        for number, shard in enumerate(shards):
            start = number * shard_rows
            if stop_requested():
                stop(f"{start} of {len(pending)} {unit}")
            try:
                shard_results = {key: result for (key, _), result in zip(shard, next(computed, ()), strict=True)}
            except Stopped as stopped:
                save({shard[position][0]: result for position, result in stopped.results.items()})
                stop(f"{start + len(stopped.results)} of {len(pending)} {unit}")
            save(shard_results)
            results |= shard_results
            progress.update(start + len(shard))
    return [results[key] for key in keys]


def work_folder(output: str | Path) -> Path:
    """Return the folder of an output's shards: `results/.work/{stage}/{key}` for `results/{stage}/{key}.parquet`."""
    path = Path(output).relative_to("results")
    return Path("results", ".work", path.with_suffix("") if path.suffix == ".parquet" else path)


def store_folder(model: str, root: str | Path = "results") -> Path:
    """Return the folder of all answers of a model, shared by all tables."""
    return Path(root, ".work", "store", model)


def clear(folder: str | Path) -> None:
    """Delete the shards of a job whose output is written."""
    shutil.rmtree(folder, ignore_errors=True)


def save_shard(folder: str | Path, results: Mapping[str, Mapping[str, Any]]) -> None:
    """Write a shard of results by content key; no file if there are none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if not results:
        return
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist([{"key": key, **result} for key, result in results.items()])
    with outputs.atomic(folder / f"{content_key(*results)}.parquet") as temporary:
        pq.write_table(table, temporary)


def load(folder: Path, keys: Set[str], is_valid: Callable[[Mapping[str, Any]], bool]) -> dict[str, Mapping[str, Any]]:
    """Read the valid results with these keys; a shared store may contain many others, which are not loaded."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    outputs.remove_leftovers(folder)
    results: dict[str, Mapping[str, Any]] = {}
    for path in sorted(folder.glob("[0-9a-f]*.parquet")):
        try:
            if keys.isdisjoint(pq.read_table(path, columns=["key"])["key"].to_pylist()):
                continue
            rows = pq.read_table(path).to_pylist()
        except (pa.ArrowInvalid, OSError):
            # Left by a full disk or a crashed machine; its rows are computed again.
            log.warning("%s is damaged; its rows are computed again", path)
            continue
        results |= {key: row for row in rows if (key := row.pop("key")) in keys and is_valid(row)}
    return results


def forget(folder: Path, keys: Set[str]) -> None:
    """Remove the results with these keys from all shards, so that the next run computes them again."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for path in folder.glob("[0-9a-f]*.parquet"):
        try:
            table = pq.read_table(path)
        except (pa.ArrowInvalid, OSError):
            # `load` has warned about it.
            continue
        others = [key not in keys for key in table["key"].to_pylist()]
        if not any(others):
            path.unlink()
        elif not all(others):
            with outputs.atomic(path) as temporary:
                pq.write_table(table.filter(pa.array(others)), temporary)


class Batch(NamedTuple):
    """Tables of one model whose answers one job generates, or that one job labels with a judge.

    Attributes:
        specs: task → the specs of its answers and of its questions, and of its labels.
        inputs: input files by name: `source {task}` and `manifest {task}` for answers, `answers {task}` for labels.
    """

    specs: Mapping[str, Mapping[str, Any]]
    inputs: Mapping[str, str]

    @property
    def name(self) -> str:
        """16 hex digits that depend on the specs only."""
        return content_key(outputs.canonical(self.specs))[:16]


def write_manifest(batch: Batch, path: str | Path) -> None:
    """Record a finished batch."""
    outputs.write_json(path, batch._asdict())


def read_manifests(folder: str | Path) -> dict[str, Batch]:
    """Read the finished batches of a folder, by name; other JSON files are skipped."""
    batches = {path.stem: _read_manifest(path) for path in sorted(Path(folder).glob("*.json"))}
    return {name: batch for name, batch in batches.items() if batch is not None}


def _read_manifest(path: Path) -> Batch | None:
    try:
        return Batch(**json.loads(path.read_text("utf-8")))
    except (ValueError, TypeError):
        return None
