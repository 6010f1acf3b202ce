"""The schemas of the tables of two answers to one question, and of the verdicts on them."""

from __future__ import annotations

import hashlib
import json

import pyarrow as pa

from bert_judge.tables.schemas import QUESTION, STATUSES, TEXTS, Column, Schema

# Which of two answers is better, as people and judges say it.
PREFERRED = ("A", "B", "tie")
# Verdict over both orders; `inconsistent` if they contradict each other.
PAIR_VERDICTS = (*PREFERRED, "inconsistent", "invalid")
# Verdict on one order.
ORDER_VERDICTS = (*PREFERRED, "invalid")

PAIR_ID = Column("pair_id", pa.string(), "first 16 hex digits of the SHA-256 of sample, models and answers")
SAMPLE_ID = Column("sample_id", pa.string(), "first 16 hex digits of the SHA-256 of task, question and references")
TASK_NAME = Column("task", pa.string(), "name of the task; of an imported row its group in the file, else the name of the set")
MODEL_A = Column("model_a", pa.string(), "who gave answer A; null where the file does not tell", nullable=True)
MODEL_B = Column("model_b", pa.string(), "who gave answer B; null where the file does not tell", nullable=True)

PAIRS = Schema(
    "pairs",
    1,
    ("pair_id",),
    (
        PAIR_ID,
        SAMPLE_ID,
        TASK_NAME,
        QUESTION,
        Column("references", TEXTS, "reference answers; null if there are none", nullable=True),
        Column("answer_a", pa.string(), "answer A, shown first in the order `forward`"),
        Column("answer_b", pa.string(), "answer B"),
        MODEL_A,
        MODEL_B,
        Column("status_a", pa.string(), "generation status of answer A", allowed=STATUSES),
        Column("status_b", pa.string(), "generation status of answer B", allowed=STATUSES),
        Column("label", pa.string(), "the better answer by people or gold; null without a label", nullable=True, allowed=PREFERRED),
        Column("votes", TEXTS, "vote of each annotator, A, B or tie; null without votes", nullable=True),
        Column("reason", pa.string(), "explanation of the label; null if absent", nullable=True, late=True),
    ),
)

PREFERENCES = Schema(
    "preferences",
    1,
    ("pair_id",),
    (
        PAIR_ID,
        SAMPLE_ID,
        TASK_NAME,
        MODEL_A,
        MODEL_B,
        Column("judge", pa.string(), "name of the judge in the configuration"),
        Column("verdict", pa.string(), "what both orders together come to", allowed=PAIR_VERDICTS),
        Column(
            "score",
            pa.float64(),
            "probability that A is better, a tie counting half: mean of both orders; null when invalid",
            nullable=True,
            bounds=(0.0, 1.0),
        ),
        Column("consistent", pa.bool_(), "whether both orders agree; null if one of them is invalid", nullable=True),
        Column("forward", pa.string(), "verdict with A shown first", allowed=ORDER_VERDICTS),
        Column("forward_score", pa.float64(), "score of that order; null when invalid", nullable=True, bounds=(0.0, 1.0)),
        Column("backward", pa.string(), "verdict with B shown first, in the pair's own letters", allowed=ORDER_VERDICTS),
        Column(
            "backward_score", pa.float64(), "score of that order, still of A; null if invalid", nullable=True, bounds=(0.0, 1.0)
        ),
        Column("reason", pa.string(), "why a verdict is invalid, or what decided it", nullable=True),
        Column("raw", pa.string(), "the judge's own words or scores, both orders", nullable=True),
        Column("truncated", pa.bool_(), "the judge did not see the whole question, answers and references"),
        Column("prompt_tokens", pa.int32(), "tokens the judge read, both orders", nullable=True),
        Column("completion_tokens", pa.int32(), "tokens the judge wrote, both orders", nullable=True),
    ),
)


def pair_id(sample_id: str, model_a: str | None, model_b: str | None, answer_a: str, answer_b: str) -> str:
    """Identity of a pair: 16 hex digits that depend on its content only. The swapped pair is another one."""
    text = json.dumps([sample_id, model_a, model_b, answer_a, answer_b], ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
