"""Detection of the columns of a file by their names (`name_words`) and, where these leave a choice, by their cells."""

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bert_judge.importers.label_columns import are_grades, are_verdicts, grader_columns, nested_columns
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values
from bert_judge.tables.readers.name_words import (
    has_role_words,
    has_usual_name,
    is_ambiguous,
    is_in_unknown_object,
    is_model_answer,
    is_students,
    may_have_role,
    normalize,
    split_words,
    vocabulary,
)
from bert_judge.tables.readers.rows import Record
from bert_judge.tables.readers.values import get_cell

log = logging.getLogger(__name__)

# Usual names of a column of ids, the best first.
IDS = ("id", "sample_id", "doc_id", "custom_id", "question_id")
# Columns that every file of answers needs.
REQUIRED = ("references", "candidate")
# If several columns may have one of these roles, the first is taken, and no file is refused.
OPTIONAL = ("model", "task", "choices", "label", "rationale")
# What a user can do about a role where no option names its column, see `detect_columns`.
RENAME = "rename it to {}".format
# Role of a column with one option; the letter follows. Role of further references; of several columns, a number follows.
OPTION, ALIASES = "option ", "aliases"
EXAMPLE_CHARACTERS = 30
# The grade before promptfoo's answers, `[PASS] (1.00)`.
MARK = re.compile(r"\[(PASS|FAIL|ERROR)\](?:\s+\(\d+\.\d\d(?:,[^)\n]*)?\)(?=\n|$))?\s*")
_OPTION_COLUMN = re.compile(r"(?:(?:option|choice|op|ending|answer)[\s_-]?)([a-j]|\d)|([A-J])", re.IGNORECASE)


@dataclass(frozen=True)
class _Table:
    """The columns of a file, its first rows, and what the user says about it; see `detect_columns`."""

    path: Path
    columns: Sequence[str]
    user_columns: Mapping[str, str]
    required: Sequence[str]
    with_label: bool
    sample: Sequence[Record]
    remedy: Callable[[str], str]
    notices: dict[str, None] = field(default_factory=dict)

    def cells(self, column: str) -> list[Any]:
        """Return the cells of a column in the sample that are not null."""
        return [cell for record in self.sample if (cell := get_cell(record, column)) not in (None, "", [])]

    def describe(self, column: str) -> str:
        """Return the name of a column with an example cell."""
        if not (cells := self.cells(column)):
            return repr(column)
        example = cells[0] if isinstance(cells[0], str) else str(cells[0])
        shortened = example if len(example) <= EXAMPLE_CHARACTERS else f"{example[:EXAMPLE_CHARACTERS]}…"
        return f"{column!r} (e.g. {shortened!r})"

    def doubt(self, role: str, columns: Sequence[str]) -> InputError:
        """Return the error for a role that several columns may have."""
        descriptions = " or ".join(map(self.describe, columns))
        return InputError(f"{self.path}: the {role} may be in the column {descriptions}; {self.remedy(role)}")

    def prefer(self, role: str, column: str, alternatives: Sequence[str], reason: str = "") -> None:
        """Remember to say which of several columns was taken."""
        if alternatives:
            self.notices[f"{self.path}: the {role} is {column!r}, not {' or '.join(map(repr, alternatives))}{reason}"] = None


def column_option(role: str) -> str:
    """Return the option that names the column of a role; `--model` names a model, as in `bert-judge generate`."""
    return "--model-column" if role == "model" else f"--{role}"


def detect_columns(
    path: Path,
    columns: Sequence[str],
    user_columns: Mapping[str, str],
    required: Sequence[str] = REQUIRED,
    *,
    with_label: bool = False,
    sample: Sequence[Record] = (),
    remedy: Callable[[str], str] = lambda role: f"set {column_option(role)} COLUMN",
) -> dict[str, str]:
    """Return role → column of a file, `a.b` for the key `b` of the objects in column `a`.

    Where several columns compete and one is taken, a log line says so.

    Args:
        user_columns: role → column as named by the user; these are not detected.
        sample: rows of the file, to tell references from verdicts, and answers from a grader's output.
        remedy: returns what the user can do about a role, for the error message.

    Returns:
        Columns by the roles of `column_names.yaml`; one column per option is named `option A`, `option B`, …. More references may
        be in `aliases`, and more of the question in `input`.

    Raises:
        InputError: one of `user_columns` does not exist, a role has no column or several, or a column has two roles.
    """
    parents = {name.partition(".")[0] for name in columns}
    for role, column in user_columns.items():
        if column not in columns and column.partition(".")[0] not in parents:
            raise InputError(f"{path}: no column {column!r} for the {role}; available: {', '.join(map(repr, columns[:40]))}")
    table = _Table(path, columns, user_columns, required, with_label, sample, remedy)
    detected = _detect(table)
    while (missing := [role for role in required if role not in detected]) or _holds_verdicts(table, detected.get("references")):
        if row := _find_row_object(table, detected):
            detected = row
            break
        if not missing:
            break
        # First within the columns without a role.
        without_role = [name for name in table.columns if name not in detected.values()]
        not_named = [name for name in table.columns if name not in user_columns.values()]
        if not (nested := nested_columns(without_role, sample) or nested_columns(not_named, sample)):
            listed = ", ".join(map(table.describe, table.columns[:40]))
            raise InputError(f"{path}: cannot tell which column holds the {missing[0]}; {remedy(missing[0])}; available: {listed}")
        rest = [name for name in table.columns if name not in {column.rpartition(".")[0] for column in nested}]
        table = _Table(path, [*rest, *nested], user_columns, required, with_label, sample, remedy)
        detected = _detect(table)
    _check_conflicts(table, detected)
    if "model" not in detected and (model := _find_nested_model(columns, sample)):
        detected["model"] = model
    for line in table.notices:
        log.warning(line)
    return detected


def _detect(table: _Table) -> dict[str, str]:
    """Return the columns of the roles that some column has."""
    detected = _match_names(table)
    columns, sample = table.columns, table.sample
    # CommonsenseQA's are in the question.
    nested = nested_columns([detected["question"]] if "question" in detected else [], sample)
    if "choices" not in detected and (options := [name for name in nested if has_usual_name(name, "choices")]):
        detected["choices"] = options[0]
    if "choices" not in detected:
        detected |= _option_columns([name for name in columns if name not in detected.values()])
    _add_fallbacks(table, detected)
    if "references" not in detected and "references" in table.required:
        # FreshQA's answer_0 to answer_9.
        numbered = {role: name for role, name in detected.items() if role.startswith(OPTION) and split_words(name) == ("answer",)}
        for number, role in enumerate(numbered):
            detected[f"{ALIASES} {number}" if number else "references"] = detected.pop(role)
    aliases = [name for name in columns if name not in detected.values() and _holds_aliases(table, name)]
    detected |= {f"{ALIASES} of {name}" if number else ALIASES: name for number, name in enumerate(aliases)}
    _check_rivals(table, detected)
    return detected


def _holds_aliases(table: _Table, name: str) -> bool:
    """Return whether a column holds further references; under a less sure name, "other answers", only lists do."""
    return has_role_words(name, "aliases") or (
        has_role_words(name, "further_references")
        and any(isinstance(values.parse_literal(cell), list) for cell in table.cells(name))
    )


def _match_names(table: _Table) -> dict[str, str]:
    """Return the user's columns, and those of the others whose name is that of a role."""
    columns, matched = table.columns, dict(table.user_columns)
    unmatched = [name for name in columns if name not in matched.values()]
    for role, names in vocabulary()["names"].items():
        if role in matched or (role in ("label", "rationale") and not table.with_label):
            continue
        named = {normalize(name): name for name in columns if normalize(name) in names}
        if role == "question" and named.keys() == {"instruction", "input"}:
            matched |= {"question": named["instruction"], "input": named["input"]}
            continue
        matching = _matching_columns(table, role, unmatched, matched) or _matching_columns(table, role, columns, matched)
        if len(matching) > 1 and role in OPTIONAL:
            matching.sort(
                key=lambda name: (names.index(normalize(name)) if normalize(name) in names else len(names), name.count("."))
            )
            table.prefer(role, matching[0], [name for name in matching[1:] if table.cells(name) != table.cells(matching[0])])
        elif len(matching) > 1:
            raise table.doubt(role, matching)
        column = next(iter(matching), None)
        if role == "references" and column and column.casefold().endswith("label") and any(map(is_ambiguous, columns)):
            # A label next to an answer may be an annotator's verdict.
            column = None if are_verdicts(table.cells(column)) else column
        if column and (role != "rationale" or column in unmatched):
            matched[role] = column
    return matched


def _matching_columns(table: _Table, role: str, columns: Sequence[str], matched: Mapping[str, str]) -> list[str]:
    """Return the columns that may have a role by their names, the usual ones if there are any."""
    columns = [name for name in columns if may_have_role(name, role, tuple(table.columns))]
    if role == "question":
        columns = [name for name in columns if not table.sample or table.cells(name)]
    students = [name for name in columns if is_students(name)]
    examples = [name for name in columns if is_model_answer(name)]
    if examples and any(vocabulary()["words"]["pupil"] & set(split_words(name)) for name in table.columns):
        students = students or [name for name in columns if is_ambiguous(name)]
    examples = examples if students else []
    if role == "references":
        columns = [name for name in columns if not is_in_unknown_object(name) or _varies(table, name)]
    if role == "candidate":
        columns = [name for name in _drop_grades(table, columns, matched) if _holds_answers(table.cells(name))]
        if marked := [name for name in columns if are_marked(table.cells(name))]:
            return marked
        if students := [name for name in students if name in columns]:
            return [*students, *(name for name in examples if name not in matched.values())]
    names = vocabulary()["names"][role]
    groups = [[name for name in columns if normalize(name) in names], [name for name in columns if has_role_words(name, role)]]
    if role in ("question", *REQUIRED):
        groups.append([name for name in columns if normalize(name).removesuffix("_text") in names])
    if role == "candidate":
        full_texts = [[name for name in group if normalize(name) not in vocabulary()["extracted"]] for group in groups]
        groups = [*full_texts, *groups]
    if role == "references":
        groups.append(examples)
    matching = next(filter(None, groups), [])
    preferred = [name for name in matching if normalize(name) == names[0]]
    return list(preferred if len(preferred) == 1 else matching)


def _drop_grades(table: _Table, columns: Sequence[str], matched: Mapping[str, str]) -> list[str]:
    """Return the columns without those of a grader's output, if another may hold the answer."""
    references = matched.get("references")
    if references is None or are_grades(table.cells(references)):
        return list(columns)
    named = [name for name in columns if has_usual_name(name, "candidate") or has_role_words(name, "candidate")]
    graded = [name for name in named if are_grades(table.cells(name))]
    alternatives = [name for name in named if name not in graded]
    alternatives += [name for name in table.columns if is_ambiguous(name) and name not in matched.values()]
    if graded and alternatives:
        table.prefer("candidate", alternatives[0], graded, ", which holds grades")
        return [name for name in columns if name not in graded]
    return [name for name in columns if name not in graded or split_words(name)[-1] not in ("label", "value")]


def _varies(table: _Table, column: str) -> bool:
    """Return whether a column of metadata has several values for several rows, and no addresses."""
    texts = [str(cell) for cell in table.cells(column)]
    return (len(table.sample) < 2 or len(set(texts)) > 1) and not all(text.startswith("http") for text in texts)


def _add_fallbacks(table: _Table, detected: dict[str, str]) -> None:
    """Add the columns of the roles that no name has: an ambiguous one if only one role is open, or a less usual one."""
    for role, names in vocabulary()["fallback"].items():
        missing = [role for role in table.required if role in REQUIRED and role not in detected]
        ambiguous = [name for name in table.columns if is_ambiguous(name) and name not in detected.values()]
        if len(missing) == 1:
            ambiguous = [name for name in ambiguous if may_have_role(name, missing[0], tuple(table.columns))]
            if len(ambiguous) == 1:
                detected[missing[0]] = ambiguous[0]
        if role not in detected and (fallback := _find_fallback(table, role, names, detected)):
            detected[role] = fallback


def _check_rivals(table: _Table, detected: Mapping[str, str]) -> None:
    """Refuse an answer column next to a candidate and references with names of their own, unless it repeats the references.

    It may hold the answers, and the candidate the output of a grader.
    """
    candidate, references = detected.get("candidate", ""), detected.get("references", "")
    if not candidate or not references or "candidate" in table.user_columns or any(role.startswith("option") for role in detected):
        return
    if "choices" in detected or is_ambiguous(candidate) or any(isinstance(cell, list) for cell in table.cells(candidate)):
        return
    for name in table.columns:
        if not is_ambiguous(name) or name in detected.values() or not may_have_role(name, "candidate", tuple(table.columns)):
            continue
        if any(not _repeats(get_cell(row, name), get_cell(row, references)) for row in table.sample):
            raise table.doubt("candidate", [name, candidate])


def _repeats(cell: Any, references: Any) -> bool:
    try:
        return set(values.parse_texts(cell, is_csv=True)) <= set(values.parse_texts(references, is_csv=True))
    except values.UnreadableCell:
        return True


def _find_row_object(table: _Table, outer: Mapping[str, str]) -> dict[str, str] | None:
    """Return the columns of a row in one object next to its grade, as in tests of graders: `input: {input, output, expected}`."""
    for name in table.columns:
        members = nested_columns([name], table.sample)
        is_row = normalize(name) in [*vocabulary()["folders"]["row"], *vocabulary()["folders"]["input"]]
        if not is_row or not members or name in table.user_columns.values():
            continue
        row = _detect(_Table(table.path, members, {}, table.required, False, table.sample, table.remedy, table.notices))
        if all(role in row for role in table.required):
            grade = outer.get("references")
            return row | ({"label": grade} if grade and _holds_verdicts(table, grade) else {}) | dict(table.user_columns)
    return None


def _holds_verdicts(table: _Table, column: str | None) -> bool:
    return column is not None and column not in table.user_columns.values() and are_verdicts(table.cells(column))


def _find_nested_model(columns: Sequence[str], sample: Sequence[Record]) -> str | None:
    """Return the only key of objects that names a model, e.g. `metadata.model`."""
    of_graders = grader_columns(columns, sample)
    names = [
        name
        for name in nested_columns(columns, sample)
        if has_usual_name(name, "model") and name not in of_graders and isinstance(get_cell(sample[0], name), str)
    ]
    return names[0] if len({get_cell(sample[0], name) for name in names}) == 1 else None


def _check_conflicts(table: _Table, detected: Mapping[str, str]) -> None:
    """Refuse a column with two roles, except a conversation, which holds question and answer."""
    for role, column in detected.items():
        roles = {name for name in detected if detected[name] == column}
        is_conversation = has_usual_name(column, "candidate", "fallback") and roles == {"question", "candidate"}
        if len(roles) > 1 and not is_conversation:
            second_role = next(name for name in detected if name in roles - {role})
            raise InputError(f"{table.path}: the column {column!r} cannot hold both {role} and {second_role}; {table.remedy(role)}")


def are_marked(cells: Sequence[Any]) -> bool:
    """Return whether all cells begin with promptfoo's mark."""
    return bool(cells) and all(isinstance(cell, str) and MARK.match(cell) for cell in cells)


def reference_separator(references: str, sample: Sequence[Record]) -> str | None:
    """Return what separates the references in a text: ";" in the CSV file of TruthfulQA, else None."""
    names = {normalize(name) for record in sample[:1] for name in record}
    return ";" if normalize(references) == "correct_answers" and "incorrect_answers" in names else None


def _holds_answers(cells: Sequence[Any]) -> bool:
    """Return whether some cell can be read as an answer; annotators' `responses` and an empty list of `predictions` cannot."""

    def is_readable(cell: Any) -> bool:
        try:
            return cell != [] and bool(values.parse_answers(cell))
        except values.UnreadableCell:
            return False

    return not cells or any(map(is_readable, cells))


def _find_fallback(table: _Table, role: str, names: Sequence[str], detected: Mapping[str, str]) -> str | None:
    for column in table.columns:
        cells = [cell for record in table.sample if (cell := get_cell(record, column)) is not None]
        if normalize(column) not in names or not cells or column == detected.get("label"):
            continue
        if not may_have_role(column, role, tuple(table.columns)) or (
            role == "references" and is_in_unknown_object(column) and not _varies(table, column)
        ):
            continue
        is_index = "index" in normalize(column) or "idx" in normalize(column)
        has_options = any(known_role == "choices" or known_role.startswith(OPTION) for known_role in detected)
        # One number per option, as in TruthfulQA.
        if any(isinstance(cell, list) and are_verdicts(cell) for cell in cells):
            continue
        if not has_options and (is_index or are_verdicts(cells)):
            continue
        return column
    return None


def _option_columns(columns: Sequence[str]) -> dict[str, str]:
    """Return `option A`, … → column, for columns such as option_a, option_b or A, B, C, or choice1, choice2."""
    options: dict[str, str] = {}
    for name in columns:
        if match := _OPTION_COLUMN.fullmatch(name.strip()):
            options.setdefault((match[1] or match[2]).upper(), name)
    labels = sorted(options)
    are_consecutive = any(labels == [chr(ord(first) + number) for number in range(len(labels))] for first in "A01")
    # Two letters, or answers, alone are rather two answers to compare.
    enough = len(labels) > (2 if any(re.match("answer|.$", name.strip(), re.IGNORECASE) for name in options.values()) else 1)
    return {f"{OPTION}{label}": options[label] for label in labels} if are_consecutive and enough else {}
