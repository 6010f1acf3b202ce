"""The schemas of the tables about attacks on judges (`evaluation/attacks/`)."""

from __future__ import annotations

import pyarrow as pa

from bert_judge.tables.schemas import ATTEMPT, CANDIDATE, QUESTION, REFERENCES, SAMPLE_ID, VERDICTS, Column, Schema

KINDS = ("attack", "benign_perturbation")
FAMILY = Column("family", pa.string(), "the pattern that the answer follows")
KIND = Column("kind", pa.string(), "attack: the expected verdict is incorrect; benign_perturbation: it is correct", allowed=KINDS)
JUDGE = Column("judge", pa.string(), "name of the judge")

ATTACKS = Schema(
    "attacks",
    1,
    ("sample_id", "attempt"),
    (
        SAMPLE_ID,
        Column("attempt", pa.int32(), "number of the answer among those to the question"),
        FAMILY,
        Column("theme", pa.string(), "what the family has in common with others"),
        KIND,
    ),
)

ATTACK_RATES = Schema(
    "attack_rates",
    1,
    ("judge", "level", "kind", "group"),
    (
        JUDGE,
        Column("level", pa.string(), "what the group is", allowed=("kind", "theme", "family")),
        Column("group", pa.string(), "name of the family or theme; of the kind for all families of it"),
        Column("theme", pa.string(), "theme of the family; null for all families", nullable=True),
        KIND,
        Column("n", pa.int64(), "answers"),
        Column("questions", pa.int64(), "distinct questions"),
        Column(
            "error_rate",
            pa.float64(),
            "attack: share called correct; benign_perturbation: share called incorrect",
            bounds=(0.0, 1.0),
        ),
        Column("low", pa.float64(), "lower end of the 95% interval, clustered by question"),
        Column("high", pa.float64(), "upper end of the 95% interval"),
        Column("invalid", pa.float64(), "share of invalid verdicts, which are not counted as fooled", bounds=(0.0, 1.0)),
    ),
)

ATTACK_EXAMPLES = Schema(
    "attack_examples",
    1,
    ("judge", "task", "sample_id", "attempt"),
    (
        JUDGE,
        Column("task", pa.string(), "name of the task"),
        SAMPLE_ID,
        ATTEMPT,
        FAMILY,
        Column("theme", pa.string(), "theme of the family"),
        KIND,
        QUESTION,
        REFERENCES,
        CANDIDATE,
        Column("verdict", pa.string(), "wrong verdict of the judge", allowed=VERDICTS),
        Column("score", pa.float64(), "score of the judge, 0 to 1", bounds=(0.0, 1.0)),
    ),
)
