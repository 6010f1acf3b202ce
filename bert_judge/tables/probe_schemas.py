"""Schema of what probes and their baselines say of rows that they have not learnt from."""

from __future__ import annotations

import pyarrow as pa

from bert_judge.tables.schemas import ATTEMPT, MODEL, SAMPLE_ID, Column, Schema

TOLD = Schema(
    "told",
    1,
    ("teller", "part", "aspect", "task", "model", "sample_id", "attempt"),
    (
        Column("teller", pa.string(), "who says it: probe, or the name of a baseline"),
        Column("part", pa.string(), "of the dataset", allowed=("cross_validation", "test")),
        Column("aspect", pa.string(), "what is told"),
        Column("task", pa.string(), "name of the task"),
        MODEL,
        SAMPLE_ID,
        ATTEMPT,
        Column("question", pa.string(), "key of the question, which its answers share"),
        Column("truth", pa.int64(), "class by the teacher"),
        Column("told", pa.int64(), "class by the teller"),
    ),
)
