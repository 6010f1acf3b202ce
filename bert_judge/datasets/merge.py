"""Labelled answers, merged over tasks and models, split by question."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.datasets.augmentation import augment
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.resume import content_key

log = logging.getLogger(__name__)
CONTENT = ["question", "references", "candidate"]


def build_dataset(
    spec: Mapping[str, Any],
    candidates: Sequence[str | Path],
    labels: Sequence[str | Path],
    train: str | Path,
    validation: str | Path,
    validation_weak: str | Path,
    summary: str | Path,
    weak_labels: Sequence[str | Path] = (),
) -> None:
    """Merge candidate and label tables into a training and a validation part.

    Args:
        spec: of `Plan.dataset_spec`; its `tables` name model and task of each candidate table, in the order of the paths.
        candidates, labels: one path per table.
        train, validation: dataset tables to write. A question is in one of them only, also when several tasks have it.
        validation_weak: dataset table to write, of the weak teacher's labels on validation questions; empty without a weak teacher.
        summary: JSON file with the number of rows at each step.
        weak_labels: label tables of the weak teacher, one per table of the spec's `weak_teacher`.

    Raises:
        InputError: a label without its candidate, or too little left to train on.
    """
    pairs = [(model, task) for model, task in spec["tables"]]
    merged = [
        _merge(task, candidate_path, label_path)
        for (_, task), candidate_path, label_path in zip(pairs, candidates, labels, strict=True)
    ]
    rows = pd.concat(merged, ignore_index=True)
    counts: dict[str, Any] = {"answers": len(rows)}
    valid = rows[rows["verdict"] != "invalid"]
    counts["invalid_dropped"] = len(rows) - len(valid)
    counts["invalid_reasons"] = rows.loc[rows["verdict"] == "invalid", "reason"].fillna("").value_counts().to_dict()
    folded = fold_duplicates(valid)
    counts["duplicates_folded"] = len(valid) - len(folded)
    drawn = draw(folded, spec["mix"], spec["seed"])
    counts["left_out_by_mix"] = len(folded) - len(drawn)
    if drawn.empty:
        raise InputError(f"datasets.{spec['dataset']}: no labelled answer is left to train on; summary: {counts}")
    held_out = _held_out(drawn, spec)
    parts = {"train": drawn[~held_out], "validation": drawn[held_out]}
    for name, part in parts.items():
        if part.empty:
            raise InputError(
                f"datasets.{spec['dataset']}.validation: the {name} part has no rows; change the share or add questions"
            )
        counts[name] = _describe(part)
    synthetic = augment(parts["train"], spec["augment"], spec["seed"])
    counts["synthetic"] = synthetic["model"].value_counts().to_dict()
    parts["train"] = pd.concat([parts["train"], synthetic], ignore_index=True)
    for name, part in parts.items():
        parts[name] = part.assign(weight=balanced_weights(part["label"]) if spec["balance"] else 1.0)
    parts["weak"], counts["weak_teacher"] = parts["validation"].iloc[:0], 0
    if "weak_teacher" in spec:
        weak = _weakly_labelled(rows[rows["verdict"] == "invalid"], spec, dict(zip(pairs, candidates, strict=True)), weak_labels)
        held_out = _held_out(weak, spec)
        counts["weak_teacher"] = int((~held_out).sum())
        parts["train"], parts["weak"] = pd.concat([parts["train"], weak[~held_out]], ignore_index=True), weak[held_out]
    for name, path in (("train", train), ("validation", validation), ("weak", validation_weak)):
        tables.write(parts[name], path, tables.DATASET, spec)
    with tables.atomic(summary) as temporary:
        temporary.write_text(json.dumps(counts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    log.info(
        "%d rows to train on, %d of them made up, %d labelled by the weak teacher; %d to validate",
        *(len(parts["train"]), len(synthetic), counts["weak_teacher"], len(parts["validation"])),
    )


def _held_out(rows: pd.DataFrame, spec: Mapping[str, Any]) -> pd.Series:
    """Whether a row's question is kept for validation: a matter of the seed and the question alone."""
    points = rows["question"].map(lambda q: _point(spec["seed"], "validation", tables.question_key(tables.question_stem(q))))
    return points < spec["validation"]


def _weakly_labelled(
    undecided: pd.DataFrame, spec: Mapping[str, Any], candidates: Mapping[tuple[str, str], str | Path], labels: Sequence[str | Path]
) -> pd.DataFrame:
    """Rows that the teacher left open, with the score of the judge that was asked instead.

    Args:
        undecided: the rows without a valid verdict of the teacher.
        spec: as in `build_dataset`.
        candidates: (model, task) → its candidate table.
        labels: the other judge's label tables, one per table of the spec's `weak_teacher`.
    """
    asked = [(model, task) for model, task in spec["weak_teacher"]["tables"]]
    merged = pd.concat(
        [_merge(task, candidates[model, task], path) for (model, task), path in zip(asked, labels, strict=True)], ignore_index=True
    )
    key = ["task", "model", "sample_id", "attempt"]
    merged = merged.merge(undecided[key], on=key, validate="one_to_one").assign(aspects=None)
    weak = fold_duplicates(merged[merged["verdict"] != "invalid"])
    return weak.assign(weight=spec["weak_teacher"]["weight"])


def fold_duplicates(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per distinct (task, question, references, candidate); where teachers' labels or aspects differ, their mean."""
    key = [rows["task"], rows["question"], rows["references"].map(tuple), rows["candidate"]]
    groups = rows.groupby(key, sort=False)
    rows = rows.assign(label=groups["label"].transform("mean"))
    if rows["aspects"].notna().any():
        number = groups.ngroup()
        means = {group: _mean_aspects(part) for group, part in rows["aspects"].groupby(number)}
        rows["aspects"] = pd.Series([means[group] for group in number], rows.index, dtype=object)
    return rows[~pd.concat(key, axis=1).duplicated()]


def _mean_aspects(labels: pd.Series) -> dict[str, float] | None:
    """The mean of each aspect over the labels that have it; None where none has any."""
    found: dict[str, list[float]] = {}
    for label in labels:
        for aspect, value in (label or {}).items():
            found.setdefault(aspect, []).append(value)
    return {aspect: sum(values) / len(values) for aspect, values in found.items()} or None


def draw(rows: pd.DataFrame, mix: Mapping[str, Any], seed: int) -> pd.DataFrame:
    """Keep at most as many rows per task, per model and in all as the mix says.

    Which rows stay depends on the seed and on each row alone, so a new model does not reshuffle the others' rows.
    """
    identity = zip(rows["sample_id"], rows["model"], rows["attempt"], strict=True)
    order = pd.Series([_point(seed, "draw", *row) for row in identity], index=rows.index, dtype=float)
    rows = rows.loc[order.sort_values(kind="stable").index]
    for column, limits in (("task", mix["per_task"]), ("model", mix["per_model"])):
        rank = rows.groupby(column, sort=False).cumcount()
        most = rows[column].map(lambda name, limits=limits: limits.get(name, math.inf)).astype(float)
        rows = rows[rank < most]
    return rows.head(mix["total"]) if mix["total"] else rows


def balanced_weights(labels: pd.Series) -> pd.Series:
    """Weights with mean 1 that give right and wrong answers the same total."""
    right = labels >= 0.5
    shares = right.map(right.value_counts(normalize=True))
    return 1 / (shares * right.nunique())


def _merge(task: str, candidate_path: str | Path, label_path: str | Path) -> pd.DataFrame:
    candidates = tables.read(candidate_path, tables.CANDIDATES).drop(columns="reason")
    labels = tables.read(label_path, tables.LABELS)[["sample_id", "attempt", "verdict", "score", "reason", "aspects"]]
    merged = candidates.merge(labels, on=["sample_id", "attempt"], how="left", validate="one_to_one")
    if (lost := merged["verdict"].isna()).any():
        raise InputError(f"{label_path}: no label for sample {merged.loc[lost, 'sample_id'].iloc[0]} of {candidate_path}")
    return merged.assign(task=task, label=merged["score"])


def _describe(part: pd.DataFrame) -> dict[str, Any]:
    return {
        "rows": len(part),
        "questions": int(part["question"].nunique()),
        "base_rate": float((part["label"] >= 0.5).mean()),
        "per_task": part["task"].value_counts().to_dict(),
        "per_model": part["model"].value_counts().to_dict(),
    }


def _point(*parts: Any) -> float:
    """A fixed point in [0, 1) for the parts' content."""
    return int(content_key(*map(str, parts)), 16) / 16**32
