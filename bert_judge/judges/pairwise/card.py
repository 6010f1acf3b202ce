"""The README.md beside the weights of a judge of two answers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bert_judge.judges.bert.checkpoint import JudgeMetadata
from bert_judge.judges.model_card import write_readme

READS = {
    "symmetric": "It reads A before B and B before A, and the difference counts: a swap mirrors its verdict exactly.",
    "pointwise": "It reads each answer alone, and the difference counts: a swap mirrors its verdict exactly.",
    "single_order": "It reads one order at a time, and may contradict itself when the answers change places.",
}
_CARD = """\
---
{{ front_matter }}---

# {{ name }}

A judge of which of two answers to a question is better. Trained by bert-judge {{ version }} from `{{ card.backbone }}`
({{ card.backbone_revision }}) on {{ rows }} labelled pairs of {{ sets }}. {{ reads }}

## How good it is

On {{ metrics.n | int }} pairs of questions that it was not trained on:

| metric | value |
|---|---|
{% for key, value in metrics.items() if key != "n" -%}
| {{ key }} | {{ "%.4g" | format(value) }} |
{% endfor %}
When two answers tie was learnt on the same pairs, so the share of ties and the agreement are a little better than elsewhere.

## How to use it

```python
from bert_judge.judges.pairwise import Pair
from bert_judge.judges.pairwise.encoder import PairEncoderJudge

judge = PairEncoderJudge("path/to/this/folder")
judge.compare([Pair("Name a fruit.", "An apple.", "Granite.")])[0].verdict
```

The difference d of its two numbers gives P(A) : P(tie) : P(B) = exp(d/2T) : ν : exp(−d/2T), with
T = {{ "%.3f" | format(card.temperature) }} and ln ν = {{ "%.3f" | format(card.pairwise.log_nu) }} (Davidson 1970).

## Full specification

```json
{{ spec }}
```
"""


def write_pair_card(folder: str | Path, name: str, card: JudgeMetadata, metrics: Mapping[str, float], rows: int) -> None:
    """Write `README.md` in the form that model hubs read.

    Args:
        folder: of the judge.
        name: of the judge in the configuration.
        card: content of its judge.json.
        metrics: on the held-out questions.
        rows: labelled pairs that it learnt from, made-up ones not counted.
    """
    sets = ", ".join(f"`{name}`" for name in card.spec["pairs"])
    shown = {"name": name, "card": card, "rows": rows, "sets": sets, "reads": READS[card.pairwise["compare"]], "metrics": metrics}
    write_readme(folder, _CARD, card.backbone, "text-classification", "pairwise-comparison", card.spec, **shown)
