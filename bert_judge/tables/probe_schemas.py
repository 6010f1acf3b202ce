"""Schema of the predictions of probes and of their baselines on rows that they were not trained on."""

from __future__ import annotations

import pyarrow as pa

from bert_judge.tables.schemas import ATTEMPT, MODEL, SAMPLE_ID, Column, Schema

PREDICTIONS = Schema(
    "predictions",
    1,
    ("predictor", "split", "aspect", "task", "model", "sample_id", "attempt"),
    (
        Column("predictor", pa.string(), "probe, or the name of a baseline"),
        Column(
            "split",
            pa.string(),
            "cross-validation folds of the training rows, or the test split",
            allowed=("cross_validation", "test"),
        ),
        Column("aspect", pa.string(), "name of the aspect"),
        Column("task", pa.string(), "name of the task"),
        MODEL,
        SAMPLE_ID,
        ATTEMPT,
        Column("question", pa.string(), "question key, shared by the answers to a question"),
        Column("truth", pa.int64(), "class given by the teacher"),
        Column("prediction", pa.int64(), "class predicted by the predictor"),
    ),
)
