"""Export a trained judge as a model-hub folder that transformers can load without this package, with identical encoder scores."""

import json
import logging
import shutil
from collections.abc import Sequence
from pathlib import Path

import jinja2
import numpy as np
import pandas as pd
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from bert_judge import tables
from bert_judge.encoder.encoding import TAGS
from bert_judge.encoder.judge_folder import JUDGE_FILE, TREES_FILE, write_checksums
from bert_judge.encoder.weights import INPUTS_FILE
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.report.format import format_table, interval, percent
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

ATTACKS_FILE = "attacks.parquet"
# Files of the judge beside weights, tokenizer and configuration.
COPIED_FILES = (JUDGE_FILE, TREES_FILE, INPUTS_FILE, "metrics.json", "README.md")
LABELS = {"0": "incorrect", "1": "correct"}
# Rows of the score check: short and long texts, another script, the text of a special token.
CHECK_ROWS = (
    ("What is the capital of France?", "Paris", "It is Paris, I believe."),
    ("What is the capital of France?", "Paris", "Lyon"),
    ("Größe?", "東京", "naïve " * 40),
    ("", "42", "x"),
)
TOLERANCE = 1e-4
ATTACK_HEADINGS = {"attack": "Attacks judged correct", "benign_perturbation": "Benign perturbations judged incorrect"}


def write(source: Path, folder: Path, name: str | None = None, attacks: pd.DataFrame | None = None) -> float:
    """Write the folder, and verify that it reproduces the judge's scores.

    Args:
        name: model id in the card's code; by default the name of the output folder.
        attacks: rates at which the judge is fooled (`tables.ATTACK_RATES`), for the folder and its card.

    Returns:
        The largest absolute difference from the judge's raw scores on a few rows.

    Raises:
        InputError: the source is no trained judge, the output exists, or the scores differ.
    """
    if not (source / JUDGE_FILE).is_file():
        raise InputError(f"{source}: no {JUDGE_FILE} in it; name the folder of a judge trained by bert-judge")
    with tables.atomic_folder(folder) as temporary:
        judge = BERTJudge(source, backend="torch", precision="float32", early_exit=False)
        # Writes float32 weights, also where the source has 8-bit ones, which only this package reads.
        judge.checkpoint.save(temporary)
        for file in COPIED_FILES:
            if (source / file).is_file():
                shutil.copyfile(source / file, temporary / file)
        _set_label_names(temporary / "config.json")
        _extend_card(temporary / "README.md", judge, name or folder.name, attacks)
        if attacks is not None:
            tables.write(attacks, temporary / ATTACKS_FILE, tables.ATTACK_RATES, {"judge": source.resolve().name})
        difference = _max_score_difference(judge, temporary)
        if difference > TOLERANCE:
            raise InputError(
                f"{source}: transformers alone gives different scores (by {difference:.2g}); this judge cannot be published"
            )
        write_checksums(temporary)
    return difference


def read_attack_rates(rates: Path, judge: str) -> pd.DataFrame:
    """Return the rates of one judge from the table of `snakemake attacks` or `bert-judge attack`; empty if it was not attacked."""
    table = tables.read(rates, tables.ATTACK_RATES)
    return table[table["judge"] == judge].reset_index(drop=True)


def attack_section(rates: pd.DataFrame) -> str:
    """Return a Markdown section with a table of attacks and one of benign perturbations: all families together, then each theme."""
    sections = [
        "\n## Robustness\n\nRates on synthetic answers: incorrect ones that claim to be correct, and correct ones in unusual "
        f"formats. In brackets the 95% interval, clustered by question; `{ATTACKS_FILE}` has the rate of every family.\n"
    ]
    for kind, heading in ATTACK_HEADINGS.items():
        rows = rates[(rates["kind"] == kind) & (rates["level"] != "family")].sort_values("level", kind="stable")
        if not rows.empty:
            table = {
                heading: rows["group"].where(rows["level"] != "kind", "all"),
                "answers": rows["n"],
                "fooled": [f"{percent(row.error_rate)} [{interval(row.low, row.high)}]" for row in rows.itertuples()],
            }
            sections.append("\n" + format_table(pd.DataFrame(table), "markdown"))
    return "".join(sections)


def tokenizer_inputs(judge: BERTJudge, question: str, reference: str, candidate: str) -> tuple[str, ...]:
    """Return the arguments of a plain tokenizer for a row: one text, or a pair."""
    settings = judge.checkpoint.metadata.input
    if settings.format == "tags":
        prefix = f"{TAGS['question']}{question}" if settings.question else ""
        return (f"{prefix}{TAGS['candidate']}{candidate}{TAGS['reference']}{reference}",)
    return reference, f"{candidate}{_separator(judge)}{question}" if settings.question else candidate


def plain_scores(folder: Path, inputs: Sequence[tuple[str, ...]]) -> np.ndarray:
    """Return the scores of transformers alone, shape (n,)."""
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = AutoModelForSequenceClassification.from_pretrained(folder, local_files_only=True, dtype=torch.float32).eval()
    with torch.inference_mode():
        logits = [model(**tokenizer(*texts, truncation=True, return_tensors="pt")).logits[0] for texts in inputs]
    return np.array([float(torch.softmax(row, -1)[1]) for row in logits])


def _separator(judge: BERTJudge) -> str:
    tokenizer = judge.checkpoint.tokenizer
    assert tokenizer.separator_id is not None
    return str(tokenizer.backend.id_to_token(tokenizer.separator_id))


def _set_label_names(config: Path) -> None:
    """Name the two classes for text-classification pipelines."""
    content = json.loads(config.read_text("utf-8"))
    content |= {"id2label": LABELS, "label2id": {label: int(index) for index, label in LABELS.items()}}
    config.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")


def _extend_card(path: Path, judge: BERTJudge, name: str, attacks: pd.DataFrame | None) -> None:
    card = judge.checkpoint.metadata
    pair = card.input.format == "pair"
    if pair:
        call = f'r, c + "{_separator(judge)}" + q' if card.input.question else "r, c"
    else:
        prefix = f'"{TAGS["question"]}" + q + ' if card.input.question else ""
        call = f'{prefix}"{TAGS["candidate"]}" + c + "{TAGS["reference"]}" + r'
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("bert_judge", "report"), undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    usage = environment.get_template("usage.md.jinja").render(
        name=name,
        call=call,
        pair=pair,
        question=card.input.question,
        stack=card.stacker,
        temperature=card.temperature,
        max_length=judge.checkpoint.encoder.max_length,
    )
    robustness = "" if attacks is None else attack_section(attacks)
    content = path.read_text("utf-8") if path.is_file() else f"# {name}\n\nA judge of language models' answers.\n"
    path.write_text(content.replace("path/to/this/folder", name).rstrip() + "\n" + robustness + usage, "utf-8")


def _max_score_difference(judge: BERTJudge, folder: Path) -> float:
    rows = [row for row in CHECK_ROWS if not judge.explain([row[0]], [row[1]], [row[2]]).truncated[0]]
    expected = [judge.explain([question], [reference], [candidate]).raw_scores[0] for question, reference, candidate in rows]
    scores = plain_scores(folder, [tokenizer_inputs(judge, *row) for row in rows])
    return float(np.max(np.abs(np.array(expected) - scores), initial=0.0))
