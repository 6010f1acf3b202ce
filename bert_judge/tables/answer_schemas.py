"""Schemas of the tables on the way from questions to scores: a row per question or per answer."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from bert_judge.tables.schemas import (
    ANSWER_KINDS,
    ATTEMPT,
    CANDIDATE,
    MODEL,
    NUMBERS,
    QUESTION,
    REFERENCES,
    SAMPLE_ID,
    STATUS,
    TEXTS,
    VERDICTS,
    Column,
    Schema,
)

TASK = Schema(
    "task",
    1,
    ("sample_id",),
    (
        SAMPLE_ID,
        QUESTION,
        REFERENCES,
        Column("choices", TEXTS, "answer options in their order, for multiple choice", nullable=True),
        Column("answer_kind", pa.string(), "format of a correct answer", allowed=ANSWER_KINDS),
    ),
)

CANDIDATES = Schema(
    "candidates",
    2,
    ("sample_id", "attempt"),
    (
        SAMPLE_ID,
        ATTEMPT,
        QUESTION,
        REFERENCES,
        MODEL,
        CANDIDATE,
        Column("reasoning", pa.string(), "text of a separate reasoning block", nullable=True),
        STATUS,
        Column("reason", pa.string(), "why there is no answer; null when there is one", nullable=True),
        Column("prompt_tokens", pa.int32(), "tokens of the prompt", nullable=True),
        Column("completion_tokens", pa.int32(), "tokens generated, reasoning included", nullable=True),
    ),
)

LABELS = Schema(
    "labels",
    2,
    ("sample_id", "attempt"),
    (
        SAMPLE_ID,
        ATTEMPT,
        MODEL,
        Column("judge", pa.string(), "name of the judge in the configuration"),
        Column("verdict", pa.string(), "the decision", allowed=VERDICTS),
        Column("score", pa.float64(), "degree of correctness, 0 to 1; null when invalid", nullable=True, bounds=(0.0, 1.0)),
        Column("reason", pa.string(), "why a verdict is invalid, or what decided it", nullable=True),
        Column("raw", pa.string(), "the judge's own words or uncalibrated score", nullable=True),
        Column("truncated", pa.bool_(), "the judge did not see the whole question, candidate and reference"),
        Column("prompt_tokens", pa.int32(), "tokens the judge read", nullable=True),
        Column("completion_tokens", pa.int32(), "tokens the judge wrote", nullable=True),
        Column("aspects", NUMBERS, "aspect → value on its own scale, of a judge of aspects", nullable=True, late=True),
    ),
)

DATASET = Schema(
    "dataset",
    2,
    ("sample_id", "attempt", "model"),
    (
        SAMPLE_ID,
        ATTEMPT,
        Column("task", pa.string(), "name of the task"),
        MODEL,
        QUESTION,
        REFERENCES,
        CANDIDATE,
        Column("label", pa.float64(), "the teacher's score, 0 to 1", bounds=(0.0, 1.0)),
        Column("weight", pa.float64(), "weight of the row in the training loss"),
        Column("aspects", NUMBERS, "the teacher's aspects, on their own scales", nullable=True, late=True),
    ),
)


def scores_schema(judges: Iterable[str]) -> Schema:
    """The schema of a score table: the candidate's row, then `{judge}` and `{judge}_verdict` per judge."""
    columns = [SAMPLE_ID, ATTEMPT, QUESTION, REFERENCES, CANDIDATE, STATUS]
    for judge in judges:
        columns += [
            Column(judge, pa.float64(), f"score by {judge}; null when invalid", nullable=True, bounds=(0.0, 1.0)),
            Column(f"{judge}_verdict", pa.string(), f"verdict by {judge}", allowed=VERDICTS),
        ]
    return Schema("scores", 1, ("sample_id", "attempt"), tuple(columns))
