"""Questions written for this project, so that everything runs offline: short facts, word problems, multiple choice.

They are generated from fact tables and templates (`data/`). Training and test questions differ in their *facts*: each fact occurs
in one split only, in every form of question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from bert_judge.tasks.demo import questions
from bert_judge.tasks.demo.facts import Split
from bert_judge.tasks.registry import Sample, task

if TYPE_CHECKING:
    from bert_judge.config import Family


def _register(name: str, family: Family, samples: Callable[[Split], Iterator[Sample]]) -> None:
    @task(f"{name}_train", family)
    def train() -> Iterator[Sample]:
        return samples("train")

    @task(f"{name}_test", family)
    def test() -> Iterator[Sample]:
        return samples("test")


_register("facts", "short_answer", questions.short_facts)
_register("word_problems", "math", questions.word_problems)
_register("multiple_choice", "multiple_choice", questions.multiple_choice)
