"""The members of JSON documents. A document is read as a whole, unlike JSON lines, which may have any size (`rows`)."""

import json
import logging
import re
from collections.abc import Collection, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import log_once
from bert_judge.tables.readers.containers import Container, sniff, translate_errors
from bert_judge.tables.readers.limits import too_large, unpacked_limit, value_limit
from bert_judge.tables.readers.name_words import has_role_words, has_usual_name, is_ambiguous, may_have_role
from bert_judge.tables.readers.values import get_path, is_message

log = logging.getLogger(__name__)

# Markers in `top_level_keys`: the document is a list; its first member is a text.
LIST, TEXT = "[]", "''"
# Members of a list whose keys count.
HEAD_MEMBERS = 64
_SPACE = re.compile(r"[ \t\r\n]*")
# Names of lists that are no results, and of those that repeat some of them.
_EXAMPLES = re.compile(r"few_?shot|shots$|example|exemplar|demonstration|demos?$", re.IGNORECASE)
_FAILURES = re.compile(r"fail|error|wrong|incorrect|mistake|misse[sd]|bad_?case", re.IGNORECASE)
# Location in the file, for error messages, and the value.
Members = Iterator[tuple[str, Any]]


class Group(NamedTuple):
    """Rows in one place of a document, with their locations."""

    name: str
    rows: list[tuple[str, Any]]


def load(path: Path) -> list[Any]:
    """Return the documents of a file, several as `jq` writes them; null for NaN and Infinity, which JSON has not.

    Raises:
        InputError: the file is not JSON.
    """
    container, status = sniff(path), path.stat()
    return _load(container, (status.st_size, status.st_mtime_ns))


@lru_cache(maxsize=1)
def _load(container: Container, version: tuple[int, int]) -> list[Any]:
    decoder, documents = json.JSONDecoder(parse_constant=lambda _: None), []
    with translate_errors(container.path, "JSON"), container.open_text("\n") as (stream, _):
        text = stream.read()
    if container.magic and sum(map(text.count, ",[{")) > value_limit(container.path):
        raise too_large(container.path, unpacked_limit(container.path, is_document=True))
    position = _end_of_space(text, 0)
    while position < len(text):
        try:
            document, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{container.path}: not a complete JSON file ({error}); repair it, or download it again") from error
        documents.append(document)
        position = _end_of_space(text, position)
    return documents


def _end_of_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def iterate_list(path: Path, key: str | None = None) -> Members:
    """Yield location and value of each member of a document that is a list, or of the list under a key; see `load`."""
    members = load(path)[0] if key is None else read_member(path, key)
    return _enumerate(members if isinstance(members, list) else [])


def _enumerate(members: list[Any]) -> Members:
    return ((f"item {number}", value) for number, value in enumerate(members, 1))


def read_member(path: Path, key: str) -> Any:
    """Return the member of a document under a key, or under several joined by dots; None if there is none; see `load`."""
    return get_path(load(path)[0], *key.split("."))


def top_level_keys(path: Path) -> list[str]:
    """Return the keys of a JSON document; for a list, `LIST` and the keys of its first members, or `LIST` and `TEXT`."""
    document = load(path)[0]
    if not isinstance(document, list):
        return list(document) if isinstance(document, dict) else []
    if document and isinstance(document[0], str):
        return [LIST, TEXT]
    return [LIST, *dict.fromkeys(key for member in document[:HEAD_MEMBERS] if isinstance(member, dict) for key in member)]


def iterate_rows(path: Path) -> Members:
    """Yield location and value of each row of a document.

    Rows are the documents of a file of several, or the members of a list, of an object of objects by id (which becomes `id`), or of
    those of these in an object that have the longest text, with others of the same keys, e.g. one per task (`_join_groups`). An
    object with a question, a reference and an answer is a row, whatever lists it holds. Columns, as pandas writes them (`orient`
    of `columns`, `list` or `split`), are rows too. Rows without a model get that of the document.
    """
    documents = load(path)
    document = documents[0]
    if len(documents) > 1 or isinstance(document, list):
        return _enumerate(documents if len(documents) > 1 else document)
    if not isinstance(document, dict):
        return _enumerate([document])
    if {"columns", "data"} <= document.keys():
        return _split_rows(path, document)
    are_columns = all(isinstance(cells, dict) and all(key.isdecimal() for key in cells) for cells in document.values())
    if are_columns or _role_names(document) or not (groups := _row_groups("", document)):
        return _column_rows(document)
    return _add_model(path, document, _join_groups(path, groups))


def _role_names(value: Any) -> frozenset[str]:
    """Return the keys of an object that hold a question, references and an answer as texts or numbers; empty without all three."""
    if not isinstance(value, dict):
        return frozenset()
    names = [name for name, cell in value.items() if isinstance(cell, str | int | float) and not isinstance(cell, bool)]
    questions, references, answers = (
        {name for name in names if has_usual_name(name, role) or has_role_words(name, role)}
        for role in ("question", "references", "candidate")
    )
    answer_names = (references | answers | set(filter(is_ambiguous, names))) - questions
    return frozenset(questions | answer_names) if questions and len(answer_names) > 1 else frozenset()


def _join_groups(path: Path, groups: list[Group]) -> Members:
    """Yield the rows of the group with the longest text and of those like it; a log line names them if there are several.

    Groups are alike if they have the same keys, or the same keys of question, references and answer. Examples of a prompt are no
    results. A group whose rows all occur in a larger one, e.g. of failures, is left out.
    """
    results = [group for group in groups if not _EXAMPLES.search(group.name)] or groups
    first = results[0]
    if len(results) > 1:
        first = max(results, key=lambda group: (not _FAILURES.search(group.name), _longest_text(group.rows)))
    keys, names = first.rows[0][1].keys(), _role_names(first.rows[0][1])
    alike = [group for group in results if (group_keys := group.rows[0][1].keys()) == keys or (names and group_keys >= names)]
    contents = [{_content(row, names or keys) for _, row in group.rows} for group in alike]

    def is_repeated(index: int) -> bool:
        size, are_failures = len(alike[index].rows), [bool(_FAILURES.search(group.name)) for group in alike]
        duplicates = [n for n, rival in enumerate(alike) if len(rival.rows) > size or are_failures[index] > are_failures[n]]
        return any(contents[index] <= contents[n] for n in duplicates)

    joined = [group for position, group in enumerate(alike) if not is_repeated(position)]
    if len(joined) > 1:
        log_once(log, f"{path}: the rows of {', '.join(repr(group.name) for group in joined)} are joined")
    return (row for group in joined for row in group.rows)


def _content(row: Any, names: Collection[str]) -> str:
    return json.dumps([row.get(name) for name in names] if isinstance(row, dict) else row, sort_keys=True)


def _add_model(path: Path, document: dict[str, Any], rows: Members) -> Members:
    """Yield the rows with the only model that a document names outside of them, e.g. in `config.model`, if they have none."""
    members = {key: value if isinstance(value, dict) else {"": value} for key, value in document.items()}
    models = {
        f"{key}.{name}".strip("."): value
        for key, member in members.items()
        for name, value in member.items()
        if isinstance(value, str) and has_usual_name(name or key, "model") and may_have_role(f"{key}.{name}", "model", ())
    }
    for location, row in rows:
        if len(set(models.values())) == 1 and not any(has_usual_name(name, "model") for name in row if isinstance(row, dict)):
            [(place, model), *_] = models.items()
            log_once(log, f"{path}: the model is {model!r}, from {place!r}")
            row = {**row, "model": model}
        yield location, row


def _longest_text(value: Any) -> int:
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return len(value) if isinstance(value, str) else max(map(_longest_text, members), default=0)


def _row_groups(name: str, document: dict[str, Any]) -> list[Group]:
    """Return the lists of objects, and the objects and texts by id, in an object with this name."""
    objects = {key: value for key, value in document.items() if isinstance(value, dict)}
    if numbered := {key: value for key, value in objects.items() if key.isdecimal()}:
        return [Group(name, _rows_by_id(numbered))]
    if texts := [value for value in (document, *objects.values()) if _are_predictions(value)][:1]:
        return [Group(name, _rows_by_id({key: {"prediction": text} for key, text in texts[0].items()}))]
    are_rows = len(objects) == len(document) > 0 and set.intersection(*map(set, objects.values()))
    groups: list[Group] = []
    # A single object may hold the rows.
    if not are_rows or len(objects) == 1:
        for key, value in document.items():
            path = f"{name}.{key}".strip(".")
            if isinstance(value, dict):
                groups += [Group(path, _rows_by_id({key: value}))] if _role_names(value) else _row_groups(path, value)
            elif isinstance(value, list) and value and isinstance(value[0], dict) and not is_message(value[0]):
                groups.append(Group(path, list(_enumerate(_questions(value)))))
    return groups or ([Group(name, _rows_by_id(objects))] if are_rows else [])


def _are_predictions(document: dict[str, Any]) -> bool:
    """Return whether a document holds texts by id, as the predictions for SQuAD, HotpotQA and TriviaQA."""
    return len(document) > 1 and all(isinstance(value, str) and re.search(r"\d", key) for key, value in document.items())


def _rows_by_id(objects: dict[str, Any]) -> list[tuple[str, Any]]:
    name = "question" if any(" " in key.strip() for key in objects) else "id"
    return [(key, {name: key, **value}) for key, value in objects.items()]


def _questions(rows: list[Any]) -> list[Any]:
    """Return the questions of SQuAD's articles; other rows stay as they are."""
    paragraphs = [member for row in rows for member in (isinstance(row, dict) and row.get("paragraphs")) or () if "qas" in member]
    return [question for paragraph in paragraphs for question in paragraph["qas"]] or rows


def _split_rows(path: Path, document: dict[str, Any]) -> Members:
    for number, cells in enumerate(document["data"], 1):
        if not isinstance(cells, list) or len(cells) != len(document["columns"]):
            raise InputError(f"{path}: item {number} of 'data' does not fit 'columns'; write a list of objects")
        yield f"item {number}", dict(zip(document["columns"], cells, strict=True))


def _column_rows(document: dict[str, Any]) -> Members:
    """Yield the rows of columns of equal length; a document of other values is one row."""
    columns = {name: list(cells.values()) if isinstance(cells, dict) else cells for name, cells in document.items()}
    lengths = {len(cells) if isinstance(cells, list) else None for cells in columns.values()}
    if len(lengths) != 1 or None in lengths:
        return _enumerate([document])
    return _enumerate([dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)])
