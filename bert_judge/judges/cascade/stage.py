"""The stages around a cascade's judges: which answers each is asked about, and what all of them say together."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.judges.cascade.judge import attributed, fitted_judges, load_cuts, with_tokens
from bert_judge.judges.protocol import Label
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

KEY = list(tables.CANDIDATES.key)
LABEL_FIELDS = [field.name for field in fields(Label)]
# (sample_id, attempt) of an answer.
Key = tuple[str, int]
# A judge and the table of its verdicts.
Given = tuple[str, str | Path]


def numbered(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of several models under keys that are their own: the answers to a question are counted through over all models."""
    return rows.assign(attempt=rows.groupby("sample_id", sort=False).cumcount().astype("int32"))


def held_out_answers(validation: str | Path, output: str | Path) -> None:
    """Write the validation rows of a dataset as a table of answers that any judge can label."""
    rows = numbered(tables.read(validation, tables.DATASET))
    answers = rows.assign(reasoning=None, status="ok", reason=None, prompt_tokens=None, completion_tokens=None)
    tables.write(answers[tables.CANDIDATES.names], output, tables.CANDIDATES, {"held_out": Path(validation).parent.name})


def leave_rows(candidates: str | Path, labels: Sequence[Given], cascade: str | Path, output: str | Path) -> None:
    """Write the answers that no judge of a cascade decided so far, for the next one.

    Args:
        candidates: the answers of a model to a task.
        labels: verdicts of the judges before the next one, the cheapest first.
        cascade: the file of the fitted cascade.
        output: the table of answers for the next judge.

    Raises:
        InputError: a table of verdicts lacks an answer that was left to its judge.
    """
    answers = tables.read(candidates, tables.CANDIDATES)
    decided = _decided(answers, labels, cascade)
    left = answers[[key not in decided for key in _keys(answers)]].reset_index(drop=True)
    tables.write(left, output, tables.CANDIDATES, {"undecided_by": [judge for judge, _ in labels]}, _revisions([candidates]))
    log.info("%d of %d answers are left", len(left), len(answers))


def label_cascade(
    spec: Mapping[str, Any], candidates: str | Path, labels: Sequence[Given], cascade: str | Path, output: str | Path
) -> None:
    """Write the verdicts of a cascade: of each answer, those of the judge that decided it.

    Args:
        spec: `Plan.labels_spec`.
        candidates: the answers.
        labels: verdicts of all its judges, the cheapest first.
        cascade: the file of the fitted cascade.

    Raises:
        InputError: a table of verdicts lacks an answer that was left to its judge.
    """
    answers = tables.read(candidates, tables.CANDIDATES)
    decided = _decided(answers, labels, cascade)
    columns = pd.DataFrame([vars(decided[key]) for key in _keys(answers)], columns=LABEL_FIELDS)
    found = pd.concat([answers[[*KEY, "model"]].assign(judge=spec["judge"]), columns], axis=1)
    tables.write(found, output, tables.LABELS, spec, _revisions([path for _, path in labels]))
    counts = columns["reason"].str.split(":").str[0].value_counts()
    log.info("%s on %s, %s: %s", spec["judge"], spec["model"], spec["task"], ", ".join(f"{n} {who}" for who, n in counts.items()))


def _decided(answers: pd.DataFrame, labels: Sequence[Given], cascade: str | Path) -> dict[Key, Label]:
    """The labels of the answers that these judges decide. A table may hold verdicts on more answers than its judge was left."""
    # An answer that failed goes to nobody after the first.
    failed = {key for key, status in zip(_keys(answers), answers["status"], strict=True) if status == "error"}
    cuts, last = load_cuts(cascade), fitted_judges(cascade)[-1]
    found: dict[Key, Label] = {}
    spent: dict[Key, Label] = {}
    for judge, path in labels:
        if judge != last and judge not in cuts:
            raise InputError(f"{cascade}: says nothing of {judge!r}; delete it and run again")
        left = answers[[key not in found for key in _keys(answers)]]
        frame = labels_on(left, path)
        sure = cuts[judge].sure(frame["verdict"], frame["score"]) if judge != last else [True] * len(frame)
        for key, row, is_sure in zip(_keys(left), frame.to_dict("records"), sure, strict=True):
            spent[key] = with_tokens(_label(row), spent.get(key))
            if is_sure or key in failed:
                found[key] = attributed(spent[key], judge)
    return found


def labels_on(answers: pd.DataFrame, labels: str | Path) -> pd.DataFrame:
    """The columns of a label of these answers, in their order.

    Raises:
        InputError: an answer has no verdict.
    """
    # pandas 3 cannot merge two empty arrow-backed text columns.
    found = tables.read(labels, tables.LABELS)[[*KEY, *LABEL_FIELDS]].astype({"sample_id": object})
    merged = answers[KEY].astype({"sample_id": object}).merge(found, on=KEY, how="left", validate="one_to_one")
    if (lost := merged["verdict"].isna()).any():
        raise InputError(f"{labels}: no verdict on {merged.loc[lost, 'sample_id'].iloc[0]}; delete the file and run again")
    return merged


def _keys(answers: pd.DataFrame) -> list[Key]:
    return list(zip(answers["sample_id"], answers["attempt"], strict=True))


def _revisions(paths: Iterable[str | Path]) -> dict[str, str]:
    return {name: revision for path in paths for name, revision in tables.provenance(path).get("revisions", {}).items()}


def _label(row: Mapping[Any, Any]) -> Label:
    """The label of a row of a table."""
    values: dict[str, Any] = {name: None if name != "aspects" and pd.isna(row[name]) else row[name] for name in LABEL_FIELDS}
    for name in ("prompt_tokens", "completion_tokens"):
        values[name] = None if values[name] is None else int(values[name])
    return Label(**values)
