"""What the report shows of probes: how well each aspect is told, beside what needs no model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bert_judge.errors import InputError

WHO = {"probe": "the probe", "majority": "the commonest class", "length": "the answer's length"}


@dataclass(frozen=True)
class AspectView:
    """An aspect of a probe: how it is told, and a row of figures per teller, on the test part or, without one, across folds."""

    name: str
    head: str
    told_from: str
    classifier: str
    part: str
    rows: list[dict[str, Any]]


@dataclass(frozen=True)
class ProbeView:
    """A probe and its aspects."""

    name: str
    aspects: list[AspectView]


def view(metrics: Mapping[str, Path]) -> list[ProbeView]:
    """One view per probe.

    Args:
        metrics: probe → its metrics.json.

    Raises:
        InputError: a file is not what the training of a probe wrote.
    """
    found = []
    for name, path in metrics.items():
        try:
            aspects = json.loads(path.read_text("utf-8"))["aspects"]
            found.append(ProbeView(name, [_aspect(aspect, figures) for aspect, figures in aspects.items()]))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: no figures of a probe; train {name} anew") from error
    return found


def _aspect(name: str, figures: Mapping[str, Any]) -> AspectView:
    low, high = figures["head"]["range"]
    part = "test" if figures["test"] else "cross_validation"
    return AspectView(
        name,
        f"{figures['head']['head']}, {low} to {high}",
        ", ".join(f"{layer} {pooling}" for layer, pooling in figures["places"]),
        figures["classifier"],
        "the test part" if part == "test" else "cross-validation by question",
        [{"who": told, **figures[part][who]} for who, told in WHO.items()],
    )
