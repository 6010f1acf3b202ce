"""Which column of a stranger's file holds what, by the names that people give such columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from bert_judge.runtime.errors import InputError

# Part → names that it goes by, in small letters with underscores. A file that has the first name means it.
SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "prompt", "input", "query", "instruction", "problem"),
    "references": (
        "references",
        "reference",
        "gold",
        "golds",
        "target",
        "targets",
        "expected",
        "expected_answer",
        "expected_output",
        "ground_truth",
        "ground_truths",
        "correct_answer",
        "reference_answer",
        "gold_answer",
    ),
    "candidate": (
        "candidate",
        "response",
        "prediction",
        "output",
        "completion",
        "generation",
        "generated_text",
        "model_output",
        "model_answer",
        "model_response",
    ),
    "model": ("model", "model_name"),
    "task": ("task", "task_name"),
}
# A verdict on the row, for those who learn from it; a file that `label` or `score` wrote has one too.
LABEL = ("label", "labels", "human_label", "is_correct", "label_score", "score")
# "answer" is what the model said in one file and what is right in another.
EITHER = ("answer", "answers")
NEEDED = ("references", "candidate")


def guess(
    path: Path, columns: Sequence[str], told: Mapping[str, str], needed: Sequence[str] = NEEDED, labelled: bool = False
) -> dict[str, str]:
    """Part → column of the file.

    Args:
        path: of the file, for messages.
        columns: names of its columns.
        told: part → column, as far as the user said; these are not guessed.
        needed: parts that must be found.
        labelled: look for a `label` too.

    Raises:
        InputError: a column that was named is not there, a part has no column or several, or a column has two parts.
    """
    for part, column in told.items():
        if column not in columns:
            raise InputError(f"{path}: no column {column!r} for the {part}; there are {_listed(columns)}")
    found = dict(told)
    for part, names in {**SPELLINGS, **({"label": LABEL} if labelled else {})}.items():
        if part not in found and (spelt := _spelt(path, part, columns, names)):
            found[part] = spelt
    if missing := [part for part in needed if part not in found]:
        either = [name for name in columns if _plain(name) in EITHER and name not in found.values()]
        if len(missing) > 1 or len(either) != 1 or missing[0] not in NEEDED:
            raise InputError(
                f"{path}: no telling which column holds the {missing[0]}; say --{missing[0]} COLUMN; there are {_listed(columns)}"
            )
        found[missing[0]] = either[0]
    for part, column in found.items():
        if twice := [other for other in found if found[other] == column and other != part]:
            raise InputError(f"{path}: the column {column!r} cannot hold both {part} and {twice[0]}; say --{part} COLUMN")
    return found


def _spelt(path: Path, part: str, columns: Sequence[str], names: Sequence[str]) -> str | None:
    """The one column with a name of this part; none for a part that is not there."""
    spelt = [name for name in columns if _plain(name) in names]
    first = [name for name in spelt if _plain(name) == names[0]]
    if len(spelt) > 1 and len(first) != 1:
        raise InputError(f"{path}: the {part} may be in the column {' or '.join(map(repr, spelt))}; say --{part} COLUMN")
    return next(iter(first or spelt), None)


def _plain(name: str) -> str:
    return re.sub(r"[\s.-]+", "_", name.strip()).casefold()


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(map(repr, columns[:40]))
