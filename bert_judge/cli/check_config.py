"""`bert-judge check`: validate a configuration."""

from pathlib import Path
from typing import Annotated

import typer

from bert_judge import plan
from bert_judge.cli.options import DataFolder, Settings, parse_settings
from bert_judge.cli.terminal import echo
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
    planned = plan.build_plan(config_files.deep_merge(raw, parse_settings(settings, data)), files)
    counts = {
        "model": len(planned.models),
        "task": len(planned.tasks),
        "judge": len(planned.config.judges),
        "dataset": len(planned.config.datasets),
        "score table": len(planned.score_tables),
    }
    echo("OK: " + ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts.items()))
