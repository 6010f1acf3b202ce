"""Batches: the tables of one model that one job produces together, so that an expensive model is loaded once.

Such a job writes a manifest that lists its tables. A light job then writes each table, so every table stays a target of its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bert_judge import tables
from bert_judge.runtime import resume


class Batch(NamedTuple):
    """Tables of one model whose answers one job generates, or that one job labels with a judge.

    Attributes:
        specs: task → the specs of its answers and of its questions, and of its labels.
        inputs: input files by name: `source {task}` and `manifest {task}` for answers, `answers {task}` for labels.
    """

    specs: Mapping[str, Mapping[str, Any]]
    inputs: Mapping[str, str]

    @property
    def name(self) -> str:
        """16 hex digits that depend on the specs only."""
        return resume.content_key(tables.canonical(self.specs))[:16]


def write_manifest(batch: Batch, path: str | Path) -> None:
    """Record a finished batch."""
    with tables.atomic(path) as temporary:
        temporary.write_text(json.dumps(batch._asdict(), indent=1, ensure_ascii=False), "utf-8")


def read_manifests(folder: str | Path) -> dict[str, Batch]:
    """Read the finished batches of a folder, by name; other JSON files are skipped."""
    batches = {path.stem: _read_manifest(path) for path in sorted(Path(folder).glob("*.json"))}
    return {name: batch for name, batch in batches.items() if batch is not None}


def _read_manifest(path: Path) -> Batch | None:
    try:
        return Batch(**json.loads(path.read_text("utf-8")))
    except (ValueError, TypeError):
        return None
