"""A question with its references, read once for all answers to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache

from bert_judge.text.options import Expectation, expected_choice, parse_options
from bert_judge.text.reading import Text

# Tasks that are kept for further answers; tables have them in any order.
_MAX_TASKS = 256


class Task:
    """A question with its references, which many models may answer.

    Attributes:
        question, references: as `Text`, with their views.
    """

    def __init__(self, question: str, references: Sequence[str]) -> None:
        self.question = Text(question)
        self.references = tuple(map(Text, references))

    @cached_property
    def options(self) -> Mapping[str, str]:
        """The options that the question lists, see `parse_options`."""
        return parse_options(self.question)

    @cached_property
    def choice(self) -> Expectation | None:
        """The options that the references name, see `expected_choice`."""
        return expected_choice(self.question, self.references)


@lru_cache(maxsize=_MAX_TASKS)
def read_task(question: str, references: tuple[str, ...]) -> Task:
    """Return the task of a row; rows that come one by one share it."""
    return Task(question, references)
