"""A trained judge as a folder for a model hub, which others load without this program and get the encoder's own scores."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pandas as pd
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from bert_judge import tables
from bert_judge.assets import model_files
from bert_judge.judges.bert.encoding import TAGS
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.judges.bert.judge_folder import JUDGE_FILE
from bert_judge.report.exporters import attack_table
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

# Files of a judge other than weights, tokenizer and model configuration.
OWN = (JUDGE_FILE, "features.txt", "metrics.json", "README.md", "calibration.png")
LABELS = {"0": "incorrect", "1": "correct"}
# What the check looks at: short and long, another script, a special token's own letters.
ROWS = (
    ("What is the capital of France?", "Paris", "It is Paris, I believe."),
    ("What is the capital of France?", "Paris", "Lyon"),
    ("Größe?", "東京", "naïve " * 40),
    ("", "42", "x"),
)
TOLERANCE = 1e-4

_ELSEWHERE = """\

## How to load it elsewhere

These give the encoder's own score, which this program calls raw
{%- if stack %}; the judge's score adds the trees in `features.txt`, by the formula above{% elif temperature != 1 %}; the judge's
score is calibrated, by the formula above{% endif %}. For a reference `r`, a candidate `c`
{{- " and a question `q`" if question }}:

```python
from transformers import AutoModelForSequenceClassification, AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("{{ name }}")
model = AutoModelForSequenceClassification.from_pretrained("{{ name }}")
logits = model(**tokenizer({{ call }}, truncation=True, return_tensors="pt")).logits
score = logits.softmax(-1)[0, 1]
```
{% if pair %}
```python
from sentence_transformers import CrossEncoder

CrossEncoder("{{ name }}").predict([({{ call }})], apply_softmax=True)[:, 1]
```
{% endif %}
They cut rows of more than {{ max_length }} tokens in another place than the judge does, which keeps the reference.
"""


def write(source: Path, folder: Path, name: str | None = None, attacks: pd.DataFrame | None = None) -> float:
    """Write the folder, and make sure that it gives the judge's scores.

    Args:
        source: folder of a trained judge.
        folder: must not be there yet.
        name: under which the folder's card tells people to load it; the folder's own name when left out.
        attacks: how often the judge is fooled (`tables.ATTACK_RATES`), for the folder and its card.

    Returns:
        The largest difference between its scores and the judge's raw ones on a few rows.

    Raises:
        InputError: the source is no trained judge, the folder is there already, or its scores differ.
    """
    if not (source / JUDGE_FILE).is_file():
        raise InputError(f"{source}: no {JUDGE_FILE} in it; name the folder of a judge that was trained here")
    if folder.exists():
        raise InputError(f"{folder}: is there already; remove it, or name another with -o")
    judge = BERTJudge(source, backend="torch", precision="float32", early_exit=False)
    temporary = folder.parent / f".{folder.name}.tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        _copy(source, temporary)
        _name_labels(temporary / "config.json")
        _add_to_card(temporary / "README.md", judge, name or folder.name, attacks)
        if attacks is not None:
            tables.write(attacks, temporary / attack_table.FILE, tables.ATTACK_RATES, {"judge": source.resolve().name})
        difference = _difference(judge, temporary)
        if difference > TOLERANCE:
            raise InputError(
                f"{source}: transformers alone gives other scores (by {difference:.2g}); this judge cannot be published"
            )
        temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return difference


def texts(judge: BERTJudge, question: str, reference: str, candidate: str) -> tuple[str, ...]:
    """What a plain tokenizer is given for a row: one text, or a pair."""
    settings = judge.checkpoint.metadata.input
    if settings.format == "tags":
        shown = f"{TAGS['question']}{question}" if settings.question else ""
        return (f"{shown}{TAGS['candidate']}{candidate}{TAGS['reference']}{reference}",)
    return reference, f"{candidate}{_separator(judge)}{question}" if settings.question else candidate


def _separator(judge: BERTJudge) -> str:
    tokenizer: Any = judge.checkpoint.tokenizer
    return str(tokenizer.sep_token if tokenizer.sep_token_id is not None else tokenizer.eos_token)


def _copy(source: Path, target: Path) -> None:
    names = model_files.complete(source, False, str(source))
    for name in dict.fromkeys([*names, *(name for name in OWN if (source / name).is_file())]):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)


def _name_labels(config: Path) -> None:
    """What a text-classification pipeline calls the two logits."""
    content = json.loads(config.read_text("utf-8"))
    content |= {"id2label": LABELS, "label2id": {label: int(number) for number, label in LABELS.items()}}
    config.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")


def _add_to_card(path: Path, judge: BERTJudge, name: str, attacks: pd.DataFrame | None) -> None:
    card = judge.checkpoint.metadata
    pair = card.input.format == "pair"
    if pair:
        call = f'r, c + "{_separator(judge)}" + q' if card.input.question else "r, c"
    else:
        shown = f'"{TAGS["question"]}" + q + ' if card.input.question else ""
        call = f'{shown}"{TAGS["candidate"]}" + c + "{TAGS["reference"]}" + r'
    template = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True).from_string(_ELSEWHERE)
    told = template.render(
        name=name,
        call=call,
        pair=pair,
        question=card.input.question,
        stack=card.stacker,
        temperature=card.temperature,
        max_length=judge.checkpoint.encoder.max_length,
    )
    fooled = "" if attacks is None else attack_table.section(attacks)
    before = path.read_text("utf-8") if path.is_file() else f"# {name}\n\nA judge of language models' answers.\n"
    path.write_text(before.replace("path/to/this/folder", name).rstrip() + "\n" + fooled + told, "utf-8")


def _difference(judge: BERTJudge, folder: Path) -> float:
    rows = [row for row in ROWS if not judge.explain([row[0]], [row[1]], [row[2]]).truncated[0]]
    expected = [judge.explain([question], [reference], [candidate]).raw[0] for question, reference, candidate in rows]
    found = plain_scores(folder, [texts(judge, *row) for row in rows])
    return float(np.max(np.abs(np.array(expected) - found), initial=0.0))


def plain_scores(folder: Path, shown: Sequence[tuple[str, ...]]) -> np.ndarray:
    """Scores by transformers alone, shape (n,)."""
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = AutoModelForSequenceClassification.from_pretrained(folder, local_files_only=True, dtype=torch.float32).eval()
    with torch.inference_mode():
        logits = [model(**tokenizer(*parts, truncation=True, return_tensors="pt")).logits[0] for parts in shown]
    return np.array([float(torch.softmax(one, -1)[1]) for one in logits])
