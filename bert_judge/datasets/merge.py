"""The stages that merge labelled answers over tasks and models into a dataset, split by question, and check that no test question
is used for training.
"""

import json
import logging
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.judges.protocol import join_labels
from bert_judge.perturbations.augmentation import augment
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.resume import content_key

log = logging.getLogger(__name__)
ANSWER_KEY = ["task", "model", "sample_id", "attempt"]


def build_dataset(
    spec: Mapping[str, Any],
    candidates: Sequence[str | Path],
    labels: Sequence[str | Path],
    train: str | Path,
    *,
    validation: str | Path,
    validation_weak: str | Path,
    summary: str | Path,
    weak_labels: Sequence[str | Path] = (),
) -> None:
    """Merge candidate and label tables into training and validation rows.

    Args:
        spec: `Plan.dataset_spec`; its `tables` lists model and task of each candidate table, in the order of the paths.
        train, validation: dataset tables to write. All rows of a question are in one of them, also across tasks.
        validation_weak: dataset table to write, of weak labels on validation questions; empty without a weak teacher.
        summary: JSON file to write, with the number of rows after each step and of tables with simulated answers.

    Raises:
        InputError: a label is missing, or no rows remain for training or validation.
    """
    pairs = [(model, task) for model, task in spec["tables"]]
    merged = [
        _merge(task, candidate_path, label_path, has_rationales=spec.get("rationales", False))
        for (_, task), candidate_path, label_path in zip(pairs, candidates, labels, strict=True)
    ]
    rows = pd.concat(merged, ignore_index=True)
    counts: dict[str, Any] = {"answers": len(rows), "simulated": sum(map(_is_simulated, candidates))}
    valid, invalid = rows[rows["verdict"] != "invalid"], rows[rows["verdict"] == "invalid"]
    counts["invalid_dropped"] = len(invalid)
    counts["invalid_reasons"] = invalid["reason"].fillna("").value_counts().to_dict()
    distinct = fold_duplicates(valid)
    counts["duplicates_folded"] = len(valid) - len(distinct)
    sampled = sample_mix(distinct, spec["mix"], spec["seed"])
    counts["left_out_by_mix"] = len(distinct) - len(sampled)
    if sampled.empty:
        raise InputError(f"datasets.{spec['dataset']}: no labelled answer is left to train on; summary: {counts}")
    held_out = _is_validation(sampled, spec)
    splits = {"train": sampled[~held_out], "validation": sampled[held_out]}
    for name, split in splits.items():
        if split.empty:
            raise InputError(
                f"datasets.{spec['dataset']}.validation_fraction: the {name} split has no rows; change the share or add questions"
            )
        counts[name] = _describe(split)
    synthetic = augment(splits["train"], spec["augment"], spec["seed"])
    counts["synthetic"] = synthetic["model"].value_counts().to_dict()
    splits["train"] = pd.concat([splits["train"], synthetic], ignore_index=True)
    for name, split in splits.items():
        splits[name] = split.assign(weight=balanced_weights(split["label"]) if spec["balance"] else 1.0)
    splits["weak"], counts["weak_teacher"] = splits["validation"].iloc[:0], 0
    if spec.get("weak_teacher"):
        weak = _label_weakly(invalid, spec, dict(zip(pairs, candidates, strict=True)), weak_labels)
        held_out = _is_validation(weak, spec)
        counts["weak_teacher"] = int((~held_out).sum())
        splits["train"], splits["weak"] = pd.concat([splits["train"], weak[~held_out]], ignore_index=True), weak[held_out]
    for name, path in (("train", train), ("validation", validation), ("weak", validation_weak)):
        tables.write(splits[name], path, tables.DATASET, spec)
    tables.write_json(summary, counts)
    log.info(
        "%d training rows, of which %d synthetic and %d weakly labelled; %d validation rows",
        *(len(splits["train"]), len(synthetic), counts["weak_teacher"], len(splits["validation"])),
    )


def _is_simulated(candidates: str | Path) -> bool:
    spec = json.loads(tables.provenance(candidates).get("spec", "{}"))
    return bool(spec.get("settings", {}).get("generator") == "simulated")


def _is_validation(rows: pd.DataFrame, spec: Mapping[str, Any]) -> pd.Series:
    """Return whether each row is in the validation split, which depends on the seed and the question only (`tables.item_keys`)."""
    keys = pd.Series(tables.item_keys(rows["question"].tolist(), rows["references"].tolist()), rows.index, dtype=object)
    return keys.map(lambda key: _fraction(spec["seed"], "validation", key)) < spec["validation_fraction"]


def _label_weakly(
    invalid: pd.DataFrame, spec: Mapping[str, Any], candidates: Mapping[tuple[str, str], str | Path], labels: Sequence[str | Path]
) -> pd.DataFrame:
    """Label the rows that the teacher left invalid with the weak teacher's scores."""
    pairs = [(model, task) for model, task in spec["weak_teacher"]["tables"]]
    merged = pd.concat(
        [_merge(task, candidates[model, task], path) for (model, task), path in zip(pairs, labels, strict=True)], ignore_index=True
    )
    merged = merged.merge(invalid[ANSWER_KEY], on=ANSWER_KEY, validate="one_to_one").assign(aspects=None)
    weak = fold_duplicates(merged[merged["verdict"] != "invalid"])
    return weak.assign(weight=spec["weak_teacher"]["weight"])


def fold_duplicates(rows: pd.DataFrame) -> pd.DataFrame:
    """Keep one row per distinct (task, question, references, candidate), with the mean of its labels and of its aspects.

    Its rationale is that of its first row, unless that had the other verdict.
    """
    key = [rows["task"], rows["question"], rows["references"].map(tuple), rows["candidate"]]
    groups = rows.groupby(key, sort=False)
    labels = groups["label"].transform("mean")
    agrees = (labels >= 0.5) == (rows["label"] >= 0.5)
    rows = rows.assign(label=labels, rationale=rows["rationale"].where(agrees, None))
    if rows["aspects"].notna().any():
        group_numbers = groups.ngroup()
        means = {group: _mean_aspects(labels) for group, labels in rows["aspects"].groupby(group_numbers)}
        rows["aspects"] = pd.Series([means[group] for group in group_numbers], rows.index, dtype=object)
    return rows[~pd.concat(key, axis=1).duplicated()]


def _mean_aspects(labels: pd.Series) -> dict[str, float] | None:
    means = pd.DataFrame([label or {} for label in labels]).mean()
    return {str(aspect): float(mean) for aspect, mean in means.items()} or None


def sample_mix(rows: pd.DataFrame, mix: Mapping[str, Any], seed: int) -> pd.DataFrame:
    """Sample rows within the limits of `config.Mix` per task, per model and in total.

    The sample depends on the seed and on each row alone, so that a new model does not change the rows of the others.
    """
    identity = zip(rows["sample_id"], rows["model"], rows["attempt"], strict=True)
    order = pd.Series([_fraction(seed, "draw", *row) for row in identity], index=rows.index, dtype=float)
    rows = rows.loc[order.sort_values(kind="stable").index]
    for column, limits in (("task", mix["per_task"]), ("model", mix["per_model"])):
        rank = rows.groupby(column, sort=False).cumcount()
        limit = rows[column].map(lambda name, limits=limits: limits.get(name, math.inf)).astype(float)
        rows = rows[rank < limit]
    return rows.head(mix["total"]) if mix["total"] else rows


def balanced_weights(labels: pd.Series) -> pd.Series:
    """Compute weights with mean 1 that give correct and incorrect answers the same total."""
    correct = labels >= 0.5
    class_shares = correct.map(correct.value_counts(normalize=True))
    return 1 / (class_shares * correct.nunique())


def _merge(task: str, candidate_path: str | Path, label_path: str | Path, has_rationales: bool = False) -> pd.DataFrame:
    candidates = tables.read(candidate_path, tables.CANDIDATES)
    labels = join_labels(candidates, label_path)
    columns = {name: labels[name] for name in ("verdict", "score", "reason", "aspects")}
    # Those of simulated answers say how they were made.
    rationale = labels["reason"] if has_rationales and not _is_simulated(candidate_path) else None
    return candidates.assign(task=task, label=labels["score"], rationale=rationale, **columns)


def _describe(rows: pd.DataFrame) -> dict[str, Any]:
    return {
        "rows": len(rows),
        "questions": int(rows["question"].nunique()),
        "base_rate": float((rows["label"] >= 0.5).mean()),
        "per_task": rows["task"].value_counts().to_dict(),
        "per_model": rows["model"].value_counts().to_dict(),
    }


def _fraction(*key: Any) -> float:
    return int(content_key(*map(str, key)), 16) / 16**32


# --- overlap with test tasks ---


def check_overlap(
    spec: Mapping[str, Any],
    dataset: Iterable[str | Path],
    tests: Mapping[str, str | Path],
    output: str | Path,
) -> None:
    """Compare the questions of a dataset with those of every test task, ignoring case and answer options.

    Args:
        tests: test task → its task table.
        output: JSON file to write: test task → number of shared questions.

    Raises:
        InputError: questions are shared and the configuration does not allow it.
    """
    rows = pd.concat([tables.read(path, tables.DATASET)[["question", "references", "task"]] for path in dataset], ignore_index=True)
    training_tasks = dict(zip(_keys(rows), rows["task"], strict=True))
    _check(f"datasets.{spec['dataset']}", spec, training_tasks, tests, output=output)


def check_filter_overlap(
    spec: Mapping[str, Any], train: Mapping[str, str | Path], tests: Mapping[str, str | Path], output: str | Path
) -> None:
    """Compare the questions of a filter's tasks with those of every test task."""
    training_tasks = {key: task for task, path in train.items() for key in _keys(tables.read(path, tables.TASK))}
    _check(f"filters.{spec['filter']}", spec, training_tasks, tests, output=output)


def _check(
    config_key: str,
    spec: Mapping[str, Any],
    training_tasks: Mapping[str, str],
    tests: Mapping[str, str | Path],
    *,
    output: str | Path,
) -> None:
    shared = {}
    for task, path in tests.items():
        rows = tables.read(path, tables.TASK)
        questions = [(key, question) for key, question in zip(_keys(rows), rows["question"], strict=True) if key in training_tasks]
        shared[task] = len(questions)
        if questions and not spec["allow_test_questions"]:
            key, question = questions[0]
            raise InputError(
                f"{config_key}: {len(questions)} questions of test task {task!r} are in the training data "
                f"(from {training_tasks[key]!r}), first: {' '.join(question.split())[:100]!r}; "
                "split by question, or set allow_test_questions: true"
            )
    tables.write_json(output, {"shared_questions": shared})


def _keys(rows: pd.DataFrame) -> list[str]:
    return tables.item_keys(rows["question"].tolist(), rows["references"].tolist())
