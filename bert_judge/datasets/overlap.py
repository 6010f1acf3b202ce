"""The stage that checks that no test question is used for training."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.runtime.errors import InputError


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
    _check(f"datasets.{spec['dataset']}", spec, training_tasks, tests, output)


def check_filter_overlap(
    spec: Mapping[str, Any], train: Mapping[str, str | Path], tests: Mapping[str, str | Path], output: str | Path
) -> None:
    """Compare the questions of a filter's tasks with those of every test task."""
    training_tasks = {key: task for task, path in train.items() for key in _keys(tables.read(path, tables.TASK))}
    _check(f"filters.{spec['filter']}", spec, training_tasks, tests, output)


def _check(
    config_key: str,
    spec: Mapping[str, Any],
    training_tasks: Mapping[str, str],
    tests: Mapping[str, str | Path],
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
