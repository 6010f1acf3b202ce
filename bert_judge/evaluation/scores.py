"""Candidates and the labels of all judges, joined into one score table per model and task."""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bert_judge import tables
from bert_judge.candidates.stage import summarize_statuses
from bert_judge.evaluation.groups import CHARACTERS, LENGTH, STATUS
from bert_judge.runtime.errors import InputError

KEY = list(tables.CANDIDATES.key)
# Answers can be long; few at a time keep memory small.
ROWS_AT_ONCE = 256
log = logging.getLogger(__name__)


def build_scores(spec: Mapping[str, Any], candidates: Path, labels: Mapping[str, Path], output: Path) -> None:
    """Write the score table of one model and task: one row per candidate, in the candidates' order.

    Args:
        spec: `model`, `task` and `judges`, as `Plan.scores_spec` makes it.
        candidates: a candidates table.
        labels: judge → its label table of these candidates.
        output: where the score table goes.

    Raises:
        InputError: a candidate without label, a label without candidate, or a table of another model or judge.
    """
    if missing := [judge for judge in spec["judges"] if judge not in labels]:
        raise InputError(f"{output}: no label table is given for the judge {missing[0]!r}; add it to the job's inputs")
    frame = _read(candidates, tables.CANDIDATES, without=("reasoning", "prompt_tokens", "completion_tokens"))
    _check_single(frame, "model", spec["model"], candidates)
    revisions = dict(tables.provenance(candidates).get("revisions", {}))
    for judge in spec["judges"]:
        # A left join keeps the candidates' order.
        frame = frame.merge(_read_labels(labels[judge], spec["model"], judge, frame, candidates), on=KEY, how="left")
        revisions |= tables.provenance(labels[judge]).get("revisions", {})
    tables.write(frame, output, tables.scores_schema(spec["judges"]), spec, revisions)
    log.info("%s: %d candidates of %s on %s: %s", output, len(frame), spec["model"], spec["task"], summarize_statuses(frame))


def read_verdicts(path: Path, judges: Sequence[str]) -> pd.DataFrame:
    """A score table without its texts: `sample_id`, `attempt`, and score and verdict of each judge."""
    names = {*KEY, *(name for judge in judges for name in (judge, f"{judge}_verdict"))}
    schema = tables.scores_schema(judges)
    return tables.read(path, replace(schema, columns=tuple(c for c in schema.columns if c.name in names)))


def read_traits(path: Path) -> dict[str, NDArray[Any]]:
    """(status), (characters) and (all characters) of each answer of a score table, in its order; few texts at a time."""
    parts: dict[str, list[NDArray[Any]]] = {STATUS: [np.array([], dtype=object)], LENGTH: [], CHARACTERS: []}
    for batch in tables.read_batches(path, tables.scores_schema([]), ROWS_AT_ONCE):
        parts[STATUS].append(batch["status"].to_numpy(dtype=object))
        parts[LENGTH].append(batch["candidate"].str.len().to_numpy(dtype=np.int64))
        references = batch["references"].map(lambda texts: sum(map(len, texts))).to_numpy(dtype=np.int64)
        parts[CHARACTERS].append(parts[LENGTH][-1] + batch["question"].str.len().to_numpy(dtype=np.int64) + references)
    empty = [np.array([], dtype=np.int64)]
    return {name: np.concatenate(found or empty) for name, found in parts.items()}


def read_texts(path: Path, wanted: Collection[tuple[str, int]]) -> Iterator[tuple[tuple[str, int], dict[str, Any]]]:
    """(sample_id, attempt) and the row without verdicts, of the answers that are wanted; few of them are in memory at a time."""
    for batch in tables.read_batches(path, tables.scores_schema([]), ROWS_AT_ONCE):
        for row in batch.to_dict("records"):
            if (key := (row["sample_id"], row["attempt"])) in wanted:
                yield key, {str(name): value for name, value in row.items()}


def origin(path: Path) -> tuple[str, str]:
    """(model, task) of a score table, from its metadata.

    Raises:
        InputError: the file was not written as a score table.
    """
    spec = json.loads(tables.provenance(path).get("spec", "{}"))
    if not {"model", "task"} <= set(spec):
        raise InputError(f"{path}: its metadata name no model and task, so it is no score table; make it with the scores stage")
    return spec["model"], spec["task"]


def _read_labels(path: Path, model: str, judge: str, frame: pd.DataFrame, candidates: Path) -> pd.DataFrame:
    """Score and verdict of one judge for every candidate of `frame`, with their key."""
    found = _read(path, tables.LABELS, without=("reason", "raw", "truncated", "prompt_tokens", "completion_tokens", "aspects"))
    _check_single(found, "model", model, path)
    _check_single(found, "judge", judge, path)
    if (repeated := found.duplicated(KEY)).any():
        raise InputError(f"{path}: {_row(found[repeated])} is labelled twice; delete the file and label anew")
    joined = frame[KEY].merge(found, on=KEY, how="outer", indicator=True)
    if len(lost := joined[joined["_merge"] == "left_only"]):
        raise InputError(
            f"{path}: no label for {_row(lost)} of {candidates} ({len(lost)} such rows); delete the file and label anew"
        )
    if len(extra := joined[joined["_merge"] == "right_only"]):
        raise InputError(f"{path}: {_row(extra)} is not in {candidates} ({len(extra)} such rows); delete the file and label anew")
    return found[[*KEY, "score", "verdict"]].rename(columns={"score": judge, "verdict": f"{judge}_verdict"})


def _check_single(frame: pd.DataFrame, column: str, wanted: str, path: Path) -> None:
    if not (other := frame.loc[frame[column] != wanted, column]).empty:
        raise InputError(f"{path}: column {column!r} holds {other.iloc[0]!r} where {wanted!r} is expected; is it the right file?")


def _row(frame: pd.DataFrame) -> str:
    return f"sample_id {frame['sample_id'].iloc[0]}, attempt {frame['attempt'].iloc[0]}"


def _read(path: Path, schema: tables.Schema, without: tuple[str, ...]) -> pd.DataFrame:
    frame = tables.read(path, replace(schema, columns=tuple(c for c in schema.columns if c.name not in without)))
    # pandas 3 cannot merge two empty arrow-backed text columns.
    return frame.astype({"sample_id": object})
