"""`bert-judge run`: start Snakemake on the workflow that comes with this library, from any folder."""

import os
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from bert_judge.cli.options import DataFolder, Settings, read_config
from bert_judge.config import files as config_files
from bert_judge.plan import build_plan
from bert_judge.runtime.errors import InputError, suggest

LOCAL_PROFILE = "default"


def run(
    config: Annotated[Path, typer.Argument(help="A configuration: your file, or one of bert-judge, such as configs/paper.yaml.")],
    targets: Annotated[
        list[str] | None,
        typer.Argument(help="What to build: scores, report, …, or files in results/. YAML files override keys of CONFIG."),
    ] = None,
    cores: Annotated[int | None, typer.Option(min=1, help="CPU cores to use; default: all of this machine.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", "-n", help="Print what would run, and why.")] = False,
    settings: Settings = None,
    data: DataFolder = None,
    directory: Annotated[Path | None, typer.Option(help="Folder that results/ and logs/ go to; default: this one.")] = None,
    profile: Annotated[str, typer.Option(help="Name or folder of a Snakemake profile: default, slurm, …")] = LOCAL_PROFILE,
    snakemake: Annotated[str, typer.Option(help="More options of Snakemake, in one text: '--forcerun label'.")] = "",
) -> None:
    """Build everything that a configuration asks for and that is missing or out of date; results go to results/ in this folder."""
    command = snakemake_command(
        *(config, targets or []),
        cores=cores,
        dry_run=dry_run,
        settings=settings,
        data=data,
        directory=directory,
        profile=profile,
        snakemake=snakemake,
    )
    if not dry_run and not snakemake:
        check_lock(directory or Path())
    sys.stdout.flush()
    # Snakemake replaces this process: signals and the exit code are its own.
    os.execv(command[0], command)


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
    snakemake: str = "",
) -> list[str]:
    """Return the command line of Snakemake; the arguments are the options of `run`."""
    output = (directory or Path()).absolute()
    existing = next(path for path in (output, *output.parents) if path.exists())
    if not os.access(existing, os.W_OK):
        raise InputError(f"{existing}: is read-only, and results/ goes there; run this in another folder")
    folder = config_files.workflow_folder()
    files, targets = split_targets(config, targets)
    overrides = [*(settings or []), *([f"data={data.resolve()}"] if data else [])]
    if not any(place.is_dir() for place in (Path(profile), Path("profiles", profile), folder / "profiles" / profile)):
        names = ", ".join(sorted(place.name for place in (folder / "profiles").iterdir()))
        raise InputError(f"{profile}: no such profile; name a folder with a config.yaml, or one of bert-judge: {names}")
    _, raw = read_config(files, settings, data)
    if directory is None:
        # Snakemake reports the same errors with its own lines around them.
        build_plan(raw, files)
    # Another profile usually sends jobs to other machines, and says how many.
    count = [] if cores is None and profile != LOCAL_PROFILE else ["--cores", str(cores or "all")]
    return [
        *(sys.executable, "-m", "snakemake", "--snakefile", str(folder / "Snakefile"), "--workflow-profile", profile, *count),
        *(["--dry-run"] if dry_run else []),
        *(["--directory", str(directory)] if directory else []),
        *shlex.split(snakemake),
        *("--configfile", *map(str, files)),
        *(["--config", *overrides] if overrides else []),
        # Several options accept any number of values, so targets follow `--`.
        *("--", *targets),
    ]


def check_lock(folder: Path) -> None:
    """Refuse a folder in which another run is at work, or a killed one left its lock. Raises InputError: names the process."""
    if not any((folder / ".snakemake" / "locks").glob("*")):
        return
    # A dependency of Snakemake.
    import psutil

    for process in psutil.process_iter(["cwd", "cmdline"]):
        if process.info["cwd"] == str(folder.resolve()) and any("snakemake" in part for part in process.info["cmdline"] or ()):
            raise InputError(
                f"{folder.resolve()}: another run (process {process.pid}) is at work in this folder; wait for it to end, "
                f"stop it with kill {process.pid}, or name another folder with --directory"
            )
    raise InputError(
        f"{folder.resolve()}: is locked by a run that was killed, or that runs on another machine; if none does, "
        "remove the lock by repeating the command once with --snakemake=--unlock"
    )


def split_targets(config: Path, targets: Sequence[str]) -> tuple[list[Path], list[str]]:
    """Return the configuration files, which may be among the targets, and the other targets.

    Raises:
        InputError: a file is missing, or there is no rule of a target's name.
    """
    folder = config_files.workflow_folder()
    more = [target for target in targets if target.endswith((".yaml", ".yml"))]
    files = [config_files.find(path).resolve() for path in [config, *map(Path, more)]]
    names = re.findall(r"^rule (\w+)", (folder / "Snakefile").read_text("utf-8"), re.MULTILINE)
    rules = "".join(path.read_text("utf-8") for path in (folder / "rules").glob("*.smk"))
    others = [target for target in targets if target not in more]
    for target in others:
        if "/" not in target and target not in {*names, *re.findall(r"\b(?:rule|as) (\w+)", rules)}:
            raise InputError(f"{target}: no such target; {suggest(target, names)}")
    return files, others
