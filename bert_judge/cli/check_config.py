"""`bert-judge check`: validate a configuration as every run does before its first job."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bert_judge import plan
from bert_judge.config import files as config_files
from bert_judge.runtime.errors import ConfigError


def check(files: Sequence[Path], data: Path | None = None) -> str:
    """Validate a configuration and return one line that counts what a run would produce.

    Raises:
        ConfigError: one line per error in the files and their content.
    """
    # A file with a repeated key still has content to check; invalid YAML has none.
    raw = config_files.merge(files)
    if not raw:
        empty = f"{', '.join(map(str, files))}: empty; a configuration has models, tasks and judges"
        raise ConfigError(config_files.problems(files) or [empty])
    if data is not None:
        raw["data"] = str(data)
    planned = plan.build_plan(raw, files)
    counts = {
        "model": len(planned.models),
        "task": len(planned.tasks),
        "judge": len(planned.config.judges),
        "dataset": len(planned.config.datasets),
        "score table": len(planned.score_tables),
    }
    return "OK: " + ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts.items())
