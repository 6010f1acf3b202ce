"""`bert-judge check`: the check that every run makes before its first job, on its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bert_judge import plan
from bert_judge.config import files as config_files
from bert_judge.runtime.errors import ConfigError


def check(files: Sequence[Path], data: Path | None = None) -> str:
    """One line that counts what a run of the configuration makes.

    Raises:
        ConfigError: one line per fault, of the files and of what they hold.
    """
    # A file with a repeated key still has contents worth checking; one that is no YAML has none.
    raw = config_files.merge(files)
    if not raw:
        empty = f"{', '.join(map(str, files))}: empty; a configuration has models, tasks and judges"
        raise ConfigError(config_files.faults(files) or [empty])
    if data is not None:
        raw["data"] = str(data)
    made = plan.make(raw, files)
    counts = {
        "model": len(made.models),
        "task": len(made.tasks),
        "judge": len(made.config.judges),
        "dataset": len(made.config.datasets),
        "score table": len(made.score_tables),
    }
    return "OK: " + ", ".join(f"{count} {name}{'' if count == 1 else 's'}" for name, count in counts.items())
