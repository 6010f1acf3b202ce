"""The fact tables: reading them, and which side of the split a fact is on."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Literal

from bert_judge.runtime.keyed_random import fraction

Part = Literal["train", "test"]
TEST_SHARE = 1 / 3

# Columns whose values are answers of one kind, so that any of them is a plausible wrong answer to a question about another.
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
    """The rows of `data/{table}.csv`; several forms of one value are separated by `|`."""
    text = resources.files("bert_judge.tasks.demo").joinpath("data", f"{table}.csv").read_text(encoding="utf-8")
    return tuple(csv.DictReader(text.splitlines()))


def forms(value: str) -> tuple[str, ...]:
    """The accepted forms of a value, the usual one first."""
    return tuple(value.split("|"))


def usual(value: str) -> str:
    """The usual form of a value."""
    return forms(value)[0]


def part(*fact: str) -> Part:
    """The side of the split that a fact is on: about two thirds are for training."""
    return "test" if fraction("demo split", *fact) < TEST_SHARE else "train"


@cache
def values(table: str, column: str) -> tuple[str, ...]:
    """The distinct values of a column, in their usual form and in the order of the file."""
    return tuple(dict.fromkeys(usual(row[column]) for row in rows(table)))


@cache
def _places() -> Mapping[str, tuple[str, str]]:
    return {
        form.casefold(): (table, column) for table, column in ANSWER_COLUMNS for row in rows(table) for form in forms(row[column])
    }


def siblings(answer: str) -> tuple[str, ...]:
    """Answers of the kind of `answer`, itself included; empty when no table knows it."""
    place = _places().get(answer.casefold())
    return values(*place) if place else ()


def is_person(answer: str) -> bool:
    """Whether a table knows the answer as a person's name."""
    return _places().get(answer.casefold()) == PEOPLE
