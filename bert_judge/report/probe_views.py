"""Prepare the metrics of probes, per aspect and next to their baselines, for the report's template."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bert_judge.runtime.errors import InputError

PREDICTORS = {"probe": "probe", "majority": "majority class", "length": "answer length"}


@dataclass(frozen=True)
class AspectView:
    """An aspect of a probe: its features, and a row of metrics per predictor, on the test split or else from cross-validation."""

    name: str
    head: str
    features: str
    classifier: str
    evaluated_on: str
    rows: list[dict[str, Any]]


@dataclass(frozen=True)
class ProbeView:
    """A probe, its findings, and its aspects."""

    name: str
    findings: list[str]
    aspects: list[AspectView]


def build_views(paths: Mapping[str, Path]) -> list[ProbeView]:
    """Return one view per probe.

    Args:
        paths: probe → its metrics.json.

    Raises:
        InputError: a file is missing or does not hold the metrics of a probe.
    """
    views = []
    for name, path in paths.items():
        try:
            metrics = json.loads(path.read_text("utf-8"))
            aspects = [_aspect_view(aspect, content) for aspect, content in metrics["aspects"].items()]
            views.append(ProbeView(name, _findings(metrics), aspects))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path}: no metrics of a probe; train {name} again") from error
    return views


def _findings(metrics: Mapping[str, Any]) -> list[str]:
    """List the baselines that differ significantly from the probe."""
    groups: dict[str, list[str]] = {"better": [], "worse": []}
    for aspect, content in metrics["aspects"].items():
        for predictor, difference in content["differences"].items():
            _, low, high = difference["macro_f1"]
            if low > 0 or high < 0:
                groups["better" if low > 0 else "worse"].append(f"{PREDICTORS[predictor]} ({aspect})")
    return [
        f"On the test split, the probe has a significantly {side} macro F1 than: {', '.join(baselines)}."
        for side, baselines in groups.items()
        if baselines
    ]


def _aspect_view(name: str, content: Mapping[str, Any]) -> AspectView:
    low, high = content["head"]["range"]
    split = "test" if content["test"] else "cross_validation"
    differences = content["differences"] if content["test"] else {}
    return AspectView(
        name,
        f"{content['head']['head']}, {low} to {high}",
        ", ".join(f"layer {layer} {pooling}" for layer, pooling in content["layers"]),
        content["classifier"],
        "test split" if content["test"] else "cross-validation grouped by question",
        [
            {"predictor": title, **content[split][predictor], "difference": differences.get(predictor)}
            for predictor, title in PREDICTORS.items()
            if predictor in content[split]
        ],
    )
