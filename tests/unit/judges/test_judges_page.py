"""The page on judges: its examples are sound, and no kind is missing."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from bert_judge.judges import registry
from bert_judge.plan import configuration

PAGE = (Path(__file__).parents[3] / "docs" / "judges.md").read_text("utf-8")


def examples() -> dict[str, Any]:
    """All examples of the page, in one configuration with what they leave out."""
    raw: dict[str, Any] = {
        "models": {"m": {"generator": "simulated", "p_correct": 0.5}},
        "tasks": {"train": ["facts_train", "math_train"], "test": ["facts_test"]},
        "datasets": {"mine": {"teacher": "human", "tasks": ["facts_train"]}},
        "judges": {},
        "scorers": [],
    }
    for block in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL):
        for key, entries in yaml.safe_load(block).items():
            raw[key] = raw.get(key, {}) | entries
    return raw | {"scorers": list(raw["judges"])}


def test_the_examples_are_sound() -> None:
    assert len(configuration.parse(examples()).judges) >= 10


def test_every_kind_has_its_section_and_its_example() -> None:
    kinds = {kind.name for kind in registry.kinds()}
    assert {entry["kind"] for entry in examples()["judges"].values()} == kinds
    assert set(re.findall(r"^## (\w+): ", PAGE, re.MULTILINE)) == kinds
