"""The profiles name rules of the workflow, and send every rule that requests a GPU to the GPU partition."""

from __future__ import annotations

import re
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


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_the_rules_of_a_profile_exist(path: Path) -> None:
    profile = yaml.safe_load(path.read_text("utf-8"))
    assert set(profile.get("set-resources", {})) <= dict(rules()).keys()


def test_every_gpu_rule_has_the_gpu_partition() -> None:
    resources = yaml.safe_load((ROOT / "profiles" / "slurm" / "config.yaml").read_text("utf-8"))["set-resources"]
    gpu_rules = {name for name, text in rules() if re.search(r"^        gpu=", text, re.MULTILINE)}
    assert {rule for rule, settings in resources.items() if settings.get("slurm_partition") == "gpu"} == gpu_rules
    assert "train_student" in gpu_rules
