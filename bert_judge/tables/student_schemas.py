"""Schemas of the tables about students: what they learn from, and what they are worth."""

from __future__ import annotations

import pyarrow as pa

from bert_judge.tables.schemas import ATTEMPT, CANDIDATE, MODEL, QUESTION, REFERENCES, SAMPLE_ID, Column, Schema

FILTERED = Schema(
    "filtered",
    1,
    ("sample_id", "attempt", "model"),
    (
        SAMPLE_ID,
        ATTEMPT,
        Column("task", pa.string(), "name of the task"),
        MODEL,
        QUESTION,
        REFERENCES,
        CANDIDATE,
        Column("score", pa.float64(), "the judge's score, 0 to 1; null where no judge was asked", nullable=True, bounds=(0.0, 1.0)),
    ),
)

STUDENTS = Schema(
    "students",
    2,
    ("recipe", "model", "level", "task", "judge"),
    (
        Column("recipe", pa.string(), "key under models that the student comes from"),
        MODEL,
        Column("filter", pa.string(), "filter of its training answers; null for the base model", nullable=True),
        Column("chooser", pa.string(), "the filter's judge, or random or all; null for the base model", nullable=True),
        Column("keep", pa.float64(), "percent of the answers that the filter kept; 0 for the base model", bounds=(0.0, 100.0)),
        Column("answers", pa.int64(), "number of training answers; 0 for the base model"),
        Column("level", pa.string(), "'task', or 'all' for the answers to all tasks together", allowed=("all", "task")),
        Column("task", pa.string(), "name of the task, or 'all'"),
        Column("judge", pa.string(), "the judge that tells what its own answers are worth"),
        Column("n", pa.int64(), "its answers"),
        Column("accuracy", pa.float64(), "share judged correct; an invalid verdict counts as incorrect", nullable=True),
        Column("low", pa.float64(), "lower end of the 95% interval, clustered by question", nullable=True),
        Column("high", pa.float64(), "upper end of the 95% interval", nullable=True),
        Column("control", pa.string(), "the student of as many answers drawn at random; null without one", nullable=True),
        Column("difference", pa.float64(), "its accuracy minus the control's on the answers of both", nullable=True),
        Column("difference_low", pa.float64(), "lower end of the 95% interval, bootstrapped over questions", nullable=True),
        Column("difference_high", pa.float64(), "upper end of it", nullable=True),
        Column("p_value", pa.float64(), "exact McNemar test over questions, two-sided, not adjusted", nullable=True),
    ),
)
