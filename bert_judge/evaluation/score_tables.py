"""Score tables: candidates and the labels of all judges, joined per model and task; their verdicts, and groups of answers."""

import json
import logging
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.candidates.stage import summarize_statuses
from bert_judge.runtime.errors import InputError

KEY = list(tables.CANDIDATES.key)
# Columns of a frame of verdicts; the parentheses keep them apart from judges' names.
MODEL, TASK = "(model)", "(task)"
STATUS = "(status)"
# Characters of the answer; of question, references and answer together.
ANSWER_LENGTH, TOTAL_LENGTH = "(characters)", "(all characters)"
ANSWER_FEATURES = (STATUS, ANSWER_LENGTH, TOTAL_LENGTH)
# Answers can be long; small batches bound the memory.
BATCH_ROWS = 256
# (level, group) → frame of verdicts.
Groups = Mapping[tuple[str, str], pd.DataFrame]
Group = tuple[tuple[str, str], pd.DataFrame]
# Upper bounds of the classes of answer lengths, in characters; fixed, so that runs can be compared.
LENGTH_BOUNDS = (20, 100, 500, 2000)
log = logging.getLogger(__name__)


def build_scores(spec: Mapping[str, Any], candidates: Path, labels: Mapping[str, Path], output: Path) -> None:
    """Write the score table of one model and task: one row per candidate, in the candidates' order.

    Args:
        spec: `Plan.scores_spec`.
        labels: judge → its label table of these candidates.

    Raises:
        InputError: a candidate without label, a label without candidate, or a table of another model or judge.
    """
    if missing := [judge for judge in spec["judges"] if judge not in labels]:
        raise InputError(f"{output}: no label table is given for the judge {missing[0]!r}; add it to the job's inputs")
    unused = {"reasoning", "prompt_tokens", "completion_tokens"}
    # pandas 3 cannot merge two empty arrow-backed text columns, so keys are objects.
    frame = _read_columns(candidates, tables.CANDIDATES, {*tables.CANDIDATES.names} - unused).astype({"sample_id": object})
    _check_constant(frame, "model", spec["model"], candidates)
    for judge in spec["judges"]:
        # A left join keeps the candidates' order.
        frame = frame.merge(
            _read_labels(labels[judge], model=spec["model"], judge=judge, candidates=frame, candidates_path=candidates),
            on=KEY,
            how="left",
        )
    revisions = tables.merge_revisions([candidates, *(labels[judge] for judge in spec["judges"])])
    tables.write(frame, output, tables.scores_schema(spec["judges"]), spec, revisions=revisions)
    log.info("%s: %d candidates of %s on %s: %s", output, len(frame), spec["model"], spec["task"], summarize_statuses(frame))


def load_verdicts(scores: Sequence[Path], judges: Sequence[str], answer_features: bool = False) -> pd.DataFrame:
    """Read several score tables: `MODEL`, `TASK`, `sample_id`, `attempt`, then score, verdict, outcome and certain of each judge.

    Rows are sorted by task, model, sample_id and attempt, so that the order of the files does not matter. `answer_features`: add
    the columns `ANSWER_FEATURES`.
    """
    columns = [name for judge in judges for name in (judge, *(f"{judge}_{name}" for name in ("verdict", "outcome", "certain")))]
    frames = []
    for path in scores:
        model, task = identify_table(path)
        frame = _read_columns(path, tables.scores_schema(judges), {*KEY, *columns})
        for judge in judges:
            for name, categories in ((f"{judge}_verdict", tables.VERDICTS), (f"{judge}_outcome", tables.OUTCOMES)):
                frame[name] = pd.Categorical(frame[name], categories=categories)
            frame[f"{judge}_certain"] = frame[f"{judge}_certain"].astype("boolean")
        if answer_features:
            frame = pd.concat([frame, _read_answer_features(path)], axis=1)
        frames.append(frame.assign(**{MODEL: model, TASK: task}))
    if not frames:
        return pd.DataFrame(columns=[MODEL, TASK, *KEY, *columns, *(ANSWER_FEATURES if answer_features else ())])
    return pd.concat(frames, ignore_index=True).sort_values([TASK, MODEL, *KEY], ignore_index=True)


def _read_answer_features(path: Path) -> pd.DataFrame:
    """Compute `ANSWER_FEATURES` of a score table, reading texts in batches."""
    frames = [
        pd.DataFrame({STATUS: pd.Series(dtype=object)} | dict.fromkeys([ANSWER_LENGTH, TOTAL_LENGTH], pd.Series(dtype="int64")))
    ]
    for batch in tables.read_batches(path, tables.scores_schema([]), BATCH_ROWS):
        answer, question = (batch[name].str.len().astype("int64") for name in ("candidate", "question"))
        references = batch["references"].map(lambda texts: sum(map(len, texts))).astype("int64")
        columns = zip(ANSWER_FEATURES, (batch["status"].astype(object), answer, answer + question + references), strict=True)
        frames.append(pd.DataFrame(dict(columns)))
    return pd.concat(frames, ignore_index=True)


def read_texts(path: Path, keys: Collection[tuple[str, int]]) -> Iterator[tuple[tuple[str, int], dict[str, Any]]]:
    """Yield (sample_id, attempt) and the row without verdicts for the given answers, reading texts in batches."""
    for batch in tables.read_batches(path, tables.scores_schema([]), BATCH_ROWS):
        for row in batch.to_dict("records"):
            if (key := (row["sample_id"], row["attempt"])) in keys:
                yield key, {str(name): value for name, value in row.items()}


def identify_table(path: Path) -> tuple[str, str]:
    """Return (model, task) of a score table, from its metadata. Raises InputError: it is no score table."""
    spec = json.loads(tables.provenance(path).get("spec", "{}"))
    if not {"model", "task"} <= set(spec):
        raise InputError(f"{path}: not a score table (no model and task in its metadata); create it with the scores stage")
    return spec["model"], spec["task"]


def group_by_task(frame: pd.DataFrame) -> Iterator[Group]:
    """Yield all answers, then each task."""
    yield ("all", "all"), frame
    yield from _group_by(frame, "task", frame[TASK])


def group_by_family(frame: pd.DataFrame, families: Mapping[str, str]) -> Iterator[Group]:
    """Yield all answers, each family of tasks (task → family), each task."""
    yield ("all", "all"), frame
    yield from _group_by(frame, "family", frame[TASK].map(families))
    yield from _group_by(frame, "task", frame[TASK])


def group_by_answer_features(frame: pd.DataFrame, styles: Mapping[str, str]) -> Iterator[Group]:
    """Yield each model, class of lengths, style and status, if there are at least two of the kind.

    `styles`: model → style of its answers, where it is known.
    """
    for level, values in (
        ("model", frame[MODEL]),
        ("length", length_class(frame[ANSWER_LENGTH])),
        ("style", frame[MODEL].map(styles)),
        ("status", frame[STATUS]),
    ):
        if values.nunique() > 1:
            yield from _group_by(frame, level, values)


def length_class(characters: pd.Series) -> pd.Series:
    """Return the class of each length as ordered text: `1–20` characters and so on."""
    ranges = [f"{a + 1:,}–{b:,}" for a, b in pairwise((0, *LENGTH_BOUNDS))]
    names = ["0", *ranges, f"over {LENGTH_BOUNDS[-1]:,}"]
    return pd.cut(characters, [-1, 0, *LENGTH_BOUNDS, np.inf], labels=names)


def _group_by(frame: pd.DataFrame, level: str, values: pd.Series) -> Iterator[Group]:
    for name, rows in frame.groupby(values, sort=True, observed=True):
        yield (level, str(name)), rows


def _read_labels(path: Path, *, model: str, judge: str, candidates: pd.DataFrame, candidates_path: Path) -> pd.DataFrame:
    labels = _read_columns(path, tables.LABELS, {*KEY, "model", "judge", "score", "verdict", "outcome", "certain"}).astype(
        {"sample_id": object}
    )
    _check_constant(labels, "model", model, path)
    _check_constant(labels, "judge", judge, path)
    remedy = "delete the file and label again"
    if (repeated := labels.duplicated(KEY)).any():
        raise InputError(f"{path}: {_describe_row(labels[repeated])} is labelled twice; {remedy}")
    joined = candidates[KEY].merge(labels, on=KEY, how="outer", indicator=True)
    if len(unlabelled := joined[joined["_merge"] == "left_only"]):
        row = _describe_row(unlabelled)
        raise InputError(f"{path}: no label for {row} of {candidates_path} ({len(unlabelled)} such rows); {remedy}")
    if len(unknown := joined[joined["_merge"] == "right_only"]):
        raise InputError(f"{path}: {_describe_row(unknown)} is not in {candidates_path} ({len(unknown)} such rows); {remedy}")
    names = {"score": judge, "verdict": f"{judge}_verdict", "outcome": f"{judge}_outcome", "certain": f"{judge}_certain"}
    return labels[[*KEY, *names]].rename(columns=names)


def _check_constant(frame: pd.DataFrame, column: str, expected: str, path: Path) -> None:
    if not (unexpected := frame.loc[frame[column] != expected, column]).empty:
        raise InputError(
            f"{path}: column {column!r} contains {unexpected.iloc[0]!r}, expected {expected!r}; check that it is the correct file"
        )


def _describe_row(frame: pd.DataFrame) -> str:
    return f"sample_id {frame['sample_id'].iloc[0]}, attempt {frame['attempt'].iloc[0]}"


def _read_columns(path: Path, schema: tables.Schema, names: Collection[str]) -> pd.DataFrame:
    return tables.read(path, replace(schema, columns=tuple(column for column in schema.columns if column.name in names)))
