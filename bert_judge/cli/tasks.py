"""`bert-judge tasks`: which tasks are known by name, and whether the data sets behind them are what the sources expect."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from bert_judge import plan
from bert_judge.assets.prepare import load_manifest, prepare
from bert_judge.config import TaskSource
from bert_judge.config import files as config_files
from bert_judge.runtime.errors import InputError
from bert_judge.tasks import find, names, source_samples
from bert_judge.tasks.sources import published_sources

Line = tuple[bool, str]


def listed() -> Iterator[str]:
    """One line per task that a configuration may name: its family and where its questions come from."""
    lines = {name: (find(name).family, "written for this project") for name in names()}
    lines |= {name: (source.family, _origin(source)) for name, source in published_sources().items()}
    width = max(map(len, lines))
    for name, (family, origin) in sorted(lines.items()):
        yield f"{name:<{width}}  {family:<15}  {origin}"


def _origin(source: TaskSource) -> str:
    configs = source.config or []
    config = configs[0] if len(configs) == 1 else f"{len(configs)} configurations" if configs else ""
    return ", ".join(filter(None, [source.repository or source.path, config, source.split if source.repository else ""]))


def checked(chosen: Sequence[str], configurations: Sequence[Path], rows: int) -> Iterator[Line]:
    """Fetch data sets and map their first rows, as a run would; yields (sound, line) for each task.

    The files stay in the hub's cache, so that `prepare` need not fetch them again.

    Args:
        chosen: names of tasks; none for all published ones, or for all of the configuration that have a data set.
        configurations: files of a configuration whose own sources are known too.
        rows: how many rows to map.

    Raises:
        InputError: the configuration has faults, or no such task has a data set.
    """
    made = plan.make(config_files.load(configurations)) if configurations else None
    known: Mapping[str, TaskSource] = published_sources()
    asked = list(chosen)
    if made is not None:
        known = {**known, **made.config.tasks.sources}
        asked = asked or [name for name in made.tasks if name in known]
    for name in asked or known:
        if name not in known:
            raise InputError(f"tasks check: {name!r} has no data set; those that have one: {', '.join(known)}")
    for name in asked or known:
        try:
            yield True, f"{name}: OK: {_one(name, known[name], made, rows)}"
        except InputError as error:
            yield False, f"{name}: {error}"


def _one(name: str, source: TaskSource, made: plan.Plan | None, rows: int) -> str:
    """What the first rows of a data set give."""
    spec = source.model_dump(mode="json", exclude={"path"})
    if source.path is not None:
        assert made is not None
        files, version = [path for path in [made.source_path(name)] if path], "its present content"
    else:
        files, version = _prepared(spec)
    needed, lists = source_samples.needed_columns(spec)
    first = list(islice(source_samples.read_rows(files, needed, lists), rows))
    samples = list(source_samples.map_rows(name, spec, first))
    return f"{_origin(source)} at {version}: the first {len(first)} rows give {len(samples)} questions"


def _prepared(spec: Mapping[str, Any]) -> tuple[list[Path], str]:
    """The files of a data set, and its revision."""
    data_set = {"config": spec["config"], "split": spec["split"]}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "manifest.json"
        prepare({"repository": spec["repository"], "revision": spec["revision"], "data_set": data_set}, place)
        manifest = load_manifest(place)
    return [manifest.path / file.name for file in manifest.files], manifest.revision
