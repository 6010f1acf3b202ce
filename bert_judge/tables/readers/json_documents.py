"""The members of JSON documents. A document is read as a whole, unlike JSON lines, which may have any size (`rows`)."""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers.containers import Container, sniff, translate_errors
from bert_judge.tables.readers.limits import too_large, unpacked_limit, value_limit
from bert_judge.tables.readers.values import get_path, is_message

# Markers in `top_level_keys`: the document is a list; its first member is a text.
LIST, TEXT = "[]", "''"
# Members of a list whose keys count.
HEAD_MEMBERS = 64
_SPACE = re.compile(r"[ \t\r\n]*")
# Location in the file, for error messages, and the value.
Members = Iterator[tuple[str, Any]]


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
    those of these in an object that have the longest text, with others of the same keys, e.g. one per task. Columns, as pandas
    writes them (`orient` of `columns`, `list` or `split`), are rows too.
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
    if are_columns or not (groups := _row_groups(document)):
        return _column_rows(document)
    first = max(groups, key=_longest_text)[0][1] if len(groups) > 1 else groups[0][0][1]
    return (row for group in groups if group[0][1].keys() == first.keys() for row in group)


def _longest_text(value: Any) -> int:
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return len(value) if isinstance(value, str) else max(map(_longest_text, members), default=0)


def _row_groups(document: dict[str, Any]) -> list[list[tuple[str, Any]]]:
    """Return the lists of objects, and the objects and texts by id, in an object, as locations and rows."""
    objects = {key: value for key, value in document.items() if isinstance(value, dict)}
    if numbered := {key: value for key, value in objects.items() if key.isdecimal()}:
        return [_rows_by_id(numbered)]
    if texts := [value for value in (document, *objects.values()) if _are_predictions(value)][:1]:
        return [_rows_by_id({key: {"prediction": text} for key, text in texts[0].items()})]
    are_rows = len(objects) == len(document) > 0 and set.intersection(*map(set, objects.values()))
    groups: list[list[tuple[str, Any]]] = []
    # A single object may hold the rows.
    if not are_rows or len(objects) == 1:
        for value in document.values():
            if isinstance(value, dict):
                groups += _row_groups(value)
            elif isinstance(value, list) and value and isinstance(value[0], dict) and not is_message(value[0]):
                groups.append(list(_enumerate(_questions(value))))
    return groups or ([_rows_by_id(objects)] if are_rows else [])


def _are_predictions(document: dict[str, Any]) -> bool:
    """Return whether a document holds texts by id, as the predictions for SQuAD, HotpotQA and TriviaQA."""
    return len(document) > 1 and all(isinstance(value, str) and re.search(r"\d", key) for key, value in document.items())


def _rows_by_id(objects: dict[str, Any]) -> list[tuple[str, Any]]:
    name = "question" if any(" " in key.strip() for key in objects) else "id"
    return [(key, {name: key, **value}) for key, value in objects.items()]


def _questions(rows: list[Any]) -> list[Any]:
    """Return the questions of SQuAD's articles; other rows stay as they are."""
    paragraphs = [part for row in rows for part in (isinstance(row, dict) and row.get("paragraphs")) or () if "qas" in part]
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
