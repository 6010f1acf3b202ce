"""Detection of labels: the columns that hold the verdicts of a person or of another judge, by their names and cells."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from bert_judge.tables import question_stem
from bert_judge.tables.readers import values
from bert_judge.tables.readers.name_words import has_usual_name, is_ambiguous, is_in_grader, normalize, vocabulary
from bert_judge.tables.readers.rows import Record
from bert_judge.tables.readers.values import get_cell

# What SimpleQA's grader writes: correct, incorrect, not attempted.
GRADE_LETTERS = {"A": 1.0, "B": 0.0, "C": 0.0}
# The output of a grader: points, a mark, or a text or JSON that begins with a score.
_GRADE = re.compile(
    r"[\W_]*(?:(?:final|overall|total)\W+)?(?:score|grade|rating|points?|marks?|verdict|judge?ment|is_correct|correct)[\"'*]*\s*[:=].*"
    r"|\{.*[\"'](?:score|grade|rating|verdict|is_correct|correct)[\"']\s*:.*"
    r"|\d+(?:[.,]\d+)?\s*(?:/|out of|of|von)\s*\d+.*|\d+(?:[.,]\d+)?\s*(?:%|points?|punkte?|pts?\.?)",
    re.IGNORECASE | re.DOTALL,
)


def verdict_columns(columns: Sequence[str], detected: Mapping[str, str], sample: Sequence[Record]) -> list[str]:
    """Return the columns that hold verdicts, by name and values, and have no role; those in objects of a grader last."""
    named = [*_label_columns(columns, detected), *_label_columns(grader_columns(columns, sample), detected)]
    cells = {name: [get_cell(row, name) for row in sample] for name in named}
    has_options = any(role == "choices" or role.startswith("option ") for role in detected) or any(
        question_stem(text) != text for row in sample if isinstance(text := get_cell(row, detected.get("question", "")), str)
    )
    return [name for name in named if are_verdicts(cells[name]) or (not has_options and are_grade_letters(name, cells[name]))]


def are_grade_letters(name: str, cells: Sequence[Any]) -> bool:
    """Return whether a column of verdicts holds SimpleQA's letters alone, at least two of them."""
    letters = {cell for cell in cells if cell is not None}
    return normalize(name) in vocabulary()["sure_verdicts"] and len(letters) > 1 and letters <= GRADE_LETTERS.keys()


def grader_columns(columns: Sequence[str], sample: Sequence[Record]) -> list[str]:
    """Return the dotted names of the members of objects of a grader: those with such a name, or with a model and its verdict."""
    members: dict[str, list[str]] = {}
    for name in nested_columns(columns, sample):
        members.setdefault(name.rpartition(".")[0], []).append(name)
    folders = vocabulary()["folders"]
    of_rows = {*folders["row"], *folders["input"], *folders["candidate"], *folders["metadata"]}

    def is_grader(path: str, names: Sequence[str]) -> bool:
        holds_answer = any(is_ambiguous(name) or has_usual_name(name, "candidate") for name in names)
        labels = [] if holds_answer or normalize(path) in of_rows else _label_columns(names, {})
        return is_in_grader(names[0]) or any(are_verdicts([get_cell(row, name) for row in sample]) for name in labels)

    return [name for member, names in members.items() if is_grader(member, names) for name in names]


def unread_labels(columns: Sequence[str], detected: Mapping[str, str], sample: Sequence[Record]) -> list[tuple[str, Any]]:
    """Return the columns that a person would expect to be read as labels, with a cell that is no verdict."""
    unread = []
    for name in _label_columns(columns, detected):
        cells = [get_cell(row, name) for row in sample]
        odd = [cell for cell in cells if not _is_readable_label(cell)]
        if odd and (normalize(name) in vocabulary()["sure_verdicts"] or len(odd) < len(list(filter(None, cells)))):
            unread.append((name, odd[0]))
    return unread


def _label_columns(columns: Sequence[str], detected: Mapping[str, str]) -> list[str]:
    # A column `score` is rather that of another judge.
    names = {*vocabulary()["names"]["label"], *vocabulary()["verdicts"]} - {"score"}
    return [name for name in columns if normalize(name) in names and name not in detected.values()]


def nested_columns(columns: Sequence[str], sample: Sequence[Record]) -> list[str]:
    """Return the dotted names of the members of columns of objects."""
    cells = [(name, get_cell(record, name)) for name in columns for record in sample]
    members = (f"{name}.{key}" for name, cell in cells if isinstance(cell, Mapping) for key in cell if "." not in key)
    return list(dict.fromkeys(members))


def are_verdicts(cells: Sequence[object]) -> bool:
    return all(map(_is_readable_label, cells)) and any(values.parse_label(cell) is not None for cell in cells)


def _is_readable_label(cell: object) -> bool:
    try:
        values.parse_label(cell)
    except values.UnreadableCell:
        return False
    return True


def are_grades(cells: Sequence[Any]) -> bool:
    """Return whether all cells are numbers, verdicts, or texts that begin with one."""
    texts = [str(cell).strip() for cell in cells if not isinstance(cell, list | Mapping)]
    return bool(texts) and len(texts) == len(cells) and all(map(_is_grade, texts))


def _is_grade(text: str) -> bool:
    first = re.split(r"[.,:;!\n–—]", text, maxsplit=1)[0]
    return _is_readable_label(first) or values.to_float(text) == values.to_float(text) or bool(_GRADE.fullmatch(text))
