"""The card of a probe: what it tells, from which layers, and how well, beside what needs no model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bert_judge import __version__, tables

_PARTS = {"cross_validation": "cross-validation by question", "test": "test part, never trained on"}


def write_card(folder: Path, spec: Mapping[str, Any], metrics: Mapping[str, Any], revisions: Mapping[str, str]) -> None:
    """Write `README.md`.

    Args:
        spec: `Plan.probe_spec`.
        metrics: aspect → figures, as in metrics.json.
        revisions: backbone → revision.
    """
    read = ", ".join(f"`{name}` at {revision}" for name, revision in revisions.items())
    lines = [
        f"# {spec['judge']}",
        "",
        f"Probe of bert-judge {__version__}: classifiers on the hidden states of a frozen model ({read}).",
        f"It sees question and answer, no reference. Trained on the dataset `{spec['dataset']}`.",
        "",
        "| aspect | head | told from (layer, pooling) | classifier |",
        "|---|---|---|---|",
        *(_described(name, found) for name, found in metrics.items()),
        "",
        "Intervals are of a bootstrap over questions (95%). In the cross-validation every fold chooses layers, classifier and",
        "calibration from its own training rows.",
        "",
        "| aspect | rows | who | macro F1 | weighted F1 | n |",
        "|---|---|---|---|---|---|",
        *(line for name, found in metrics.items() for line in _scores(name, found)),
        "",
        "```python",
        "from bert_judge.loops.samples import evaluate_samples",
        "",
        'evaluate_samples([{"question": "…", "prediction": "…"}], judge="path/to/this/folder", top_percent=50)',
        "```",
        "",
        "## Full specification",
        "",
        "```json",
        json.dumps(spec, indent=2, ensure_ascii=False),
        "```",
        "",
    ]
    with tables.atomic(folder / "README.md") as temporary:
        temporary.write_text("\n".join(lines), "utf-8")


def _described(name: str, found: Mapping[str, Any]) -> str:
    head = found["head"]
    scale = f"{head['head']}, {head['range'][0]} to {head['range'][1]}"
    places = ", ".join(f"{layer} {pooling}" for layer, pooling in found["places"])
    return f"| {name} | {scale} | {places} | {found['classifier']} |"


def _scores(name: str, found: Mapping[str, Any]) -> list[str]:
    return [
        f"| {name} | {told} | {who} | {_interval(figures['macro_f1'])} | {_interval(figures['weighted_f1'])} | {figures['n']} |"
        for part, told in _PARTS.items()
        for who, figures in sorted(found[part].items(), key=lambda pair: pair[0] != "probe")
    ]


def _interval(figure: list[float]) -> str:
    value, low, high = (100 * number for number in figure)
    return f"{value:.1f} ({low:.1f} to {high:.1f})"
