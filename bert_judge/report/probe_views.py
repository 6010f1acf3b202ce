"""What the report shows of probes: how well each aspect is told, beside the probe's baselines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bert_judge.runtime.errors import InputError

WHO = {
    "probe": "the probe",
    "majority": "the commonest class",
    "length": "the answer's length",
    "fine_tuned": "the backbone, fine-tuned",
    "lora": "the backbone, tuned by LoRA",
    "prompted": "the backbone, asked directly",
}


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
    """A probe, what its figures say in words, and its aspects."""

    name: str
    findings: list[str]
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
            told = json.loads(path.read_text("utf-8"))
            aspects = [_aspect(aspect, figures) for aspect, figures in told["aspects"].items()]
            found.append(ProbeView(name, _findings(told), aspects))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: no figures of a probe; train {name} anew") from error
    return found


def _findings(metrics: Mapping[str, Any]) -> list[str]:
    """What the probe beats and what beats it, and the baselines that are absent."""
    sides: dict[str, list[str]] = {"is better than": [], "is worse than": []}
    for aspect, figures in metrics["aspects"].items():
        for teller, difference in figures["differences"].items():
            _, low, high = difference["macro_f1"]
            if low > 0 or high < 0:
                sides["is better than" if low > 0 else "is worse than"].append(f"{WHO[teller]} in {aspect}")
    said = [f"By macro F1 on the test part the probe {side}: {', '.join(others)}." for side, others in sides.items() if others]
    absent = {name: note["absent"] for name, note in metrics["baselines"].items() if note.get("absent")}
    return [*said, *(f"Without {WHO[name]}: {reason}." for name, reason in absent.items())]


def _aspect(name: str, figures: Mapping[str, Any]) -> AspectView:
    low, high = figures["head"]["range"]
    part = "test" if figures["test"] else "cross_validation"
    return AspectView(
        name,
        f"{figures['head']['head']}, {low} to {high}",
        ", ".join(f"{layer} {pooling}" for layer, pooling in figures["places"]),
        figures["classifier"],
        "the test part" if part == "test" else "cross-validation by question",
        [
            {"who": told, **figures[part][who], "difference": figures["differences"].get(who) if part == "test" else None}
            for who, told in WHO.items()
            if who in figures[part]
        ],
    )
