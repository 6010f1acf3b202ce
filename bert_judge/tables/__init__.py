"""Tables: what they hold (`schemas`), what makes a row the same one (`identity`), how they are read and written (`files`)."""

from bert_judge.tables.files import atomic, canonical, empty, fingerprint, provenance, read, read_batches, storable, write
from bert_judge.tables.identity import question_key, question_point, question_stem, sample_id
from bert_judge.tables.schemas import (
    AGREEMENT,
    ANSWER_KINDS,
    CANDIDATES,
    COMPARISONS,
    DATASET,
    LABELS,
    STANDINGS,
    STATUSES,
    TASK,
    VERDICTS,
    Column,
    Schema,
    scores_schema,
)

__all__ = [
    "AGREEMENT",
    "ANSWER_KINDS",
    "CANDIDATES",
    "COMPARISONS",
    "DATASET",
    "LABELS",
    "STANDINGS",
    "STATUSES",
    "TASK",
    "VERDICTS",
    "Column",
    "Schema",
    "atomic",
    "canonical",
    "empty",
    "fingerprint",
    "provenance",
    "question_key",
    "question_point",
    "question_stem",
    "read",
    "read_batches",
    "sample_id",
    "scores_schema",
    "storable",
    "write",
]
