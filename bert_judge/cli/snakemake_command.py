"""The command line that runs the workflow of this library on a configuration, and what is checked before it starts."""

import importlib.util
import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from bert_judge.cli.options import read_config
from bert_judge.cli.terminal import log
from bert_judge.config import files as config_files
from bert_judge.plan import build_plan
from bert_judge.plan.configuration import describe_plain_names
from bert_judge.plan.graph import TARGETS
from bert_judge.runtime.errors import InputError, describe_missing, suggest

LOCAL_PROFILE = "default"


def snakemake_command(
    config: Path,
    targets: Sequence[str],
    *,
    cores: int | None = None,
    dry_run: bool = False,
    settings: Sequence[str] | None = None,
    data: Path | None = None,
    directory: Path | None = None,
    profile: str = LOCAL_PROFILE,
    verbose: bool = False,
    snakemake: str = "",
) -> list[str]:
    """Return the command line of Snakemake; the arguments are the options of `run`."""
    if importlib.util.find_spec("snakemake") is None:
        raise InputError(describe_missing("snakemake") or "")
    output = (directory or Path()).absolute()
    existing = next(path for path in (output, *output.parents) if path.exists())
    if not os.access(existing, os.W_OK):
        raise InputError(f"{existing}: is read-only, and results/ goes there; run this in another folder")
    folder = config_files.workflow_folder()
    files, targets = split_targets(config, targets)
    overrides = [*(settings or []), *([f"data={data.resolve()}"] if data else [])]
    _check_profile(profile, folder / "profiles")
    _, raw = read_config(files, settings, data)
    # Snakemake reports the same errors with its own lines around them.
    if directory is None and (line := describe_plain_names(build_plan(raw, files).models)):
        log(line)
    # Another profile usually sends jobs to other machines, and says how many.
    count = [] if cores is None and profile != LOCAL_PROFILE else ["--cores", str(cores or "all")]
    # A dry run is read, and other options of Snakemake may print what they are asked for.
    program = "snakemake" if verbose or dry_run or snakemake else "bert_judge.cli.snakemake_progress"
    return [
        *(sys.executable, "-m", program, "--snakefile", str(folder / "Snakefile"), "--workflow-profile", profile, *count),
        *(["--dry-run"] if dry_run else []),
        *(["--directory", str(directory)] if directory else []),
        *shlex.split(snakemake),
        *("--configfile", *map(str, files)),
        *(["--config", *overrides] if overrides else []),
        # Several options accept any number of values, so targets follow `--`.
        *("--", *targets),
    ]


def _check_profile(profile: str, profiles: Path) -> None:
    """Refuse a profile that does not exist, or whose executor is not installed."""
    folder = next((path for path in (Path(profile), Path("profiles", profile), profiles / profile) if path.is_dir()), None)
    if folder is None:
        names = ", ".join(sorted(path.name for path in profiles.iterdir()))
        raise InputError(f"{profile}: no such profile; name a folder with a config.yaml, or one of bert-judge: {names}")
    settings = config_files.merge([folder / "config.yaml"])
    if executor := settings.get("executor"):
        plugin = f"snakemake_executor_plugin_{str(executor).replace('-', '_')}"
        if importlib.util.find_spec(plugin) is None:
            package = plugin.replace("_", "-")
            raise InputError(describe_missing(plugin) or f"the profile {profile} needs {package}: pip install {package}")


def check_lock(folder: Path) -> None:
    """Refuse a folder in which another run is at work, or a killed one left its lock. Raises InputError: names the process."""
    if not any((folder / ".snakemake" / "locks").glob("*")):
        return
    # A dependency of Snakemake.
    import psutil

    for process in psutil.process_iter(["cwd", "cmdline"]):
        if process.info["cwd"] == str(folder.resolve()) and any("snakemake" in word for word in process.info["cmdline"] or ()):
            raise InputError(
                f"{folder.resolve()}: another run (process {process.pid}) is at work in this folder; wait for it to end, "
                f"stop it with kill {process.pid}, or name another folder with --directory"
            )
    raise InputError(
        f"{folder.resolve()}: is locked by a run that was killed, or that runs on another machine; if none does, "
        "remove the lock by repeating the command once with --unlock"
    )


def split_targets(config: Path, targets: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Return the configuration files, which may be among the targets, and the other targets.

    Raises:
        InputError: a file is missing, or there is no rule of a target's name.
    """
    folder = config_files.workflow_folder()
    more = [target for target in targets if target.endswith((".yaml", ".yml"))]
    files = [config_files.find(path).resolve() for path in [config, *map(Path, more)]]
    rules = "".join(path.read_text("utf-8") for path in (folder / "rules").glob("*.smk"))
    others = [target for target in targets if target not in more]
    for target in others:
        if "/" not in target and target not in {*TARGETS, *re.findall(r"\b(?:rule|as) (\w+)", rules)}:
            raise InputError(f"{target}: no such target; {suggest(target, TARGETS)}")
    return files, others
