"""Stages of a cascade: select the answers for its next judge, and merge the labels of all judges."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.judges.cascade.judge import deciding_judge, fitted_judges, load_thresholds, run_cascade
from bert_judge.judges.protocol import Label
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

KEY = list(tables.CANDIDATES.key)
LABEL_FIELDS = [field.name for field in fields(Label)]
# (judge, label table).
JudgeLabels = tuple[str, str | Path]


def with_unique_attempts(rows: pd.DataFrame) -> pd.DataFrame:
    """Renumber the attempts of each question over all models, so that (sample_id, attempt) is a key."""
    return rows.assign(attempt=rows.groupby("sample_id", sort=False).cumcount().astype("int32"))


def held_out_answers(validation: str | Path, output: str | Path) -> None:
    """Write the validation rows of a dataset as a candidate table that any judge can label."""
    rows = with_unique_attempts(tables.read(validation, tables.DATASET))
    answers = rows.assign(reasoning=None, status="ok", reason=None, prompt_tokens=None, completion_tokens=None)
    tables.write(answers[tables.CANDIDATES.names], output, tables.CANDIDATES, {"held_out": Path(validation).parent.name})


def select_undecided(candidates: str | Path, labels: Sequence[JudgeLabels], cascade: str | Path, output: str | Path) -> None:
    """Write the answers that no judge of a cascade has decided yet, for the next judge.

    Args:
        candidates: candidate table.
        labels: label tables of the previous judges, the cheapest first.
        cascade: cascade.json of the fitted cascade.
        output: candidate table to write.

    Raises:
        InputError: a label table lacks an answer that was escalated to its judge.
    """
    answers = tables.read(candidates, tables.CANDIDATES)
    decided = _decide(answers, labels, cascade)
    undecided = answers[[position not in decided for position in range(len(answers))]].reset_index(drop=True)
    tables.write(undecided, output, tables.CANDIDATES, {"undecided_by": [judge for judge, _ in labels]}, _revisions([candidates]))
    log.info("%d of %d answers are escalated", len(undecided), len(answers))


def label_cascade(
    spec: Mapping[str, Any], candidates: str | Path, labels: Sequence[JudgeLabels], cascade: str | Path, output: str | Path
) -> None:
    """Write the labels of a cascade: for each answer, the label of the judge that decided it.

    Args:
        spec: `Plan.labels_spec`.
        candidates: candidate table.
        labels: label tables of all its judges, the cheapest first.
        cascade: cascade.json of the fitted cascade.

    Raises:
        InputError: a label table lacks an answer that was escalated to its judge.
    """
    answers = tables.read(candidates, tables.CANDIDATES)
    decided = _decide(answers, labels, cascade)
    columns = pd.DataFrame([vars(decided[position]) for position in range(len(answers))], columns=LABEL_FIELDS)
    merged = pd.concat([answers[[*KEY, "model"]].assign(judge=spec["judge"]), columns], axis=1)
    tables.write(merged, output, tables.LABELS, spec, _revisions([path for _, path in labels]))
    judges = [judge for judge, _ in labels]
    counts = columns["reason"].map(lambda reason: deciding_judge(reason, judges)).value_counts()
    summary = ", ".join(f"{judge} decided {count}" for judge, count in counts.items())
    log.info("%s on %s, %s: %s", spec["judge"], spec["model"], spec["task"], summary)


def _decide(answers: pd.DataFrame, labels: Sequence[JudgeLabels], cascade: str | Path) -> dict[int, Label]:
    """Map the position of each answer that these judges decide to its label."""
    paths, thresholds, last = dict(labels), load_thresholds(cascade), fitted_judges(cascade)[-1]
    for judge in paths:
        if judge != last and judge not in thresholds:
            raise InputError(f"{cascade}: has no thresholds for {judge!r}; delete it and run again")

    def label_rows(judge: str, positions: list[int]) -> list[Label]:
        return [_to_label(row) for row in join_labels(answers.iloc[positions], paths[judge]).to_dict("records")]

    # An answer whose generation failed is not escalated.
    failed = {position for position, status in enumerate(answers["status"]) if status == "error"}
    return run_cascade(paths, thresholds, len(answers), label_rows, failed)


def join_labels(answers: pd.DataFrame, labels: str | Path) -> pd.DataFrame:
    """Read the labels of these answers, in their order; the table may hold more.

    Raises:
        InputError: an answer has no label.
    """
    # pandas 3 cannot merge two empty arrow-backed text columns.
    table = tables.read(labels, tables.LABELS)[[*KEY, *LABEL_FIELDS]].astype({"sample_id": object})
    merged = answers[KEY].astype({"sample_id": object}).merge(table, on=KEY, how="left", validate="one_to_one")
    if (missing := merged["verdict"].isna()).any():
        raise InputError(f"{labels}: no label for {merged.loc[missing, 'sample_id'].iloc[0]}; delete the file and run again")
    return merged


def _revisions(paths: Iterable[str | Path]) -> dict[str, str]:
    return {name: revision for path in paths for name, revision in tables.provenance(path).get("revisions", {}).items()}


def _to_label(row: Mapping[Any, Any]) -> Label:
    values: dict[str, Any] = {name: None if name != "aspects" and pd.isna(row[name]) else row[name] for name in LABEL_FIELDS}
    for name in ("prompt_tokens", "completion_tokens"):
        values[name] = None if values[name] is None else int(values[name])
    return Label(**values)
