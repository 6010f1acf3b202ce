"""Which answers are looked at together: all, a family, a task, a model, answers of one length, style or ending."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np
import pandas as pd

from bert_judge.evaluation.matrix import MODEL, TASK

# Columns of a frame of verdicts that say what an answer is like.
STATUS = "(status)"
LENGTH = "(characters)"
# Of question, references and answer together.
CHARACTERS = "(all characters)"
Group = tuple[tuple[str, str], pd.DataFrame]
# Longest answer of each class of lengths, in characters; the same in every run, so that runs can be compared.
LENGTHS = (20, 100, 500, 2000)


def by_task(frame: pd.DataFrame) -> Iterator[Group]:
    """Everything, then each task."""
    yield ("all", "all"), frame
    yield from _each(frame, "task", frame[TASK])


def by_family(frame: pd.DataFrame, families: Mapping[str, str]) -> Iterator[Group]:
    """Everything, each family, each task."""
    yield ("all", "all"), frame
    yield from _each(frame, "family", frame[TASK].map(families))
    yield from _each(frame, "task", frame[TASK])


def by_trait(frame: pd.DataFrame, styles: Mapping[str, str]) -> Iterator[Group]:
    """Each model, each class of lengths, each style, each ending; a trait that is the same for all answers divides nothing.

    Args:
        frame: with (status) and (characters).
        styles: model → how it writes, of the models where that is known.
    """
    for level, trait in (
        ("model", frame[MODEL]),
        ("length", length_class(frame[LENGTH])),
        ("style", frame[MODEL].map(styles)),
        ("status", frame[STATUS]),
    ):
        if trait.nunique() > 1:
            yield from _each(frame, level, trait)


def length_class(characters: pd.Series) -> pd.Series:
    """The class of each length as text: `1–20` characters and so on, in the order of the lengths."""
    names = ["0", f"1–{LENGTHS[0]}", *(f"{a + 1:,}–{b:,}" for a, b in pairwise(LENGTHS))]
    names.append(f"over {LENGTHS[-1]:,}")
    return pd.cut(characters, [-1, 0, *LENGTHS, np.inf], labels=names)


def _each(frame: pd.DataFrame, level: str, trait: pd.Series) -> Iterator[Group]:
    for name, part in frame.groupby(trait, sort=True, observed=True):
        yield (level, str(name)), part
