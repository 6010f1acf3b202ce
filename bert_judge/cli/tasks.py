"""`bert-judge tasks`: list named tasks, and check that their datasets match what the sources expect."""

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

CheckResult = tuple[bool, str]


def list_tasks() -> Iterator[str]:
    """Yield one line per named task: its family and its source."""
    lines = {name: (find(name).family, "built in") for name in names()}
    lines |= {name: (source.family, _origin(source)) for name, source in published_sources().items()}
    width = max(map(len, lines))
    for name, (family, origin) in sorted(lines.items()):
        yield f"{name:<{width}}  {family:<15}  {origin}"


def _origin(source: TaskSource) -> str:
    configs = source.config or []
    config = configs[0] if len(configs) == 1 else f"{len(configs)} configurations" if configs else ""
    return ", ".join(filter(None, [source.repository or source.path, config, source.split if source.repository else ""]))


def check_tasks(selected: Sequence[str], configurations: Sequence[Path], rows: int) -> Iterator[CheckResult]:
    """Download datasets and map their first rows, as a run would; yield (valid, line) for each task.

    The files stay in the hub's cache, so `prepare` does not download them again.

    Args:
        selected: task names. Default: all published tasks, or all tasks of the configuration that have a dataset.
        configurations: files of a configuration whose sources are included.
        rows: number of rows to map.

    Raises:
        InputError: the configuration is invalid, or a task has no dataset.
    """
    planned = plan.build_plan(config_files.load(configurations)) if configurations else None
    sources: Mapping[str, TaskSource] = published_sources()
    task_names = list(selected)
    if planned is not None:
        sources = {**sources, **planned.config.tasks.sources}
        task_names = task_names or [name for name in planned.tasks if name in sources]
    for name in task_names or sources:
        if name not in sources:
            raise InputError(f"tasks check: {name!r} has no dataset; tasks with one: {', '.join(sources)}")
    for name in task_names or sources:
        try:
            yield True, f"{name}: OK: {_check_task(name, sources[name], planned, rows)}"
        except InputError as error:
            yield False, f"{name}: {error}"


def _check_task(name: str, source: TaskSource, planned: plan.Plan | None, rows: int) -> str:
    """Describe what the first rows of a dataset give."""
    spec = source.model_dump(mode="json", exclude={"path"})
    if source.path is not None:
        assert planned is not None
        files, version = [path for path in [planned.source_path(name)] if path], "its current content"
    else:
        files, version = _download(spec)
    columns, list_columns = source_samples.needed_columns(spec)
    first = list(islice(source_samples.read_rows(files, columns, list_columns), rows))
    samples = list(source_samples.map_rows(name, spec, first))
    return f"{_origin(source)} at {version}: the first {len(first)} rows give {len(samples)} questions"


def _download(spec: Mapping[str, Any]) -> tuple[list[Path], str]:
    """Download a dataset and return its files and revision."""
    data_set = {"config": spec["config"], "split": spec["split"]}
    with tempfile.TemporaryDirectory() as folder:
        manifest_path = Path(folder) / "manifest.json"
        prepare({"repository": spec["repository"], "revision": spec["revision"], "data_set": data_set}, manifest_path)
        manifest = load_manifest(manifest_path)
    return [manifest.path / file.name for file in manifest.files], manifest.revision
