"""Labels of annotators, read from the sheets that they filled in."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bert_judge import tables
from bert_judge.evaluation import score_tables
from bert_judge.evaluation.audit.sampling import RATE, answer_id, answer_keys
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import rows

CORRECT, INCORRECT, CANNOT_TELL = VERDICTS = ("correct", "incorrect", "cannot tell")
TRUTH = {CORRECT: 1.0, INCORRECT: 0.0, CANNOT_TELL: math.nan}
COLUMNS = ("id", "verdict")
# Optional columns: the rate that the answer was drawn with, and the person. A sheet without names is that of one person.
OPTIONAL = ("rate", "annotator")
BATCH_ROWS = 4096
# Value of an answer without label; one that the annotators could not decide is NaN.
UNLABELLED = -1.0
LABEL = "(label)"


class Vote(NamedTuple):
    """What one person says of one answer: 1 for correct, 0 for incorrect, NaN for cannot tell; and the answer's rate, or None."""

    id: str
    annotator: str
    value: float
    rate: float | None


def read_labels(paths: Sequence[Path]) -> list[Vote]:
    """Read sheets, of several rounds or people. Rows without verdict are skipped.

    Raises:
        InputError: not a CSV file, a column is missing, an unknown verdict or rate, an empty id, one that a person labelled twice,
            or no verdict at all.
    """
    positions: dict[tuple[str, str], str] = {}
    votes = [vote for path in paths for vote in _read_sheet(path, positions)]
    if not votes:
        names = ", ".join(map(str, paths))
        raise InputError(f"{names}: no row has a verdict; label some answers, or leave out audit.labels until then")
    return votes


def _read_sheet(path: Path, positions: dict[tuple[str, str], str]) -> list[Vote]:
    """Return the votes of a sheet; `positions` collects where the label of each (person, id) was found."""
    sheet = rows.open_rows(path, "csv", needed=COLUMNS)
    if missing := [name for name in COLUMNS if name not in sheet.columns]:
        present = ", ".join(map(repr, sheet.columns))
        raise InputError(f"{path}: no column {missing[0]!r}; available: {present}; save the sheet as CSV with commas")
    votes = []
    columns = [*COLUMNS, *(name for name in OPTIONAL if name in sheet.columns)]
    for position, record in sheet.records(columns):
        cells = {name: " ".join((record.get(name) or "").split()) for name in (*COLUMNS, *OPTIONAL)}
        identity, verdict, annotator = cells["id"], cells["verdict"].casefold(), cells["annotator"] or path.stem
        if not identity:
            raise InputError(f"{path}: {position} has no id; use the original sheet and change only the verdicts")
        if (first := positions.setdefault((annotator, identity), f"{path}, {position}")) != f"{path}, {position}":
            first = first.removeprefix(f"{path}, ")
            raise InputError(f"{path}: the id {identity!r} occurs at {first} and again at {position}; remove one")
        if verdict and verdict not in TRUTH:
            verdicts = ", ".join(VERDICTS)
            raise InputError(f"{path}: {position}: the verdict is {verdict!r:.60}; use {verdicts}, or leave it empty")
        if verdict:
            votes.append(Vote(identity, annotator, TRUTH[verdict], _parse_rate(cells["rate"], f"{path}: {position}")))
    return votes


def _parse_rate(text: str, where: str) -> float | None:
    try:
        rate = float(text) if text else None
    except ValueError:
        rate = math.nan
    if rate is not None and not 0 < rate < math.inf:
        raise InputError(f"{where}: the rate is {text!r:.60}, not a positive number; change only the verdicts of the sheet")
    return rate


def attach_labels(
    verdicts: pd.DataFrame, scores: Sequence[Path], *, votes: Sequence[Vote], source: str, needs_rates: bool
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the answers with the column `LABEL`, 1, 0, NaN (cannot tell) or `UNLABELLED`, and the votes per answer and person.

    Several people decide by majority; without one, the label is "cannot tell".

    Args:
        verdicts: all answers with their `RATE`, from `sampling.order_answers`; rates of `votes` replace them.
        scores: their score tables.
        source: the sheets, for messages.
        needs_rates: the design labels some answers with a higher probability.

    Raises:
        InputError: an id belongs to no answer, or a rate is missing.
    """
    if needs_rates and (bare := next((vote for vote in votes if vote.rate is None), None)) is not None:
        raise InputError(
            f"{source}: no rate at the id {bare.id!r}; keep the column 'rate' of the sheet: answers were drawn unequally"
        )
    identities = _identify(verdicts, scores, {vote.id for vote in votes})
    if unknown := {vote.id for vote in votes} - set(identities):
        raise InputError(
            f"{source}: the id {min(unknown)!r} belongs to no answer of this run ({len(unknown)} such rows); "
            "remove rows of other runs and of answers that have changed"
        )
    table = pd.DataFrame(votes, columns=list(Vote._fields)).pivot(index="id", columns="annotator", values="value")
    ids = pd.Series({index: identity for identity, index in identities.items()}, dtype=object).reindex(verdicts.index)
    rates = {vote.id: vote.rate for vote in votes if vote.rate is not None}
    columns: dict[str, Any] = {
        LABEL: ids.map(majority(table)).where(ids.notna(), UNLABELLED),
        RATE: ids.map(rates).astype(float).fillna(verdicts[RATE]),
    }
    labelled_ids = ids.dropna()
    return verdicts.assign(**columns), table.reindex(list(labelled_ids)).set_axis(labelled_ids.index)


def majority(votes: pd.DataFrame) -> pd.Series:
    """Return the label that most annotators (columns) give each answer (row), NaN without a majority."""
    share = votes.mean(axis=1)
    return share.where(share != 0.5).round()


def _identify(verdicts: pd.DataFrame, scores: Sequence[Path], ids: set[str]) -> dict[str, int]:
    """Return id → index of the answer in `verdicts`, of the given ids."""
    schema = tables.scores_schema([])
    schema = replace(schema, columns=tuple(c for c in schema.columns if c.name in (*score_tables.KEY, "candidate")))
    index_of_key = dict(zip(answer_keys(verdicts), verdicts.index, strict=True))
    indices: dict[str, int] = {}
    for path in scores:
        model, task = score_tables.identify_table(path)
        for batch in tables.read_batches(path, schema, BATCH_ROWS):
            for sample_id, attempt, text in zip(batch["sample_id"], batch["attempt"], batch["candidate"], strict=True):
                key = (model, task, str(sample_id), int(attempt))
                if (identity := answer_id(key, text)) in ids:
                    indices[identity] = index_of_key[key]
    return indices


def labels_from_gold(verdicts: pd.DataFrame, sample: pd.DataFrame, gold: str) -> pd.DataFrame:
    """Return the answers with the gold judge's verdicts on the sampled ones as `LABEL`, NaN where it is invalid."""
    labels: Mapping[str, float] = {"correct": 1.0, "incorrect": 0.0}
    sampled: NDArray[np.bool_] = verdicts.index.isin(sample.index)
    return verdicts.assign(**{LABEL: np.where(sampled, verdicts[f"{gold}_verdict"].astype(str).map(labels), UNLABELLED)})
