"""The README.md beside the weights of a language model that was tuned to compare two answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bert_judge.assets.prepare import Manifest
from bert_judge.judges.model_card import write_readme

_CARD = """\
---
{{ front_matter }}---

# {{ name }}

A language model that says which of two answers to a question is better: it writes a score for each, 1 to 9, before anything
else, and may give reasons after. Tuned by bert-judge {{ version }} from `{{ base.repository }}` ({{ base.revision }}).

| | |
|---|---|
| pairs | {{ rows.pairs }} of {{ sets }}, made-up ones counted; {{ rows.left_out }} left out as too long |
| with reasons | {{ rows.reasons }} |
| method | {{ method }}, {{ "%g" | format(tuning.epochs) }} epochs, {{ rows.steps }} steps, rate {{ tuning.learning_rate }} |
| training loss | {{ "%.4f" | format(rows.loss) }} (mean over the run, tokens of scores and reasons only) |

## How good it is

On {{ metrics.n | int }} pairs of questions that it was not trained on, scores alone, each pair in both orders:

| metric | value |
|---|---|
{% for key, value in metrics.items() if key != "n" -%}
| {{ key }} | {{ "%.4g" | format(value) }} |
{% endfor %}
A pair whose two orders contradict each other counts as wrong.

## How to use it

```python
from bert_judge.judges.pairwise import Pair, tuned

judge = tuned.load("path/to/this/folder/judge.json", "{{ name }}")
judge.compare([Pair("Name a fruit.", "An apple.", "Granite.")])[0].verdict
```

## Full specification

```json
{{ spec }}
```
"""


def write_tuned_card(
    folder: Path, spec: Mapping[str, Any], base: Manifest, metrics: Mapping[str, float], rows: Mapping[str, Any]
) -> None:
    """Write `README.md` in the form that model hubs read.

    Args:
        folder: of the judge.
        spec: of `Plan.tuned_judge_spec`.
        base: the model that it started from.
        metrics: on the held-out questions.
        rows: figures of the training: pairs, left_out, reasons, steps, loss.
    """
    tuning = spec["tuning"]
    shown = {
        "name": spec["judge"],
        "base": base,
        "rows": rows,
        "sets": ", ".join(f"`{name}`" for name in spec["pairs"]),
        "method": f"LoRA of rank {tuning['lora']['rank']}, merged" if tuning["method"] == "lora" else "All weights",
        "tuning": tuning,
        "metrics": metrics,
    }
    write_readme(folder, _CARD, base.repository, "text-generation", "pairwise-comparison", spec, **shown)
