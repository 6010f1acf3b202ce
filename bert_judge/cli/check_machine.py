"""`bert-judge doctor`: check that this machine, or a cluster's login node, has what a run needs."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import typer
import yaml
from packaging.requirements import Requirement
from rich.table import Table
from rich.text import Text

from bert_judge.cli.terminal import console
from bert_judge.config import files as config_files
from bert_judge.runtime.errors import InputError

PLUGIN = "snakemake-executor-plugin-slurm"
# Seconds to wait for a program or the hub.
TIMEOUT = 10
LEAST_FREE_GB = 20


class Finding(NamedTuple):
    """Result of one check, with a remedy unless it is `ok`. A `note` does not prevent runs on this machine."""

    name: str
    state: Literal["ok", "note", "bad"]
    text: str


def doctor(
    profile: Annotated[Path, typer.Option(help="Profile whose partitions are checked.")] = Path("profiles/slurm"),
) -> None:
    """Check that this machine has what a run needs: versions, GPUs, disk, hub, vLLM, SLURM and its partitions."""
    table = Table("", "", "", show_header=False)
    all_good = True
    for check in (_python, _packages, _workflow, _gpus, _disk, _hub, _vllm, lambda: slurm_findings(profile)):
        for finding in check():
            all_good = all_good and finding.state != "bad"
            colour = {"ok": "green", "note": "yellow", "bad": "red"}[finding.state]
            table.add_row(finding.name, Text(finding.state, style=colour), finding.text)
    console().print(table)
    if not all_good:
        raise typer.Exit(1)


def _python() -> Iterator[Finding]:
    version = platform.python_version()
    good = sys.version_info >= (3, 11)
    yield Finding("Python", "ok" if good else "bad", version if good else f"{version}; 3.11 or newer is needed")


def _packages() -> Iterator[Finding]:
    """Check the versions of all direct dependencies."""
    faults = list(package_faults(importlib.metadata.requires("bert-judge") or []))
    yield Finding("packages", "bad" if faults else "ok", "; ".join(faults) or "all within their ranges")


def _workflow() -> Iterator[Finding]:
    try:
        yield Finding("workflow", "ok", str(config_files.workflow_folder()))
    except InputError as error:
        yield Finding("workflow", "bad", str(error))


def package_faults(requirements: list[str]) -> Iterator[str]:
    """Yield one line per requirement that the installed version does not meet; extras are ignored."""
    for requirement in map(Requirement, requirements):
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            version = importlib.metadata.version(requirement.name)
        except importlib.metadata.PackageNotFoundError:
            yield f"{requirement.name} is missing: pip install '{requirement.name}{requirement.specifier}' -c constraints.txt"
            continue
        if not requirement.specifier.contains(version, prereleases=True):
            yield f"{requirement.name} {version}: pip install '{requirement.name}{requirement.specifier}' -c constraints.txt"


def _gpus() -> Iterator[Finding]:
    import torch

    names = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    if not names:
        build = torch.version.cuda or torch.version.hip
        reason = "" if build else f"; torch {torch.__version__} is built for CPUs only"
        yield Finding("GPUs", "note", f"none visible here{reason}. On a login node this is expected")
        return
    yield Finding("GPUs", "ok", ", ".join(names))
    fast = torch.cuda.is_bf16_supported(including_emulation=False)
    yield Finding("bf16", "ok" if fast else "note", "yes" if fast else "no: encoders compute in float32, generators in float16")


def _disk() -> Iterator[Finding]:
    folders = {"results": Path.cwd(), "models (HF_HOME)": Path(os.environ.get("HF_HOME", Path.home() / ".cache/huggingface"))}
    for name, folder in folders.items():
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        free = shutil.disk_usage(existing).free / 1e9
        if not os.access(existing, os.W_OK):
            yield Finding(f"disk: {name}", "bad", f"{existing} is not writable; choose another folder")
        elif free < LEAST_FREE_GB:
            yield Finding(f"disk: {name}", "note", f"{free:.0f} GB free in {existing}; a 7B model takes 15 GB, a 70B one 140")
        else:
            yield Finding(f"disk: {name}", "ok", f"{free:.0f} GB free in {existing}")


def _hub() -> Iterator[Finding]:
    """Check that the hub is reachable; only `prepare` needs it."""
    import huggingface_hub
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    if os.environ.get("HF_HUB_OFFLINE", "").upper() in constants.ENV_VARS_TRUE_VALUES:
        yield Finding("hub", "note", "HF_HUB_OFFLINE is set: `prepare` uses the cache and downloads nothing")
        return
    try:
        get_session().head(constants.ENDPOINT, timeout=TIMEOUT)
    except (OSError, huggingface_hub.errors.HTTPError) as error:
        remedy = "run `snakemake prepare` where there is a network, with HF_HOME on a shared disk"
        yield Finding("hub", "note", f"{constants.ENDPOINT} cannot be reached ({type(error).__name__}); {remedy}")
        return
    token = huggingface_hub.get_token()
    yield Finding("hub", "ok", "reachable, " + ("with a token" if token else "without a token: gated models need HF_TOKEN"))


def _vllm() -> Iterator[Finding]:
    python = os.environ.get("BERT_JUDGE_VLLM_PYTHON")
    if python is None:
        yield Finding("vLLM", "note", "BERT_JUDGE_VLLM_PYTHON is not set; only `generator: vllm` needs it (docs/models.md)")
        return
    text = _output_of([python, "-c", "import importlib.metadata as m; print(m.version('vllm'))"])
    if text is None:
        yield Finding(
            "vLLM", "bad", f"BERT_JUDGE_VLLM_PYTHON: {python} has no vLLM; set it to the Python of an environment with vLLM"
        )
    else:
        yield Finding("vLLM", "ok", f"{text} in {python}")


def slurm_findings(profile: Path) -> Iterator[Finding]:
    """Check the controller, the plugin, and the partitions in the profile."""
    partitions = _output_of(["sinfo", "--noheader", "--format=%R"])
    if partitions is None:
        installed = shutil.which("sinfo") is not None
        text = (
            "sinfo does not answer; ask the administrators whether the controller runs"
            if installed
            else "not installed; needed on clusters only"
        )
        yield Finding("SLURM", "bad" if installed else "note", text)
        return
    existing = sorted(set(partitions.split()))
    yield Finding("SLURM", "ok", f"{_output_of(['sinfo', '--version']) or ''}, partitions {', '.join(existing)}")
    try:
        yield Finding("SLURM plugin", "ok", importlib.metadata.version(PLUGIN))
    except importlib.metadata.PackageNotFoundError:
        yield Finding("SLURM plugin", "bad", "not installed: pip install -e '.[slurm]' -c constraints.txt")
    if _output_of(["sacct", "--noheader", "--allocations"]) is None:
        text = "none: add `slurm-status-command: squeue` to the profile and remove the efficiency report"
        yield Finding("SLURM accounting", "note", text)
    yield from profile_findings(profile, existing)


def profile_findings(profile: Path, partitions: list[str]) -> Iterator[Finding]:
    """Check that the partitions in a profile exist."""
    file = profile / "config.yaml"
    try:
        content = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, yaml.YAMLError) as error:
        yield Finding("profile", "bad", f"{file}: cannot be read: {' '.join(str(error).split())}")
        return
    unknown = sorted(set(profile_partitions(content)) - set(partitions))
    if unknown:
        text = f"{file}: this cluster has no partition {', '.join(unknown)}; available: {', '.join(partitions)}"
        yield Finding("profile", "bad", text)
    else:
        yield Finding("profile", "ok", f"{file}: its partitions exist")


def profile_partitions(content: Any) -> Iterator[str]:
    """Yield every `slurm_partition` of a profile, at any depth; an entry may list several, separated by commas."""
    if not isinstance(content, Mapping):
        return
    for key, value in content.items():
        if key == "slurm_partition":
            yield from str(value).split(",")
        else:
            yield from profile_partitions(value)


def _output_of(command: list[str]) -> str | None:
    """Return what a program prints, or None if it is missing, fails or takes more than ten seconds."""
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return process.stdout.strip()
