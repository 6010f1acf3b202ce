"""The stage that fine-tunes a language model as a judge of single answers, calibrates it and measures it."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.assets.prepare import load_manifest
from bert_judge.config.training import JudgeTuning
from bert_judge.encoder.judge_folder import METRICS, hash_rows, write_seen_rows
from bert_judge.judges.llm.fine_tuned import (
    NO,
    YES,
    Calibration,
    FineTunedJudge,
    JudgeCard,
    PromptWriter,
    explanation,
    hash_weights,
    train_model,
)
from bert_judge.judges.llm.prompting import render_candidate
from bert_judge.judges.model_card import markdown_table, metrics_table, write_model_card
from bert_judge.judges.protocol import Row
from bert_judge.runtime import resume
from bert_judge.statistics import metrics

log = logging.getLogger(__name__)
# Settings of the judge that do not change what it learns.
DEFAULTS: dict[str, Any] = {"seed": 0, "max_candidate_chars": 20_000, "threshold": 0.5, "reasoning": False}


def train_judge(
    spec: Mapping[str, Any],
    train: str | Path,
    validation: str | Path,
    summary: str | Path,
    base: str | Path,
    folder: str | Path,
    work_folder: str | Path,
    run_time: Mapping[str, Any] | None = None,
) -> None:
    """Fine-tune a language model on a dataset; write it with its metrics and model card.

    Args:
        spec: `Plan.judge_spec`.
        train, validation: dataset tables; calibration and metrics are fitted and measured on `validation`.
        base: manifest of the base model.
        folder: gets adapter or weights, tokenizer, metrics.json, README.md and, last, judge.json.
        work_folder: holds the training checkpoints until the judge is complete.
    """
    folder, manifest = Path(folder), load_manifest(base)
    rows, held_out = tables.read(train, tables.DATASET), tables.read(validation, tables.DATASET)
    tuning = JudgeTuning.model_validate({**spec["training"], **(run_time or {})})
    card = JudgeCard("llm", manifest.repository, manifest.revision, hash_weights(manifest), tuning.max_length, spec=dict(spec))
    counts = json.loads(Path(summary).read_text("utf-8"))
    card.simulated = bool(counts["simulated"])
    key = resume.content_key(tables.canonical(spec), manifest.revision, tables.fingerprint(rows))

    def write_examples(writer: PromptWriter) -> list[tuple[str, str, str]]:
        return [write_example(writer, row, label) for row, label in zip(to_rows(rows), rows["label"], strict=True)]

    statistics = train_model(card, tuning, manifest, write_examples, folder, Path(work_folder) / key)
    judge = FineTunedJudge.load(folder, spec["judge"], DEFAULTS, card, manifest)
    labels = held_out["label"].to_numpy(float)
    log_probabilities = judge.log_probabilities(list(map(judge.make_case, to_rows(held_out))))
    card.calibration = Calibration.fit(log_probabilities, np.stack([labels, 1 - labels], axis=1))
    result = metrics.classification_metrics(labels, card.calibration(log_probabilities)[:, 0])
    log.info("validation: %s", {name: round(value, 4) for name, value in result.items()})
    tables.write_json(folder / METRICS, {"validation": result, "training": {"rows": len(rows), **statistics}})
    seen = pd.concat([rows, held_out])
    write_seen_rows(folder, hash_rows(seen["question"], seen["candidate"]))
    write_card(folder, spec["judge"], card, result, f"{len(rows):,} answers of the dataset `{spec['dataset']}`", statistics)
    card.write(folder)
    resume.clear(work_folder)


def write_example(writer: PromptWriter, row: Row, label: float) -> tuple[str, str, str]:
    candidate = render_candidate(row, DEFAULTS["seed"], DEFAULTS["max_candidate_chars"])
    prompt, _ = writer.write(row.question, row.references, {"Candidate": candidate})
    return prompt, YES if label >= 0.5 else NO, explanation([], None)


def to_rows(frame: pd.DataFrame) -> list[Row]:
    """Return the rows of a dataset as input of a judge."""
    columns = (frame[name] for name in ("sample_id", "attempt", "model", "question", "references", "candidate"))
    return [
        Row(sample, attempt, model, question, tuple(references), candidate)
        for sample, attempt, model, question, references, candidate in zip(*columns, strict=True)
    ]


def write_card(
    folder: Path, name: str, card: JudgeCard, result: Mapping[str, float], data: str, statistics: Mapping[str, float]
) -> None:
    """Write the model card of a fine-tuned judge of answers or of pairs."""
    tuning = card.spec["training"]
    method = f"LoRA of rank {tuning['lora']['rank']}" if tuning["method"] == "lora" else "all weights"
    steps = f"{tuning['epochs']:g} epochs, {statistics['steps']:g} steps, learning rate {tuning['learning_rate']:g}"
    facts = {
        "base model": f"`{card.base}`, revision `{card.base_revision}`",
        "data": data,
        "method": f"{method}, {steps}",
        "training loss": f"{statistics['loss']:.4f} (mean over the run, verdicts and explanations only)",
        "calibration": f"slope {card.calibration.slope:.3f}, offset {card.calibration.offset:.3f}, fitted on held-out questions",
    }
    subject = "decides which of two answers is better" if card.kind == "pairwise" else "compares answers with references"
    write_model_card(
        folder,
        title=name,
        introduction=f"A language model, fine-tuned as a judge that {subject}. `bert-judge score FILE --judge FOLDER` uses it.",
        sections={
            "Training": markdown_table(("training", ""), facts.items()),
            "Evaluation": f"On {result['n']:g} held-out rows, on which it was calibrated too:\n\n{metrics_table(result)}",
        },
        base_model=card.base,
        pipeline_tag="text-generation",
        tags=("evaluation", "llm-as-a-judge"),
        spec=card.spec,
    )
