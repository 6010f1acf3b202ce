"""The 22 published tasks (`sources.yaml`)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources

import yaml

from bert_judge.config import TaskSource


@cache
def published_sources() -> Mapping[str, TaskSource]:
    """Return the source of each published task, by name."""
    text = resources.files("bert_judge.tasks").joinpath("sources.yaml").read_text(encoding="utf-8")
    return {name: TaskSource.model_validate(entry) for name, entry in yaml.safe_load(text).items()}
