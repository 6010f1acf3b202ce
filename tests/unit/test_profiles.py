"""The profiles name rules of the workflow, send every rule that requests a GPU to the GPU partition, and start a teacher."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROFILES = sorted((ROOT / "profiles").glob("*/*.yaml"))


def rules() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each rule."""
    for path in sorted((ROOT / "rules").glob("*.smk")):
        for block in re.split(r"\n(?=(?:use )?rule )", path.read_text("utf-8")):
            if header := re.match(r"(?:use rule \w+ as (\w+)|rule (\w+))", block):
                yield header[1] or header[2], block


def test_the_rules_in_the_picture_exist() -> None:
    names = set(re.findall(r"<text [^>]*>(\w+)</text>", (ROOT / "docs" / "images" / "rules.svg").read_text("utf-8")))
    assert {"build_task", "build_report"} <= names <= {*dict(rules()), "all"}


def test_the_page_on_profiles_names_every_file() -> None:
    page = (ROOT / "profiles" / "README.md").read_text("utf-8")
    files = {str(path.relative_to(ROOT / "profiles")) for path in (ROOT / "profiles").glob("*/*")}
    assert set(re.findall(r"\]\((?!\.\.)([^)]+)\)", page)) == files


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_rules_of_a_profile_exist(path: Path) -> None:
    profile = yaml.safe_load(path.read_text("utf-8"))
    assert set(profile.get("set-resources", {})) <= dict(rules()).keys()


def test_the_rules_that_the_demo_names_exist() -> None:
    [names] = re.findall(r"^LONG := (.*)", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert set(names.split()) <= dict(rules()).keys()


def test_every_gpu_rule_has_the_gpu_partition() -> None:
    resources = yaml.safe_load((ROOT / "profiles" / "slurm" / "config.yaml").read_text("utf-8"))["set-resources"]
    gpu_rules = {name for name, text in rules() if re.search(r"^        gpu=", text, re.MULTILINE)}
    assert {rule for rule, settings in resources.items() if settings.get("slurm_partition") == "gpu"} == gpu_rules
    assert "train_student" in gpu_rules


def write_program(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/bash\n{text}\n")
    path.chmod(0o755)


@pytest.mark.parametrize(
    ("server", "code", "address"),
    [("until [ -s teacher.yaml ]; do sleep 0.1; done; cp teacher.yaml seen", 0, True), ("exit 3", 1, False)],
)
def test_the_address_of_a_teacher_is_a_configuration_while_it_serves(tmp_path: Path, server: str, code: int, address: bool) -> None:
    write_program(tmp_path / "bin/hostname", "echo node7")
    write_program(tmp_path / "bin/curl", 'exit "$SERVER_IS_DOWN"')
    write_program(tmp_path / "vllm_python", f'echo "$@" >arguments; {server}')
    variables = {"SLURM_JOB_ID": "40012", "BERT_JUDGE_VLLM_PYTHON": str(tmp_path / "vllm_python"), "SERVER_IS_DOWN": str(code)}
    environment = os.environ | variables | {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    command = ["bash", str(ROOT / "profiles/slurm/teacher.sh"), "judge", "owner/model", "--dtype", "bfloat16"]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, check=False)
    assert ended.returncode == code and not (tmp_path / "teacher.yaml").exists()
    assert (tmp_path / "arguments").read_text().split()[-4:] == ["--port", "20012", "--dtype", "bfloat16"]
    if address:
        seen = yaml.safe_load((tmp_path / "seen").read_text())
        assert seen == {"judges": {"judge": {"model": {"base_url": "http://node7:20012/v1"}}}}
    assert (tmp_path / "seen").exists() == address
