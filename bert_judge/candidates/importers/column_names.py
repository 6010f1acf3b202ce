"""Detection of the columns of a file by their usual names (`column_names.yaml`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path

import yaml

from bert_judge.runtime.errors import InputError

# Columns that every file of answers needs.
REQUIRED = ("references", "candidate")
# A column of one of these names holds the candidate in one file and the references in another.
AMBIGUOUS = ("answer", "answers")


@cache
def known_names() -> Mapping[str, tuple[str, ...]]:
    """Return role → names of its column, in small letters with underscores; the first name takes precedence."""
    text = resources.files("bert_judge.candidates.importers").joinpath("column_names.yaml").read_text("utf-8")
    return {role: tuple(names) for role, names in yaml.safe_load(text).items()}


def detect_columns(
    path: Path,
    columns: Sequence[str],
    user_columns: Mapping[str, str],
    required: Sequence[str] = REQUIRED,
    with_label: bool = False,
) -> dict[str, str]:
    """Return role → column of a file.

    Args:
        path: for error messages.
        columns: of the file.
        user_columns: role → column as named by the user; these are not detected.
        required: roles that must be detected.
        with_label: detect a `label` too.

    Raises:
        InputError: one of `user_columns` does not exist, a role has no column or several, or a column has two roles.
    """
    for role, column in user_columns.items():
        if column not in columns:
            raise InputError(f"{path}: no column {column!r} for the {role}; available: {_list_columns(columns)}")
    detected = dict(user_columns)
    for role, names in known_names().items():
        if role in detected or (role == "label" and not with_label):
            continue
        if detected_column := _find_column(path, role, columns, names):
            detected[role] = detected_column
    if missing := [role for role in required if role not in detected]:
        ambiguous = [name for name in columns if _normalize(name) in AMBIGUOUS and name not in detected.values()]
        if len(missing) > 1 or len(ambiguous) != 1 or missing[0] not in REQUIRED:
            raise InputError(
                f"{path}: cannot tell which column holds the {missing[0]}; "
                f"set --{missing[0]} COLUMN; available: {_list_columns(columns)}"
            )
        detected[missing[0]] = ambiguous[0]
    for role, column in detected.items():
        if conflicts := [known_role for known_role in detected if detected[known_role] == column and known_role != role]:
            raise InputError(f"{path}: the column {column!r} cannot hold both {role} and {conflicts[0]}; set --{role} COLUMN")
    return detected


def _find_column(path: Path, role: str, columns: Sequence[str], names: Sequence[str]) -> str | None:
    """Return the only column with a name of this role, or None if there is none."""
    matching = [name for name in columns if _normalize(name) in names]
    preferred = [name for name in matching if _normalize(name) == names[0]]
    if len(matching) > 1 and len(preferred) != 1:
        raise InputError(f"{path}: the {role} may be in the column {' or '.join(map(repr, matching))}; set --{role} COLUMN")
    return next(iter(preferred or matching), None)


def _normalize(name: str) -> str:
    return re.sub(r"[\s.-]+", "_", name.strip()).casefold()


def _list_columns(columns: Sequence[str]) -> str:
    return ", ".join(map(repr, columns[:40]))
