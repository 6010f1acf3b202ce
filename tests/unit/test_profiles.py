"""The SLURM profile sends every rule that requests a GPU to the GPU partition."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def gpu_rules() -> set[str]:
    """Return the names of the rules with a `gpu` resource."""
    rules: set[str] = set()
    for path in sorted((ROOT / "rules").glob("*.smk")):
        for block in re.split(r"\n(?=(?:use )?rule )", path.read_text("utf-8")):
            header = re.match(r"(?:use rule \w+ as (\w+)|rule (\w+))", block)
            if header and re.search(r"^        gpu=", block, re.MULTILINE):
                rules.add(header[1] or header[2])
    return rules


def test_every_gpu_rule_has_the_gpu_partition() -> None:
    resources = yaml.safe_load((ROOT / "profiles" / "slurm" / "config.yaml").read_text("utf-8"))["set-resources"]
    assert {rule for rule, settings in resources.items() if settings.get("slurm_partition") == "gpu"} == gpu_rules()
    assert "train_student" in gpu_rules()
