"""`bert-judge check` and `config`: validate a configuration, and print the files generated from its model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from bert_judge import plan
from bert_judge.cli.options import DataFolder, Settings, parse_settings
from bert_judge.config import docs
from bert_judge.config import files as config_files
from bert_judge.runtime.errors import ConfigError


def check(
    files: Annotated[list[Path], typer.Argument(help="Configuration files; later ones override earlier ones.")],
    settings: Settings = None,
    data: DataFolder = None,
) -> None:
    """Validate a configuration as every run does before its first job; report every error, or count what a run would produce."""
    files = [config_files.find(path, must_exist=False) for path in files]
    # A file with a repeated key still has content to check; invalid YAML has none.
    raw = config_files.merge(files)
    if not raw:
        empty = f"{', '.join(map(str, files))}: empty; a configuration has models, tasks and judges"
        raise ConfigError(config_files.problems(files) or [empty])
    raw |= parse_settings(settings, data)
    planned = plan.build_plan(raw, files)
    counts = {
        "model": len(planned.models),
        "task": len(planned.tasks),
        "judge": len(planned.config.judges),
        "dataset": len(planned.config.datasets),
        "score table": len(planned.score_tables),
    }
    typer.echo("OK: " + ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts.items()))


def config(
    file: Annotated[Literal["schema", "docs"], typer.Argument(help="The JSON schema, or the reference in docs/.")],
    write: Annotated[bool, typer.Option("--write", help="Write the file in this repository instead of printing it.")] = False,
) -> None:
    """Print or write a file generated from the configuration model."""
    if write:
        typer.echo(f"wrote {docs.write(file)}")
    else:
        typer.echo(docs.generate(file), nl=False)
