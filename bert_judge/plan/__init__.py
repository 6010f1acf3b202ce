"""Resolve a configuration into a plan: the models, the tables, and the specification of each table."""

import copy
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bert_judge.config import files as config_files
from bert_judge.judges.registry import Spec
from bert_judge.plan import checks
from bert_judge.plan.configuration import ATTACKS, add_suited_judges, expand_models, parse
from bert_judge.plan.graph import Plan
from bert_judge.runtime.errors import ConfigError

__all__ = ["ATTACKS", "STAGE_VERSIONS", "Plan", "Spec", "build_plan"]

# Increase a version when the meaning of the stage's output changes; the workflow then reruns the stage.
STAGE_VERSIONS = {
    "prepared": 1,
    "task": 1,
    "candidates": 3,
    "dataset": 6,
    "overlap": 1,
    "features": 1,
    "filtered": 1,
    "student": 1,
    "cascade": 1,
    "scores": 2,
    "standings": 7,
    "audit": 6,
    "attacks": 1,
    "pairs": 1,
    "ranks": 2,
    "report": 1,
}


def build_plan(raw: Mapping[str, Any], paths: Iterable[str | Path] = ()) -> Plan:
    """Validate a configuration and resolve its names.

    Args:
        raw: the configuration as a mapping.
        paths: the configuration files; they are checked for duplicate keys, which `raw` does not show.

    Raises:
        ConfigError: with one line per problem, reporting all problems at once.
    """
    config, paths = None, list(paths)
    problems = config_files.problems(paths)
    raw = resolve_paths(raw, paths)
    left_out = checks.leave_out_optional_models(raw)
    add_suited_judges(raw)
    try:
        config = parse(raw)
    except ConfigError as error:
        problems += error.errors
    path_problems = checks.check_paths(raw)
    problems += [*checks.check_tasks(raw), *path_problems, *checks.check_folders(raw)]
    problems += checks.check_consistency(config, raw) if config else []
    if config is None or path_problems:
        # The remaining checks read files and need a valid configuration.
        raise ConfigError(problems)
    models_by_import, file_problems = checks.models_in_files(config)
    models, name_problems = expand_models(config, models_by_import)
    plan = Plan(config, models, left_out)
    problems += [*file_problems, *name_problems]
    if not file_problems:
        # Without the models of an unreadable file, these checks would report false problems.
        problems += checks.check_capabilities(plan, models_by_import)
    if problems:
        raise ConfigError(problems)
    return plan


def resolve_paths(raw: Mapping[str, Any], files: Sequence[str | Path]) -> dict[str, Any]:
    """Return a configuration whose files are found from the working folder.

    A relative path starts in the folder of the file that contains it; that of imported data starts in the folder `data` if there is
    one.
    """
    resolved = copy.deepcopy(dict(raw))
    data, has_absolute_data = resolved.get("data"), False
    if isinstance(data, str):
        folder = Path(os.path.expandvars(data)).expanduser()
        has_absolute_data = folder.is_absolute()
        resolved["data"] = data = str(config_files.origin(files, ["data"], data).absolute() / folder)
    for section in (["imports"], ["tasks", "sources"]):
        block: Any = resolved
        for key in section:
            block = block.get(key) if isinstance(block, dict) else None
        for name, entry in block.items() if isinstance(block, dict) else ():
            if isinstance(entry, dict) and isinstance(path := entry.get("path"), str):
                folder = Path(data) if isinstance(data, str) else config_files.origin(files, [*section, name, "path"], path)
                file = Path(path).expanduser()
                is_absolute = has_absolute_data or file.is_absolute()
                entry["path"] = _from_working_folder(folder.absolute() / file, is_absolute=is_absolute)
    task_files = resolved.get("task_files")
    if isinstance(task_files, list) and all(isinstance(path, str) for path in task_files):
        folder = config_files.origin(files, ["task_files"], task_files)
        resolved["task_files"] = [os.path.relpath(folder / Path(path).expanduser()) for path in task_files]
    return resolved


def _from_working_folder(path: Path, *, is_absolute: bool) -> str:
    """Return a path relative to the working folder, unless the configuration has it as an absolute one and it is elsewhere.

    Snakemake 9.27 compares the paths of inputs as texts: with absolute ones, a project that is moved or copied is out of date.
    """
    is_below = ".." not in path.parts and path.is_relative_to(Path.cwd())
    return str(path) if is_absolute and not is_below else os.path.relpath(path)
