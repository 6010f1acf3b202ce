"""A language model that is fine-tuned as a judge of single answers, and the stage that trains, calibrates and measures it."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.assets.prepare import load_manifest
from bert_judge.candidates.generators.protocol import Request
from bert_judge.config.models import JudgeTuning
from bert_judge.encoder.judge_folder import METRICS, hash_rows, write_seen_rows
from bert_judge.judges.fine_tuned import (
    Calibration,
    FineTuned,
    JudgeCard,
    PromptWriter,
    explanation,
    hash_weights,
    train_model,
    write_card,
)
from bert_judge.judges.llm.judge import LLMJudge, RowCase
from bert_judge.judges.prompted import PROBABILITY, Reading, ReplyFormat, render_candidate
from bert_judge.judges.protocol import Row
from bert_judge.runtime import resume
from bert_judge.statistics import metrics
from bert_judge.tasks import Sample

log = logging.getLogger(__name__)
# The verdicts on an answer, a single token each in common tokenizers.
YES, NO = "yes", "no"
VERDICTS = (YES, NO)
# Settings of the judge that do not change what it learns.
DEFAULTS: dict[str, Any] = {"seed": 0, "max_candidate_chars": 20_000, "threshold": 0.5, "reasoning": False}


class FineTunedJudge(FineTuned[RowCase], LLMJudge):
    """Implements `judges.protocol.Judge`; the score is the calibrated probability that the answer is correct."""

    choices = VERDICTS

    def make_case(self, row: Row) -> RowCase:
        """See `LLMJudge.make_case`; the answer is marked as truncated if its prompt is."""
        case = super().make_case(row)
        _, is_cut = self._write(case)
        return case._replace(candidate=replace(case.candidate, truncated=case.candidate.truncated or is_cut))

    def _write(self, case: RowCase) -> tuple[str, bool]:
        return self.prompts.write(case.row.question, case.row.references, {"Candidate": case.candidate})

    def _request(self, case: RowCase, reply_format: ReplyFormat) -> Request:
        row = case.row
        prompt = self._write(case)[0] + reply_format.instructions
        return Request(row.sample_id, row.attempt, prompt, Sample(row.question, row.references), reply_format.choices)

    def _to_reading(self, probabilities: Sequence[float]) -> Reading:
        return Reading(PROBABILITY, probabilities[0])

    def _word(self, reading: Reading) -> str:
        return YES if (reading.score or 0) >= self.settings["threshold"] else NO


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
        spec: `Plan.training_spec`.
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
