"""The stages around a cascade's judges: which answers each is asked about, and what all of them say together."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.errors import InputError
from bert_judge.judges.cascade import Cuts, attributed, load_cuts, with_tokens
from bert_judge.judges.protocol import Label

log = logging.getLogger(__name__)

KEY = ["sample_id", "attempt"]
LABEL_FIELDS = [field.name for field in fields(Label)]


def numbered(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of several models under keys that are their own: the answers to a question are counted through over all models."""
    return rows.assign(attempt=rows.groupby("sample_id", sort=False).cumcount().astype("int32"))


def held_out_answers(validation: str | Path, output: str | Path) -> None:
    """Write the validation rows of a dataset as a table of answers that any judge can label."""
    rows = numbered(tables.read(validation, tables.DATASET))
    answers = rows.assign(reasoning=None, status="ok", reason=None, prompt_tokens=None, completion_tokens=None)
    tables.write(answers[tables.CANDIDATES.names], output, tables.CANDIDATES, {"held_out": Path(validation).parent.name})


def leave_rows(judge: str, candidates: str | Path, labels: str | Path, cascade: str | Path, output: str | Path) -> None:
    """Write the answers of which a judge of a cascade is not sure, for the next one.

    Args:
        judge: its name.
        candidates: the answers that it was asked about.
        labels: its verdicts on them.
        cascade: the file of the fitted cascade.
        output: the table of answers for the next judge.

    Raises:
        InputError: the verdicts are not about these answers.
    """
    answers = tables.read(candidates, tables.CANDIDATES)
    verdicts = verdicts_on(answers, labels)
    sure = _cuts(cascade, judge).sure(verdicts["verdict"], verdicts["score"])
    # Nobody is asked about an answer that is not there.
    left = answers[~sure & (answers["status"] != "error").to_numpy()].reset_index(drop=True)
    tables.write(left, output, tables.CANDIDATES, {"left_by": judge}, tables.provenance(candidates).get("revisions"))
    log.info("%s leaves %d of %d answers", judge, len(left), len(answers))


def label_cascade(
    spec: Mapping[str, Any],
    candidates: str | Path,
    labels: Sequence[tuple[str, str | Path]],
    cascade: str | Path,
    output: str | Path,
) -> None:
    """Write the verdicts of a cascade: of each answer, those of the judge that decided it.

    Args:
        spec: `Plan.labels_spec`.
        candidates: the answers.
        labels: (judge, its verdicts on what the judges before it left), the cheapest first.
        cascade: the file of the fitted cascade.

    Raises:
        InputError: a table of verdicts is not about these answers.
    """
    answers = tables.read(candidates, tables.CANDIDATES)[[*KEY, "model", "status"]]
    keys = list(zip(answers["sample_id"], answers["attempt"], strict=True))
    # An answer that failed goes to nobody after the first.
    failed = {key for key, status in zip(keys, answers.pop("status"), strict=True) if status == "error"}
    found: dict[tuple[str, int], Label] = {}
    spent: dict[tuple[str, int], Label] = {}
    revisions: dict[str, str] = {}
    for judge, path in labels:
        frame = tables.read(path, tables.LABELS)
        revisions |= tables.provenance(path).get("revisions", {})
        cuts = _cuts(cascade, judge) if judge != labels[-1][0] else None
        sure = cuts.sure(frame["verdict"], frame["score"]) if cuts else [True] * len(frame)
        for row, is_sure in zip(frame.to_dict("records"), sure, strict=True):
            key = (row["sample_id"], row["attempt"])
            spent[key] = with_tokens(_label(row), spent.get(key))
            if is_sure or key in failed:
                found[key] = attributed(spent[key], judge)
    if missing := [key for key in keys if key not in found]:
        raise InputError(f"{output}: no judge of {spec['judge']} decided on {missing[0][0]}; delete their tables and run again")
    columns = pd.DataFrame([vars(found[key]) for key in keys], columns=LABEL_FIELDS)
    tables.write(pd.concat([answers.assign(judge=spec["judge"]), columns], axis=1), output, tables.LABELS, spec, revisions)


def _cuts(cascade: str | Path, judge: str) -> Cuts:
    found = load_cuts(cascade)
    if judge not in found:
        raise InputError(f"{cascade}: says nothing of {judge!r}; delete it and run again")
    return found[judge]


def verdicts_on(keys: pd.DataFrame, labels: str | Path) -> pd.DataFrame:
    """`verdict` and `score` of a table of verdicts, in the order of these answers.

    Raises:
        InputError: an answer has no verdict.
    """
    found = tables.read(labels, tables.LABELS)[[*KEY, "verdict", "score"]].astype({"sample_id": object})
    # pandas 3 cannot merge two empty arrow-backed text columns.
    merged = keys[KEY].astype({"sample_id": object}).merge(found, on=KEY, how="left", validate="one_to_one")
    if (lost := merged["verdict"].isna()).any():
        raise InputError(f"{labels}: no verdict on {merged.loc[lost, 'sample_id'].iloc[0]}; delete the file and run again")
    return merged


def _label(row: Mapping[Any, Any]) -> Label:
    """The label of a row of a table."""
    values: dict[str, Any] = {name: None if pd.isna(row[name]) else row[name] for name in LABEL_FIELDS}
    for name in ("prompt_tokens", "completion_tokens"):
        values[name] = None if values[name] is None else int(values[name])
    return Label(**values)
