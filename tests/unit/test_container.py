"""The container recipe says what the package and the workflow say. It is read here, not built."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from typer.testing import CliRunner

from bert_judge.cli import app

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
# What a run reads beside the library: the Snakefile includes, calls or names it.
WORKFLOW = {"Snakefile", "rules", "workflow_scripts", "envs", "profiles", "report", "config.yaml"}


def instructions() -> list[list[str]]:
    """The lines of the recipe as words, continued lines joined, comments left out."""
    text = (ROOT / "envs/Containerfile").read_text("utf-8").replace("\\\n", " ")
    return [shlex.split(line) for line in text.splitlines() if line and not line.startswith("#")]


def of(name: str) -> list[list[str]]:
    return [rest for first, *rest in instructions() if first == name]


def copied() -> set[str]:
    return {source for *sources, _ in of("COPY") for source in sources}


def pip_words() -> list[str]:
    (words,) = [words for words in of("RUN") if words[0] == "pip"]
    return words


def test_its_python_is_one_that_the_package_and_the_environment_take() -> None:
    ((image,),) = of("FROM")
    tagged = re.fullmatch(r"docker\.io/library/python:(3\.\d+)-slim-\w+", image)
    assert tagged is not None
    core = yaml.safe_load((ROOT / "envs/core.yaml").read_text("utf-8"))["dependencies"]
    (python,) = [Requirement(entry) for entry in core if isinstance(entry, str) and entry.startswith("python ")]
    assert tagged[1] in python.specifier
    assert Requirement(f"python{PROJECT['requires-python']}").specifier.contains(tagged[1])


def test_it_installs_this_package_with_the_pinned_versions_as_the_environment_does() -> None:
    words = pip_words()
    assert words[words.index("--constraint") + 1] == "constraints.txt"
    package = words[words.index("--editable") + 1]
    core = yaml.safe_load((ROOT / "envs/core.yaml").read_text("utf-8"))["dependencies"]
    (pip,) = [entry["pip"] for entry in core if isinstance(entry, dict)]
    assert f"-e .{package}" in pip
    assert {"pyproject.toml", "constraints.txt", "bert_judge"} <= copied()


@pytest.mark.parametrize("name", sorted(WORKFLOW))
def test_the_workflow_is_in_it(name: str) -> None:
    assert name in copied()


def test_what_it_copies_is_there_and_keeps_its_name() -> None:
    for *sources, target in of("COPY"):
        assert all((ROOT / source).exists() for source in sources)
        assert target == "./" or [target] == sources


def test_the_rules_name_nothing_outside_it() -> None:
    """Files that the Snakefile or a rule refers to lie in folders that are copied."""
    named = [
        (path.parent / name).resolve().relative_to(ROOT)
        for path in [ROOT / "Snakefile", *(ROOT / "rules").glob("*.smk")]
        for name in re.findall(r'"((?:\.\./)?[\w/]+\.(?:smk|py|yaml|rst))"', path.read_text("utf-8"))
    ]
    assert {path.parts[0] for path in named} == {"rules", "workflow_scripts", "envs", "report", "config.yaml"}
    assert {path.parts[0] for path in named} <= copied()


def test_what_lightgbm_needs_of_the_system_is_there() -> None:
    # The image installs the extra `demo`, which contains `train`.
    wanted = any(Requirement(line).name == "lightgbm" for line in PROJECT["optional-dependencies"]["train"])
    installed = any("libgomp1" in words for words in of("RUN"))
    assert wanted == installed


def test_its_command_exists() -> None:
    (command,) = re.findall(r"^CMD (\[.*\])$", (ROOT / "envs/Containerfile").read_text("utf-8"), re.MULTILINE)
    program, *arguments = json.loads(command)
    assert program in PROJECT["scripts"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
