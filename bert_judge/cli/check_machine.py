"""`bert-judge doctor`: whether this machine, or this cluster's login node, has what a run needs; what to do where it has not."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml
from packaging.requirements import Requirement
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bert_judge.cli.terminal import console

PLUGIN = "snakemake-executor-plugin-slurm"
# Seconds to wait for a program or the hub.
PATIENCE = 10
LEAST_FREE_GB = 20


class Finding(NamedTuple):
    """What was looked at, how it is, and for anything but `ok` what to do. A `note` hinders no run on this machine."""

    what: str
    state: Literal["ok", "note", "bad"]
    said: str


def show(profile: Path, screen: Console | None = None) -> bool:
    """Print the findings; True when none is bad.

    Args:
        profile: folder of the SLURM profile.
        screen: where to; the terminal when left out.
    """
    table = Table("", "", "", show_header=False)
    sound = True
    for look in (_python, _packages, _gpus, _disk, _hub, _vllm, lambda: slurm_findings(profile)):
        for finding in look():
            sound = sound and finding.state != "bad"
            colour = {"ok": "green", "note": "yellow", "bad": "red"}[finding.state]
            table.add_row(finding.what, Text(finding.state, style=colour), finding.said)
    (screen or console()).print(table)
    return sound


def _python() -> Iterator[Finding]:
    version = platform.python_version()
    good = sys.version_info >= (3, 11)
    yield Finding("Python", "ok" if good else "bad", version if good else f"{version}; 3.11 or newer is needed")


def _packages() -> Iterator[Finding]:
    """Every direct dependency in its range."""
    faults = list(package_faults(importlib.metadata.requires("bert-judge") or []))
    yield Finding("packages", "bad" if faults else "ok", "; ".join(faults) or "all within their ranges")


def package_faults(requirements: list[str]) -> Iterator[str]:
    """What is wrong with the installed versions of these requirements; those of extras do not count."""
    for need in map(Requirement, requirements):
        if need.marker is not None and not need.marker.evaluate({"extra": ""}):
            continue
        try:
            version = importlib.metadata.version(need.name)
        except importlib.metadata.PackageNotFoundError:
            yield f"{need.name} is missing: pip install '{need.name}{need.specifier}' -c constraints.txt"
            continue
        if not need.specifier.contains(version, prereleases=True):
            yield f"{need.name} {version}: pip install '{need.name}{need.specifier}' -c constraints.txt"


def _gpus() -> Iterator[Finding]:
    import torch

    names = [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    if not names:
        build = torch.version.cuda or torch.version.hip
        reason = "" if build else f"; torch {torch.__version__} is built for CPUs only"
        yield Finding("GPUs", "note", f"none visible here{reason}. On a login node that is as it should be")
        return
    yield Finding("GPUs", "ok", ", ".join(names))
    fast = torch.cuda.is_bf16_supported(including_emulation=False)
    yield Finding("bf16", "ok" if fast else "note", "yes" if fast else "no: encoders compute in float32, generators in float16")


def _disk() -> Iterator[Finding]:
    places = {"results": Path.cwd(), "models (HF_HOME)": Path(os.environ.get("HF_HOME", Path.home() / ".cache/huggingface"))}
    for name, folder in places.items():
        there = next(path for path in (folder, *folder.parents) if path.exists())
        free = shutil.disk_usage(there).free / 1e9
        if not os.access(there, os.W_OK):
            yield Finding(f"disk: {name}", "bad", f"{there} cannot be written; choose a folder of yours")
        elif free < LEAST_FREE_GB:
            yield Finding(f"disk: {name}", "note", f"{free:.0f} GB free in {there}; a 7B model takes 15 GB, a 70B one 140")
        else:
            yield Finding(f"disk: {name}", "ok", f"{free:.0f} GB free in {there}")


def _hub() -> Iterator[Finding]:
    """Only `prepare` needs it."""
    import huggingface_hub
    from huggingface_hub import constants
    from huggingface_hub.utils import get_session

    if os.environ.get("HF_HUB_OFFLINE", "").upper() in constants.ENV_VARS_TRUE_VALUES:
        yield Finding("hub", "note", "HF_HUB_OFFLINE is set: `prepare` takes what is in the cache and downloads nothing")
        return
    try:
        get_session().head(constants.ENDPOINT, timeout=PATIENCE)
    except (OSError, huggingface_hub.errors.HTTPError) as error:
        cure = "run `snakemake prepare` where there is a network, with HF_HOME on a shared disk"
        yield Finding("hub", "note", f"{constants.ENDPOINT} cannot be reached ({type(error).__name__}); {cure}")
        return
    token = huggingface_hub.get_token()
    yield Finding("hub", "ok", "reachable, " + ("with a token" if token else "without a token: gated models need HF_TOKEN"))


def _vllm() -> Iterator[Finding]:
    python = os.environ.get("BERT_JUDGE_VLLM_PYTHON")
    if python is None:
        yield Finding("vLLM", "note", "BERT_JUDGE_VLLM_PYTHON is not set; only `generator: vllm` needs it (docs/models.md)")
        return
    said = _answer([python, "-c", "import importlib.metadata as m; print(m.version('vllm'))"])
    if said is None:
        yield Finding("vLLM", "bad", f"BERT_JUDGE_VLLM_PYTHON: {python} has none; name the Python of an environment with vLLM")
    else:
        yield Finding("vLLM", "ok", f"{said} in {python}")


def slurm_findings(profile: Path) -> Iterator[Finding]:
    """The controller, the plugin, and the partitions that the profile names."""
    partitions = _answer(["sinfo", "--noheader", "--format=%R"])
    if partitions is None:
        here = shutil.which("sinfo") is not None
        said = (
            "sinfo does not answer; ask the administrators whether the controller runs"
            if here
            else "not here; fine without a cluster"
        )
        yield Finding("SLURM", "bad" if here else "note", said)
        return
    there = sorted(set(partitions.split()))
    yield Finding("SLURM", "ok", f"{_answer(['sinfo', '--version']) or ''}, partitions {', '.join(there)}")
    try:
        yield Finding("SLURM plugin", "ok", importlib.metadata.version(PLUGIN))
    except importlib.metadata.PackageNotFoundError:
        yield Finding("SLURM plugin", "bad", "not installed: pip install -e '.[slurm]' -c constraints.txt")
    if _answer(["sacct", "--noheader", "--allocations"]) is None:
        said = "none: put `slurm-status-command: squeue` into the profile and take the efficiency report out"
        yield Finding("SLURM accounting", "note", said)
    yield from profile_findings(profile, there)


def profile_findings(profile: Path, partitions: list[str]) -> Iterator[Finding]:
    """Whether the partitions that a profile names are there."""
    file = profile / "config.yaml"
    try:
        content = yaml.safe_load(file.read_text("utf-8"))
    except (OSError, yaml.YAMLError) as error:
        yield Finding("profile", "bad", f"{file}: cannot be read: {' '.join(str(error).split())}")
        return
    unknown = sorted(set(named_partitions(content)) - set(partitions))
    if unknown:
        said = f"{file}: this cluster has no partition {', '.join(unknown)}; there are: {', '.join(partitions)}"
        yield Finding("profile", "bad", said)
    else:
        yield Finding("profile", "ok", f"{file}: its partitions are there")


def named_partitions(content: Any) -> Iterator[str]:
    """Every `slurm_partition` of a profile, at any depth; one entry may name several, with commas."""
    if not isinstance(content, Mapping):
        return
    for key, value in content.items():
        if key == "slurm_partition":
            yield from str(value).split(",")
        else:
            yield from named_partitions(value)


def _answer(command: list[str]) -> str | None:
    """What a program prints; None when it is not there, fails or says nothing for ten seconds."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip()
