"""Detection of the columns of a file by their usual names and the words in them (`column_names.yaml`)."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import yaml

from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import Record
from bert_judge.tables.readers.values import get_path

# Columns that every file of answers needs.
REQUIRED = ("references", "candidate")
# What a user can do about a role where no option names its column, see `detect_columns`.
RENAME = "rename it to {}".format
# Role of a column with one option; the letter follows.
OPTION = "option "
# A part of a dotted name that says nothing about the role: the value in `output.value`.
_VALUE = re.compile(r"(?<=\w)[./](?:value|text|content)$", re.IGNORECASE)
_OPTION_COLUMN = re.compile(r"(?:(?:option|choice|op|ending|answer)[\s_-]?)([a-j]|\d)|([A-J])", re.IGNORECASE)


@cache
def _vocabulary() -> Mapping[str, Any]:
    content = yaml.safe_load(Path(__file__).with_name("column_names.yaml").read_text("utf-8"))
    return content | {"words": {name: frozenset(words) for name, words in content["words"].items()}}


def detect_columns(
    path: Path,
    columns: Sequence[str],
    user_columns: Mapping[str, str],
    required: Sequence[str] = REQUIRED,
    with_label: bool = False,
    sample: Sequence[Record] = (),
    remedy: Callable[[str], str] = "set --{} COLUMN".format,
) -> dict[str, str]:
    """Return role → column of a file, `a.b` for the key `b` of the objects in column `a`.

    Args:
        user_columns: role → column as named by the user; these are not detected.
        sample: rows of the file, to tell references from verdicts.
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
            raise InputError(f"{path}: no column {column!r} for the {role}; available: {_list_columns(columns)}")
    detected = _match_names(path, columns, user_columns, with_label, sample, remedy)
    # CommonsenseQA's are in the question.
    nested = _nested_columns([detected["question"]] if "question" in detected else [], sample)
    if options := [name for name in nested if "choices" not in detected and normalize(name) in _vocabulary()["names"]["choices"]]:
        detected["choices"] = options[0]
    if "choices" not in detected:
        detected |= _option_columns([name for name in columns if name not in detected.values()])
    _add_fallbacks(columns, detected, required, sample)
    if aliases := next((name for name in columns if _has_role(name, "aliases") and name not in detected.values()), None):
        detected.setdefault("aliases", aliases)
    if missing := [role for role in required if role not in detected]:
        # First within the columns without a role.
        without_role = [name for name in columns if name not in detected.values()]
        not_named = [name for name in columns if name not in user_columns.values()]
        if nested := _nested_columns(without_role, sample) or _nested_columns(not_named, sample):
            rest = [name for name in columns if name not in {column.rpartition(".")[0] for column in nested}]
            return detect_columns(path, [*rest, *nested], user_columns, required, with_label, sample, remedy)
        raise InputError(
            f"{path}: cannot tell which column holds the {missing[0]}; {remedy(missing[0])}; available: {_list_columns(columns)}"
        )
    _check_conflicts(path, detected, remedy)
    return detected


def _match_names(
    path: Path,
    columns: Sequence[str],
    user_columns: Mapping[str, str],
    with_label: bool,
    sample: Sequence[Record],
    remedy: Callable[[str], str],
) -> dict[str, str]:
    """Return the user's columns, and those of the others whose name is that of a role."""
    matched = dict(user_columns)
    others = [name for name in columns if name not in user_columns.values()]
    for role, names in _vocabulary()["names"].items():
        if role in matched or (role == "label" and not with_label):
            continue
        named = {normalize(name): name for name in columns if normalize(name) in names}
        if role == "question" and named.keys() == {"instruction", "input"}:
            matched |= {"question": named["instruction"], "input": named["input"]}
            continue
        matching = _matching_columns(role, others, names, sample) or _matching_columns(role, columns, names, sample)
        if len(matching) > 1:
            raise InputError(f"{path}: the {role} may be in the column {' or '.join(map(repr, matching))}; {remedy(role)}")
        column = next(iter(matching), None)
        if role == "references" and column and column.casefold().endswith("label") and any(map(_is_ambiguous, columns)):
            # A label next to an answer may be an annotator's verdict.
            column = None if _are_verdicts([get_cell(row, column) for row in sample]) else column
        if column:
            matched[role] = column
    return matched


def _add_fallbacks(columns: Sequence[str], detected: dict[str, str], required: Sequence[str], sample: Sequence[Record]) -> None:
    """Add the columns of the roles that no name has: an ambiguous one if only one role is open, or a less usual one."""
    for role, names in _vocabulary()["fallback"].items():
        missing = [role for role in required if role in REQUIRED and role not in detected]
        ambiguous = [name for name in columns if _is_ambiguous(name) and name not in detected.values()]
        if len(missing) == 1 and len(ambiguous) == 1:
            detected[missing[0]] = ambiguous[0]
        if role not in detected and (fallback := _find_fallback(role, columns, names, detected, sample)):
            detected[role] = fallback


def _check_conflicts(path: Path, detected: Mapping[str, str], remedy: Callable[[str], str]) -> None:
    """Refuse a column with two roles, except a conversation, which holds question and answer."""
    for role, column in detected.items():
        roles = {name for name in detected if detected[name] == column}
        is_conversation = normalize(column) in _vocabulary()["fallback"]["candidate"] and roles == {"question", "candidate"}
        if len(roles) > 1 and not is_conversation:
            other = next(name for name in detected if name in roles - {role})
            raise InputError(f"{path}: the column {column!r} cannot hold both {role} and {other}; {remedy(role)}")


def verdict_columns(columns: Sequence[str], detected: Mapping[str, str], sample: Sequence[Record]) -> list[str]:
    """Return the columns that hold verdicts, by name and values, and have no role."""
    # A column `score` is rather that of another judge.
    names = {*_vocabulary()["names"]["label"], *_vocabulary()["verdicts"]} - {"score"}
    return [
        name
        for name in columns
        if normalize(name) in names and name not in detected.values() and _are_verdicts([get_cell(row, name) for row in sample])
    ]


def get_cell(record: Record, column: str) -> Any:
    """Return the cell of a column, or the member of nested objects under a dotted name; None if there is none."""
    return get_path(record, *([column] if column in record else column.split(".")))


def reference_separator(references: str, sample: Sequence[Record]) -> str | None:
    """Return what separates the references in a text: ";" in the CSV file of TruthfulQA, else None."""
    names = {normalize(name) for record in sample[:1] for name in record}
    return ";" if normalize(references) == "correct_answers" and "incorrect_answers" in names else None


def _is_ambiguous(name: str) -> bool:
    return normalize(name) in _vocabulary()["ambiguous"]


def _nested_columns(columns: Sequence[str], sample: Sequence[Record]) -> list[str]:
    """Return the dotted names of the members of columns of objects."""
    cells = [(name, get_cell(record, name)) for name in columns for record in sample]
    members = (f"{name}.{key}" for name, cell in cells if isinstance(cell, Mapping) for key in cell if "." not in key)
    return list(dict.fromkeys(members))


def _matching_columns(role: str, columns: Sequence[str], names: Sequence[str], sample: Sequence[Record]) -> list[str]:
    """Return the columns that may have a role by their names, the usual ones if there are any."""
    if role == "question":
        columns = [name for name in columns if not sample or any(get_cell(row, name) not in (None, "", []) for row in sample)]
    groups = [[name for name in columns if normalize(name) in names], [name for name in columns if _has_role(name, role)]]
    if role in ("question", *REQUIRED):
        groups.append([name for name in columns if normalize(name).removesuffix("_text") in names])
    if role == "candidate":
        groups = [[name for name in group if _holds_answers([get_cell(row, name) for row in sample])] for group in groups]
        whole = [[name for name in group if normalize(name) not in _vocabulary()["extracted"]] for group in groups]
        groups = [*whole, *groups]
    matching = next(filter(None, groups), [])
    preferred = [name for name in matching if normalize(name) == names[0]]
    return preferred if len(preferred) == 1 else matching


def _holds_answers(cells: Sequence[Any]) -> bool:
    """Return whether some cell can be read as an answer; annotators' `responses` and an empty list of `predictions` cannot."""

    def is_readable(cell: Any) -> bool:
        try:
            return cell != [] and bool(values.parse_answers(cell))
        except values.UnreadableCell:
            return False

    return not cells or any(map(is_readable, cells))


def _has_role(name: str, role: str) -> bool:
    """Return whether the words of a name are those of a role, e.g. a gold word and an answer word."""
    words, role_words = _split_words(name), _vocabulary()["words"]
    if not words or _is_ambiguous(name):
        return False
    has_text = words[-1] == "text" and len(words) > 1
    if role == "question":
        return set(words) <= role_words["question"] and words[-2 if has_text else -1] in role_words["question_ending"]
    if role == "references":
        answer = role_words["answer"] | role_words["reference"]
        has_correct_answer = not role_words["correct"].isdisjoint(words) and not answer.isdisjoint(words)
        is_gold = not role_words["gold"].isdisjoint(words) or has_correct_answer
        return is_gold and set(words) <= role_words["gold"] | role_words["correct"] | answer
    if role == "candidate":
        if len(words) > 1 and words[0] in role_words["produced"] and words[-1] in role_words["reference"]:
            return set(words[:-1]) <= role_words["answer"] | role_words["model"]
        words = words[:-1] if has_text else words
        is_answer = words[-1] in role_words["answer"] and set(words) <= role_words["answer"] | role_words["model"]
        return is_answer and (has_text or not role_words["model"].isdisjoint(words))
    if role == "aliases":
        known = role_words["alias"] | role_words["gold"] | role_words["correct"] | role_words["answer"]
        return set(words) <= known and not role_words["alias"].isdisjoint(words)
    if role == "choices":
        return set(words) <= role_words["choice"] and not {"choice", "option"}.isdisjoint(words) and len(words) > 1
    return False


def _find_fallback(
    role: str, columns: Sequence[str], names: Sequence[str], detected: Mapping[str, str], sample: Sequence[Record]
) -> str | None:
    for column in columns:
        cells = [cell for record in sample if (cell := get_cell(record, column)) is not None]
        if normalize(column) not in names or not cells or column == detected.get("label"):
            continue
        is_index = "index" in normalize(column) or "idx" in normalize(column)
        has_options = any(known_role == "choices" or known_role.startswith(OPTION) for known_role in detected)
        # One number per option, as in TruthfulQA.
        if any(isinstance(cell, list) and _are_verdicts(cell) for cell in cells):
            continue
        if not has_options and (is_index or _are_verdicts(cells)):
            continue
        return column
    return None


def _are_verdicts(cells: Sequence[object]) -> bool:
    try:
        return any(values.parse_label(cell) is not None for cell in cells)
    except values.UnreadableCell:
        return False


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


@lru_cache(maxsize=1024)
def _split_words(name: str) -> tuple[str, ...]:
    """Return the words of a name in the singular: `goldenAnswers` is golden, answer."""
    spaced = re.sub(r"(?<=[a-z\d])(?=[A-Z])", " ", _strip_folders(name))
    vocabulary = frozenset().union(*_vocabulary()["words"].values())
    # Without numbers: "GPT-4 answer".
    words = re.findall(r"[^\W\d_]+", re.sub(r"['’]s\b", "", spaced.casefold()))
    return tuple(word[:-1] if word.endswith("s") and word[:-1] in vocabulary else word for word in words)


def _strip_folders(name: str) -> str:
    """Return the last part of a dotted name, as of LangSmith, MLflow and Azure: `outputs.answer`, `inputs/question`.

    A folder of references is kept: `reference_outputs.answer`.
    """
    name = _VALUE.sub("", name.strip())
    folders, _, last = name.rpartition("." if "." in name else "/")
    is_gold = not _vocabulary()["words"]["gold"].isdisjoint(re.findall(r"[^\W_]+", folders.casefold()))
    return name if is_gold or not last else last


@lru_cache(maxsize=1024)
def normalize(name: str) -> str:
    spaced = re.sub(r"(?<=[a-z\d])(?=[A-Z])", " ", _strip_folders(name))
    return re.sub(r"[\W_]+", "_", spaced).strip("_").casefold()


def _list_columns(columns: Sequence[str]) -> str:
    return ", ".join(map(repr, columns[:40]))
