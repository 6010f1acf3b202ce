"""The check that no question of a test task is trained on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.runtime.errors import InputError


def check_overlap(
    spec: Mapping[str, Any],
    parts: Iterable[str | Path],
    tests: Mapping[str, str | Path],
    output: str | Path,
) -> None:
    """Compare the questions of a dataset with those of every test task; options and case do not count.

    Args:
        spec: of `Plan.overlap_spec`.
        parts: the dataset's tables.
        tests: test task → its task table.
        output: JSON file, test task → number of shared questions.

    Raises:
        InputError: questions are shared and the configuration does not allow it.
    """
    trained = pd.concat([tables.read(path, tables.DATASET)[["question", "task"]] for path in parts], ignore_index=True)
    origin = dict(zip(trained["question"].map(_key), trained["task"], strict=True))
    _check(f"datasets.{spec['dataset']}", spec, origin, tests, output)


def check_filter_overlap(
    spec: Mapping[str, Any], train: Mapping[str, str | Path], tests: Mapping[str, str | Path], output: str | Path
) -> None:
    """Compare the questions that a filter's answers are about with those of every test task.

    Args:
        spec: of `Plan.filter_overlap_spec`.
        train: the filter's tasks → their task tables.
        tests, output: as for `check_overlap`.

    Raises:
        InputError: questions are shared and the configuration does not allow it.
    """
    origin = {_key(question): task for task, path in train.items() for question in tables.read(path, tables.TASK)["question"]}
    _check(f"filters.{spec['filter']}", spec, origin, tests, output)


def _check(
    where: str, spec: Mapping[str, Any], origin: Mapping[str, str], tests: Mapping[str, str | Path], output: str | Path
) -> None:
    """Count shared questions.

    Args:
        where: the block of the configuration, for the message.
        origin: key of each question that is learnt → its task.
    """
    shared = {}
    for task, path in tests.items():
        questions = tables.read(path, tables.TASK)["question"]
        common = [question for question in questions if _key(question) in origin]
        shared[task] = len(common)
        if common and not spec["allow_test_questions"]:
            raise InputError(
                f"{where}: {len(common)} questions of test task {task!r} are in the training data "
                f"(from {origin[_key(common[0])]!r}), first: {' '.join(common[0].split())[:100]!r}; "
                "split by question, or set allow_test_questions: true"
            )
    with tables.atomic(output) as temporary:
        temporary.write_text(json.dumps({"shared_questions": shared}, indent=2) + "\n", encoding="utf-8")


def _key(question: str) -> str:
    return tables.question_key(tables.question_stem(question))
