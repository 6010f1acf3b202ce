"""The card of a probe: what it tells, from which layers, and how well, beside its baselines."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bert_judge import __version__, tables

_PARTS = {"test": "test part, never trained on", "cross_validation": "cross-validation by question"}
# The order in which tellers are shown.
TELLERS = ("probe", "majority", "length", "fine_tuned", "lora", "prompted")


def write_card(folder: Path, spec: Mapping[str, Any], metrics: Mapping[str, Any], revisions: Mapping[str, str]) -> None:
    """Write `README.md`.

    Args:
        spec: `Plan.measures_spec`.
        metrics: as metrics.json holds them.
        revisions: backbone → revision.
    """
    read = ", ".join(f"`{name}` at {revision}" for name, revision in revisions.items())
    aspects = metrics["aspects"]
    lines = [
        f"# {spec['judge']}",
        "",
        f"Probe of bert-judge {__version__}: classifiers on the hidden states of a frozen model ({read}).",
        f"It sees question and answer, no reference. Trained on the dataset `{spec['dataset']}`.",
        "",
        "| aspect | head | told from (layer, pooling) | classifier |",
        "|---|---|---|---|",
        *(_described(name, found) for name, found in aspects.items()),
        "",
        "Intervals are of a bootstrap over questions (95%); a difference is the probe's figure minus the other's, both on the same",
        "draws. In the cross-validation every fold chooses layers, classifier and calibration from its own training rows.",
        "",
        "| aspect | rows | who | macro F1 | weighted F1 | n | macro F1 of the probe minus this |",
        "|---|---|---|---|---|---|---|",
        *(line for name, found in aspects.items() for line in _scores(name, found)),
        "",
        *_beside(metrics),
        "```python",
        "from bert_judge.integrations.samples import evaluate_samples",
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


def compared(name: str, differences: Mapping[str, Any]) -> list[str]:
    """What the differences on the test part say of an aspect, in words: a sentence per outcome that occurs."""
    sides: dict[str, list[str]] = {"better than": [], "worse than": [], "not told apart from": []}
    for teller in TELLERS:
        if teller in differences:
            _, low, high = differences[teller]["macro_f1"]
            sides["better than" if low > 0 else "worse than" if high < 0 else "not told apart from"].append(teller)
    return [f"{name}: the probe is {side} {', '.join(others)} in macro F1." for side, others in sides.items() if others]


def _beside(metrics: Mapping[str, Any]) -> list[str]:
    """What the figures say in words, and how the baselines came about that load the backbone."""
    lines = [f"- {said}" for name, found in metrics["aspects"].items() for said in compared(name, found["differences"])]
    lines += [f"- {told_of(name, note)}" for name, note in metrics["baselines"].items()]
    return [*lines, ""] if lines else []


def told_of(name: str, note: Mapping[str, Any]) -> str:
    """How a baseline came about, in a sentence."""
    if note.get("absent"):
        return f"{name} is absent: {note['absent']}."
    if "rows" not in note:
        return f"{name}: the backbone is asked for each aspect, and its likeliest grade counts."
    once = [aspect for aspect, classes in note["predicted_classes"].items() if len(classes) == 1]
    fallen = f" It tells one class only of {', '.join(once)}." if once else ""
    return (
        f"{name}: {note['rows']} rows, {note['weights']:,} weights learnt; of {note['num_evals']} moments the best is step "
        f"{note['best_step']} of {note['steps']}, by {note['held_out_rows']} rows held out "
        f"(macro F1 {100 * note['held_out_f1']:.1f}).{fallen}"
    )


def _described(name: str, found: Mapping[str, Any]) -> str:
    head = found["head"]
    scale = f"{head['head']}, {head['range'][0]} to {head['range'][1]}"
    places = ", ".join(f"{layer} {pooling}" for layer, pooling in found["places"])
    return f"| {name} | {scale} | {places} | {found['classifier']} |"


def _scores(name: str, found: Mapping[str, Any]) -> list[str]:
    return [
        f"| {name} | {told} | {who} | {_interval(figures['macro_f1'])} | {_interval(figures['weighted_f1'])} | {figures['n']} | "
        f"{_difference(found, part, who)} |"
        for part, told in _PARTS.items()
        for who, figures in sorted(found[part].items(), key=lambda pair: TELLERS.index(pair[0]))
    ]


def _difference(found: Mapping[str, Any], part: str, who: str) -> str:
    figures = found["differences"].get(who) if part == "test" else None
    return _interval(figures["macro_f1"], "+") if figures else ""


def _interval(figure: list[float], sign: str = "") -> str:
    value, low, high = (100 * number for number in figure)
    return f"{value:{sign}.1f} ({low:{sign}.1f} to {high:{sign}.1f})"
