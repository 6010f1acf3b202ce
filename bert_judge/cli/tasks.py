"""`bert-judge tasks`: list named tasks, and check that their datasets match what the sources expect."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from bert_judge import plan
from bert_judge.assets.prepare import load_manifest, prepare
from bert_judge.cli.options import DataFolder, Settings, read_config
from bert_judge.config import TaskSource
from bert_judge.runtime.errors import InputError
from bert_judge.tasks import find, source_samples
from bert_judge.tasks import names as built_in_names
from bert_judge.tasks.registry import published_sources

app = typer.Typer(help="List and check tasks.", no_args_is_help=True)


@app.command("list")
def list_tasks() -> None:
    """List all named tasks with their family and source."""
    lines = {name: (find(name).family, "built in") for name in built_in_names()}
    lines |= {name: (source.family, _origin(source)) for name, source in published_sources().items()}
    width = max(map(len, lines))
    for name, (family, origin) in sorted(lines.items()):
        typer.echo(f"{name:<{width}}  {family:<15}  {origin}")


def _origin(source: TaskSource) -> str:
    configs = source.config or []
    config = configs[0] if len(configs) == 1 else f"{len(configs)} configurations" if configs else ""
    return ", ".join(filter(None, [source.repository or source.path, config, source.split if source.repository else ""]))


@app.command("check")
def check_tasks(
    names: Annotated[list[str] | None, typer.Argument(help="Task names; default: all that have a dataset.")] = None,
    configfile: Annotated[
        list[Path] | None, typer.Option("--configfile", "-c", help="Configuration whose sources are checked too.")
    ] = None,
    settings: Settings = None,
    data: DataFolder = None,
    rows: Annotated[int, typer.Option(min=1, help="Number of rows to map per dataset.")] = 100,
) -> None:
    """Download datasets, as `prepare` does, and check that their first rows give questions. Needs a network or copies.

    The files stay in the hub's cache, so `prepare` does not download them again.
    """
    planned = None
    if configfile:
        files, raw = read_config(configfile, settings, data)
        planned = plan.build_plan(raw, files)
    sources: Mapping[str, TaskSource] = published_sources()
    task_names = names or []
    if planned is not None:
        sources = {**sources, **planned.config.tasks.sources}
        task_names = task_names or [name for name in planned.tasks if name in sources]
    for name in task_names:
        if name not in sources:
            raise InputError(f"tasks check: {name!r} has no dataset; tasks with one: {', '.join(sources)}")
    all_valid = True
    for name in task_names or sources:
        try:
            typer.echo(f"{name}: OK: {_check_task(name, sources[name], planned, rows)}")
        except InputError as error:
            all_valid = False
            typer.echo(f"{name}: {error}", err=True)
    if not all_valid:
        raise typer.Exit(1)


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
