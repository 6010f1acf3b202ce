"""The fact tables and their train/test split."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Literal

from bert_judge.runtime.keyed_random import fraction

Split = Literal["train", "test"]
TEST_SHARE = 1 / 3

# Columns whose values are interchangeable: any of them is a plausible wrong answer to a question about another.
ANSWER_COLUMNS = (
    ("countries", "capital"),
    ("countries", "country"),
    ("elements", "element"),
    ("works", "person"),
    ("young", "young"),
)
PEOPLE = ("works", "person")


@cache
def rows(table: str) -> tuple[Mapping[str, str], ...]:
    """Return the rows of `data/{table}.csv`; several forms of one value are separated by `|`."""
    text = resources.files("bert_judge.tasks.demo").joinpath("data", f"{table}.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def forms(value: str) -> tuple[str, ...]:
    """Return the accepted forms of a value, the usual one first."""
    return tuple(value.split("|"))


def usual(value: str) -> str:
    """Return the usual form of a value."""
    return forms(value)[0]


def split_of(*fact: str) -> Split:
    """Return the split of a fact: about two thirds are for training."""
    return "test" if fraction("demo split", *fact) < TEST_SHARE else "train"


@cache
def values(table: str, column: str) -> tuple[str, ...]:
    """Return the distinct values of a column, in their usual form and in the order of the file."""
    return tuple(dict.fromkeys(usual(row[column]) for row in rows(table)))


@cache
def _column_by_answer() -> Mapping[str, tuple[str, str]]:
    return {
        form.casefold(): (table, column) for table, column in ANSWER_COLUMNS for row in rows(table) for form in forms(row[column])
    }


def siblings(answer: str) -> tuple[str, ...]:
    """Return all answers of the same column as `answer`, itself included; empty for an unknown answer."""
    column = _column_by_answer().get(answer.casefold())
    return values(*column) if column else ()


def is_person(answer: str) -> bool:
    """Return whether the answer is a person's name in the tables."""
    return _column_by_answer().get(answer.casefold()) == PEOPLE
