"""Tables: what they hold (`schemas`), what identifies a row (`identity`), reading and writing (`files`). The names of
`runtime.outputs`, which writes completely and by one process at a time, are offered here too."""

from bert_judge.runtime.outputs import (
    atomic,
    atomic_folder,
    canonical,
    claim_output,
    exclusive,
    hidden_path,
    remove_leftovers,
    set_default_mode,
    write_json,
)
from bert_judge.tables.files import (
    SCHEMAS,
    VALUES,
    Column,
    Schema,
    count,
    empty,
    fingerprint,
    merge_revisions,
    names,
    provenance,
    read,
    read_batches,
    read_columns,
    scores_schema,
    storable,
    write,
    write_parts,
)
from bert_judge.tables.identity import (
    file_content,
    item_keys,
    item_points,
    pair_id,
    question_key,
    question_point,
    question_stem,
    sample_id,
)

AGREEMENT = SCHEMAS["agreement"]
ATTACKS = SCHEMAS["attacks"]
ATTACK_EXAMPLES = SCHEMAS["attack_examples"]
ATTACK_RATES = SCHEMAS["attack_rates"]
CANDIDATES = SCHEMAS["candidates"]
CASCADES = SCHEMAS["cascades"]
CERTIFICATE = SCHEMAS["certificate"]
COMPARISONS = SCHEMAS["comparisons"]
CORRECTED_ACCURACY = SCHEMAS["corrected_accuracy"]
CORRECTED_PAIRS = SCHEMAS["corrected_pairs"]
COST = SCHEMAS["cost"]
DATASET = SCHEMAS["dataset"]
FILTERED = SCHEMAS["filtered"]
JUDGE_PAIRS = SCHEMAS["judge_pairs"]
LABELS = SCHEMAS["labels"]
MODEL_PAIRS = SCHEMAS["model_pairs"]
PAIRS = SCHEMAS["pairs"]
PAIR_AGREEMENT = SCHEMAS["pair_agreement"]
PREDICTIONS = SCHEMAS["predictions"]
PREFERENCES = SCHEMAS["preferences"]
RANKS = SCHEMAS["ranks"]
RANK_CORRELATIONS = SCHEMAS["rank_correlations"]
RANK_SHIFTS = SCHEMAS["rank_shifts"]
RELIABILITY = SCHEMAS["reliability"]
STANDINGS = SCHEMAS["standings"]
STUDENTS = SCHEMAS["students"]
TASK = SCHEMAS["task"]
THRESHOLDS = SCHEMAS["thresholds"]

ANSWER_KINDS: tuple[str, ...] = VALUES["answer_kinds"]
OUTCOMES: tuple[str, ...] = VALUES["outcomes"]
ORDER_VERDICTS: tuple[str, ...] = VALUES["order_verdicts"]
PAIR_MEASURES: dict[str, str] = VALUES["pair_measures"]
PAIR_VERDICTS: tuple[str, ...] = VALUES["pair_verdicts"]
PREFERRED: tuple[str, ...] = VALUES["preferred"]
STATUSES: tuple[str, ...] = VALUES["statuses"]
VERDICTS: tuple[str, ...] = VALUES["verdicts"]
