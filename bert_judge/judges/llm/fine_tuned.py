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
from bert_judge.config.models import JudgeTuning
from bert_judge.encoder.judge_folder import hash_rows, write_seen_rows
from bert_judge.judges.fine_tuned import Calibration, FineTuned, FineTuning, PromptWriter, explanation
from bert_judge.judges.llm.judge import LLMJudge, RowCase
from bert_judge.judges.prompted import PROBABILITY, Reading, render_candidate
from bert_judge.judges.protocol import Row
from bert_judge.judges.registry import TrainingContext
from bert_judge.statistics import metrics

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

    def _prompt(self, case: RowCase, instructions: str) -> str:
        return self._write(case)[0] + instructions

    def _to_reading(self, probabilities: Sequence[float]) -> Reading:
        return Reading(PROBABILITY, probabilities[0])

    def _word(self, reading: Reading) -> str:
        return YES if (reading.score or 0) >= self.settings["threshold"] else NO


def train_judge(context: TrainingContext) -> None:
    """Fine-tune a language model on a dataset, calibrate and measure it on the validation rows, and write its model card."""
    spec, inputs = context.spec, context.inputs
    rows, held_out = (tables.read(inputs[name], tables.DATASET) for name in ("train", "validation"))
    labels = held_out["label"].to_numpy(float)
    simulated = bool(json.loads(Path(inputs["summary"]).read_text("utf-8"))["simulated"])

    def write_examples(writer: PromptWriter) -> list[tuple[str, str, str]]:
        columns = zip(to_rows(rows), rows["label"], rows["aspects"], rows["rationale"], strict=True)
        return [write_example(writer, row, label, aspects or {}, rationale) for row, label, aspects, rationale in columns]

    training = FineTuning(context, FineTunedJudge, DEFAULTS, context.settings(JudgeTuning), simulated)
    judge, statistics = training.run(write_examples, tables.fingerprint(rows))
    log_probabilities = judge.log_probabilities(list(map(judge.make_case, to_rows(held_out))))
    judge.card.calibration = Calibration.fit(log_probabilities, np.stack([labels, 1 - labels], axis=1))
    result = metrics.classification_metrics(labels, judge.card.calibration(log_probabilities)[:, 0])
    log.info("validation: %s", {name: round(value, 4) for name, value in result.items()})
    training_rows = pd.concat([rows, held_out])
    write_seen_rows(context.folder, hash_rows(training_rows["question"], training_rows["candidate"]))
    training.write(judge, result, {"rows": len(rows), **statistics}, f"{len(rows):,} answers of the dataset `{spec['dataset']}`")


def write_example(
    writer: PromptWriter, row: Row, label: float, aspects: Mapping[str, float], rationale: str | float | None
) -> tuple[str, str, str]:
    """Return prompt, verdict and explanation of a training row; the value of a single aspect is learned as a grade."""
    candidate = render_candidate(row, DEFAULTS["seed"], DEFAULTS["max_candidate_chars"])
    prompt, _ = writer.write(row.question, row.references, {"Candidate": candidate})
    return prompt, YES if label >= 0.5 else NO, explanation([*aspects.values()] if len(aspects) == 1 else [], rationale)


def to_rows(frame: pd.DataFrame) -> list[Row]:
    """Return the rows of a dataset as input of a judge."""
    columns = (frame[name] for name in ("sample_id", "attempt", "model", "question", "references", "candidate"))
    return [
        Row(sample, attempt, model, question, tuple(references), candidate)
        for sample, attempt, model, question, references, candidate in zip(*columns, strict=True)
    ]
