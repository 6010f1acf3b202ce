"""Certify a judge on a file of labelled answers."""

import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from bert_judge.encoder.judge_folder import hash_rows, read_seen_rows
from bert_judge.evaluation.audit.certificate import Certificate, certify
from bert_judge.evaluation.audit.labels import majority
from bert_judge.importers.answers import make_column_reader
from bert_judge.judges.protocol import INVALID, VERDICT_CODES, Row
from bert_judge.labels.judge_loading import NamedJudge
from bert_judge.labels.judging import judge_rows, parse_record
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import RowFile

log = logging.getLogger(__name__)


def certify_file(
    source: RowFile,
    columns: Mapping[str, str],
    labels: Sequence[str],
    judge: NamedJudge,
    *,
    min_sensitivity: float,
    min_specificity: float,
    attack_rate: float = math.nan,
) -> Certificate:
    """Certify a judge on the rows of a file that have a label; see `certify`.

    Args:
        columns: question, references and candidate → column.
        labels: columns with labels, one per annotator; the majority decides.

    Raises:
        InputError: no labels, one class only, too few rows, or rows that the judge has seen.
    """
    reader = make_column_reader(columns, source.holds_texts, source.sample)
    rows, votes = [], []
    for position, record in source.records([*columns.values(), *labels]):
        row = parse_record(reader, record).input
        cells = [values.parse_cell(source.path, position, name, values.parse_label, record.get(name)) for name in labels]
        if row is not None and any(value is not None for value in cells):
            rows.append(row)
            votes.append([math.nan if value is None else float(value >= 0.5) for value in cells])
    if not rows:
        raise InputError(f"{source.path}: no row has a label in {', '.join(map(repr, labels))}; label some answers")
    opinions = pd.DataFrame(votes)
    truth = majority(opinions)
    texts = [(row.question, row.candidate) if isinstance(row, Row) else ("", "") for row in rows]
    _check_unseen(source.path, judge.folder, texts)
    judged = judge_rows(judge, rows)
    verdicts = [INVALID if label is None else VERDICT_CODES[label.verdict] for label in judged]
    scores = [math.nan if label is None or label.score is None else label.score for label in judged]
    try:
        return certify(
            verdicts,
            truth,
            # Rows without a question are questions of their own.
            np.array([question or f"row {number}" for number, (question, _) in enumerate(texts)]),
            scores=scores,
            votes=opinions,
            min_sensitivity=min_sensitivity,
            min_specificity=min_specificity,
            attack_rate=attack_rate,
        )
    except InputError as error:
        raise InputError(f"{source.path}: {error}") from error


def _check_unseen(path: Path, folder: Path | None, texts: Sequence[tuple[str, str]]) -> None:
    """Refuse rows that a judge was trained, validated or calibrated on, and warn if it keeps no record of them."""
    if folder is None:
        return
    hashes = read_seen_rows(folder)
    if hashes is None:
        log.warning("%s: no record of its training rows; make sure that it has seen none of these answers", folder)
        return
    if leaked := int(np.isin(hash_rows(*zip(*texts, strict=True)), hashes).sum()):
        raise InputError(
            f"{path}: {leaked:,} of {len(texts):,} labelled answers were used to train or calibrate {folder}; "
            "certify it with answers that it has not seen"
        )
