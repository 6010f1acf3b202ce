"""Questions written for this project, so that everything runs offline: short facts, word problems, multiple choice.

`data/` has a JSONL file per task. Training and test questions differ in their facts: each fact occurs in one split only, in every
form of question.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from bert_judge.runtime.package_data import read_yaml
from bert_judge.tasks.registry import Sample, task

if TYPE_CHECKING:
    from bert_judge.config import Family

PEOPLE = "people"
_DATA = Path(__file__).with_name("data")


def _register(name: str, family: Family) -> None:
    @task(name, family)
    def samples() -> Iterator[Sample]:
        for line in (_DATA / f"{name}.jsonl").read_text("utf-8").splitlines():
            row = json.loads(line)
            choices = tuple(row["choices"]) if "choices" in row else None
            yield Sample(row["question"], tuple(row["references"]), row["answer_kind"], choices)


for _split in ("train", "test"):
    _register(f"facts_{_split}", "short_answer")
    _register(f"word_problems_{_split}", "math")
    _register(f"multiple_choice_{_split}", "multiple_choice")


@cache
def _answers() -> Mapping[str, list[list[str]]]:
    return {kind: [answer.split("|") for answer in answers] for kind, answers in read_yaml(_DATA / "answers.yaml").items()}


@cache
def _kind_by_answer() -> Mapping[str, str]:
    return {form.casefold(): kind for kind, answers in _answers().items() for forms in answers for form in forms}


@cache
def answers_of_kind(kind: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(usual for usual, *_ in _answers()[kind]))


def similar_answers(answer: str) -> tuple[str, ...]:
    """Return all answers of the same kind as `answer`, itself included; empty for an unknown answer."""
    kind = _kind_by_answer().get(answer.casefold())
    return answers_of_kind(kind) if kind else ()


def is_person(answer: str) -> bool:
    """Return whether the answer is a person's name in `answers.yaml`."""
    return _kind_by_answer().get(answer.casefold()) == PEOPLE
