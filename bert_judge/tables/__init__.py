"""Tables: what they hold (`schemas`, `…_schemas`), what makes a row the same one (`identity`), reading and writing (`files`)."""

from bert_judge.tables.answer_schemas import CANDIDATES, DATASET, LABELS, TASK, scores_schema
from bert_judge.tables.attack_schemas import ATTACK_EXAMPLES, ATTACK_RATES, ATTACKS
from bert_judge.tables.files import (
    atomic,
    canonical,
    count,
    empty,
    fingerprint,
    names,
    provenance,
    read,
    read_batches,
    read_columns,
    storable,
    write,
    write_parts,
)
from bert_judge.tables.identity import question_key, question_point, question_stem, sample_id
from bert_judge.tables.judge_schemas import AGREEMENT, CASCADES, COMPARISONS, JUDGE_PAIRS, RANK_SHIFTS, RELIABILITY, THRESHOLDS
from bert_judge.tables.model_schemas import CORRECTED_ACCURACY, COST, MODEL_PAIRS, STANDINGS
from bert_judge.tables.pair_schemas import ORDER_VERDICTS, PAIR_VERDICTS, PAIRS, PREFERENCES, PREFERRED, pair_id
from bert_judge.tables.probe_schemas import PREDICTIONS
from bert_judge.tables.rank_schemas import PAIR_AGREEMENT, PAIR_MEASURES, RANK_CORRELATIONS, RANKS
from bert_judge.tables.schemas import ANSWER_KINDS, STATUSES, VERDICTS, Column, Schema
from bert_judge.tables.student_schemas import FILTERED, STUDENTS

__all__ = [
    "AGREEMENT",
    "ANSWER_KINDS",
    "ATTACKS",
    "ATTACK_EXAMPLES",
    "ATTACK_RATES",
    "CANDIDATES",
    "CASCADES",
    "COMPARISONS",
    "CORRECTED_ACCURACY",
    "COST",
    "DATASET",
    "FILTERED",
    "JUDGE_PAIRS",
    "LABELS",
    "MODEL_PAIRS",
    "ORDER_VERDICTS",
    "PAIRS",
    "PAIR_AGREEMENT",
    "PAIR_MEASURES",
    "PAIR_VERDICTS",
    "PREDICTIONS",
    "PREFERENCES",
    "PREFERRED",
    "RANKS",
    "RANK_CORRELATIONS",
    "RANK_SHIFTS",
    "RELIABILITY",
    "STANDINGS",
    "STATUSES",
    "STUDENTS",
    "TASK",
    "THRESHOLDS",
    "VERDICTS",
    "Column",
    "Schema",
    "atomic",
    "canonical",
    "count",
    "empty",
    "fingerprint",
    "names",
    "pair_id",
    "provenance",
    "question_key",
    "question_point",
    "question_stem",
    "read",
    "read_batches",
    "read_columns",
    "sample_id",
    "scores_schema",
    "storable",
    "write",
    "write_parts",
]
