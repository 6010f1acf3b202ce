"""The README.md beside a judge's weights: what it is, how good it is, how to use it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bert_judge.judges.bert.checkpoint import Card
from bert_judge.judges.model_card import write_readme

CURVES = "calibration.png"
_CARD = """\
---
{{ front_matter }}---

# {{ name }}

A judge of language models' answers: given a question, the right answers and a candidate, it says how right the candidate is,
as a score between 0 and 1. Trained by bert-judge {{ version }} from `{{ card.backbone }}` ({{ card.backbone_revision }}) on the
labels of the teacher `{{ dataset.teacher }}`.

## How good it is

On {{ metrics.n | int }} validation rows, of questions that it was not trained on, against the same teacher
({{ "%.1f" | format(100 * metrics.share_right) }}% of them right):

| metric | value |
|---|---|
{% for key, value in metrics.items() if key not in ("n", "share_right") -%}
| {{ key }} | {{ "%.4g" | format(value) }} |
{% endfor %}
A teacher's mistakes are in these numbers: they say how well the judge imitates it, not how often both are right.

![Reliability diagram and threshold curve on the validation rows]({{ curves }})

Left: on the dashed line a score is the probability of being right; a point is as large as it has rows. Right: what another
`threshold` would give; where the grey line crosses the dashed one, as many answers are called correct as are right.

## What it was trained on

{{ summary.train.rows }} rows with {{ summary.train.questions }} questions; {{ summary.invalid_dropped }} answers without a
valid label were dropped and {{ summary.duplicates_folded }} duplicates folded.
{%- if summary.fallback %} Of the dropped ones {{ summary.fallback }} were trained on with the score of
`{{ dataset.fallback.teacher }}` as their label.
{%- endif %}
{%- if summary.synthetic %}

Beside them stand rows made up from these:
{%- for kind, rows in summary.synthetic.items() %} {{ rows }} {{ kind }}{{ "." if loop.last else "," }}{% endfor %}
{%- endif %}

| task | rows |
|---|---|
{% for task, rows in summary.train.per_task.items() -%}
| {{ task }} | {{ rows }} |
{% endfor %}
## How to use it

```python
from bert_judge.judges.bert.judge import BERTJudge

judge = BERTJudge("path/to/this/folder")
judge.predict(["What is the capital of France?"], [["Paris"]], ["It is Paris."])
```

Input format: `{{ card.input.format }}`{{ "" if card.input.question else ", without the question" }}, at most
{{ card.input.max_length }} tokens. With z = logit₁ − logit₀ of the encoder, the score is
{% if card.stack -%}
sigmoid({{ "%.3f" | format(card.stack.encoder) }} z + {{ "%.3f" | format(card.stack.features) }} t +
{{ "%.3f" | format(card.stack.bias) }}), where t is the log-odds that the trees in `features.txt` give to lexical features;
{%- if card.reach %} where no z in its usual range beside t (`reach` in `judge.json`) would turn the verdict, the encoder does not
read and its mean there stands for z;{% endif %}
{%- else -%}
sigmoid(z / {{ "%.3f" | format(card.temperature) }});
{%- endif %}
correct from the configured threshold on (0.5 unless set). `AutoModelForSequenceClassification` loads the encoder alone.

## Full specification

```json
{{ spec }}
```
"""


def write_model_card(
    folder: str | Path, name: str, card: Card, metrics: Mapping[str, float], dataset: Mapping[str, Any], summary: Mapping[str, Any]
) -> None:
    """Write `README.md` in the form that model hubs read.

    Args:
        folder: of the judge.
        name: of the judge in the configuration.
        card: content of its judge.json.
        metrics: on the validation rows.
        dataset: spec of the dataset.
        summary: the dataset's summary.json.
    """
    shown = {"name": name, "curves": CURVES, "card": card, "metrics": metrics, "dataset": dataset, "summary": summary}
    write_readme(folder, _CARD, card.backbone, "text-classification", "answer-equivalence", card.spec, **shown)
