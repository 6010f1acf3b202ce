"""The members of a list or object in a JSON document of any size, one at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers.containers import Container, sniff, translate_errors

# Markers in `top_level_keys`: the document is a list; its first member is a text.
LIST, TEXT = "[]", "''"
MAX_EVENTS = 10_000
# `ijson` keeps the path of every open bracket, which takes memory quadratic in their number; `json` fails at a thousand.
MAX_DEPTH = 500
_ESCAPE = re.compile(rb"\\.", re.DOTALL)
_REST_OF_STRING = re.compile(rb'(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_STRING_OR_NUMBER = re.compile(rb'("(?:[^"\\]++|\\.)*+(?:"|\\?\Z))|-?Infinity\b|NaN\b', re.DOTALL)
_OTHER_BYTES = bytes(set(range(256)) - set(b'[]{}"'))
# Location in the file, for error messages, and the value.
Members = Iterator[tuple[str, Any]]


class IncompleteJSONError(InputError):
    """A JSON document that is damaged, for example by an aborted download."""


class BoundedStream:
    """A stream of JSON that refuses more than `MAX_DEPTH` open brackets, and has null for NaN and Infinity."""

    def __init__(self, path: Path, stream: Any) -> None:
        self.path, self.stream = path, stream
        self._depth, self._is_in_string, self._escape = 0, False, b""

    def read(self, size: int = -1) -> bytes:
        block: bytes = self.stream.read(size)
        while block and block[-1] in b"-INafinty" and (following := self.stream.read(1)):
            block += following
        if b"NaN" in block or b"Infinity" in block:
            block = self._replace_numbers(block)
        text = self._escape + block
        self._escape = b"\\" if (len(text) - len(text.rstrip(b"\\"))) % 2 else b""
        parts = _ESCAPE.sub(b"", text.removesuffix(self._escape)).translate(None, _OTHER_BYTES).split(b'"')
        brackets, pairs = b"".join(parts[self._is_in_string :: 2]), 0
        self._is_in_string ^= len(parts) % 2 == 0
        # Pairs of brackets are removed from the inside out; what is left are closing brackets before opening ones.
        while pairs <= MAX_DEPTH and (b"[]" in brackets or b"{}" in brackets):
            brackets, pairs = brackets.replace(b"[]", b"").replace(b"{}", b""), pairs + 1
        depth = self._depth + 2 * (brackets.count(b"[") + brackets.count(b"{")) - len(brackets)
        if max(pairs + self._depth, depth) > MAX_DEPTH:
            raise InputError(f"{self.path}: more than {MAX_DEPTH} nested lists or objects; write a list of flat objects")
        self._depth = depth
        return block

    def _replace_numbers(self, block: bytes) -> bytes:
        """Replace NaN and Infinity, which Python writes and JSON has not, by null."""
        rest = _REST_OF_STRING.match(self._escape + block) if self._is_in_string else None
        start = rest.end() - len(self._escape) if rest else 0
        return block[:start] + _STRING_OR_NUMBER.sub(lambda match: match[1] or b"null", block[start:])


def iterate_list(path: Path, prefix: str) -> Members:
    """Yield location and value of each member of a list.

    Args:
        prefix: of the list, in the notation of `ijson`: `item` for a document that is a list, `a.item` for its key `a`.

    Raises:
        IncompleteJSONError: the document is not JSON; preceding members are yielded.
    """
    members = _parse(sniff(path), lambda ijson, stream: ijson.items(stream, prefix, use_float=True))
    return ((f"item {number}", value) for number, value in enumerate(members, 1))


def _iterate_documents(path: Path) -> Members:
    """Yield the documents of a file of several, as `jq` writes them."""
    documents = _parse(sniff(path), lambda ijson, stream: ijson.items(stream, "", use_float=True, multiple_values=True))
    return ((f"item {number}", value) for number, value in enumerate(documents, 1))


def iterate_object(path: Path) -> Members:
    """Yield key and value of each member of a document that is an object; see `iterate_list`."""
    return _parse(sniff(path), lambda ijson, stream: ijson.kvitems(stream, "", use_float=True))


def read_member(path: Path, key: str) -> Any:
    """Return one member of a document that is an object, None if it has none; see `iterate_list`."""
    return next(_parse(sniff(path), lambda ijson, stream: ijson.items(stream, key, use_float=True)), None)


def _parse(container: Container, parse: Callable[[Any, Any], Iterator[Any]]) -> Iterator[Any]:
    # Imported lazily: Snakemake reads the workflow without it.
    import ijson

    with translate_errors(container.path, "JSON"), container.open_utf8() as (stream, _):
        try:
            yield from parse(ijson, BoundedStream(container.path, stream))
        except ijson.JSONError as error:
            reason = " ".join(str(error).split("\n", 1)[0].split())
            raise IncompleteJSONError(f"{container.path}: not a complete JSON file ({reason}); download it again") from error


def _events(path: Path) -> Iterator[tuple[str, str, Any]]:
    with suppress(IncompleteJSONError):  # the intact beginning suffices
        yield from islice(_parse(sniff(path), lambda ijson, stream: ijson.parse(stream, multiple_values=True)), MAX_EVENTS)


def top_level_keys(path: Path) -> list[str]:
    """Return the first keys of a JSON document; for a list, `LIST` and the keys of its first members, or `LIST` and `TEXT`."""
    keys: list[str] = []
    for prefix, event, value in _events(path):
        if not keys and prefix == "" and event == "start_array":
            keys.append(LIST)
        elif event == "map_key" and prefix == ("item" if keys[:1] == [LIST] else ""):
            keys.append(value)
        elif event == "string" and prefix == "item":
            return [*keys, TEXT]
    return keys


def iterate_rows(path: Path) -> Members:
    """Yield location and value of each row of a document.

    Rows are the documents of a file of several, or the members of a list, of the first list of objects under a key, or of an object
    of objects by id (which becomes `id`). A document of columns, as pandas writes (`orient` of `columns`, `list` or `split`), is
    read as a whole.
    """
    # Key → event that begins its value; keys of the first value that is an object.
    kinds: dict[str, str] = {}
    inner_keys: list[str] = []
    depth, key = 0, ""
    for _, event, value in _events(path):
        if event == "start_array" and not depth:
            return iterate_list(path, "item")
        if event == "start_map" and not depth and kinds:
            return _iterate_documents(path)
        if event == "map_key" and depth == 1:
            key = value
        elif event == "map_key" and depth == 2 and len(kinds) == 1:
            inner_keys.append(value)
        elif depth == 1 and not event.startswith("end"):
            kinds[key] = event
        elif depth == 2 and kinds[key] == "start_array":
            kinds[key] = f"list of {event}"
        depth += event.startswith("start") - event.startswith("end")
    if {"columns", "data"} <= kinds.keys():
        return _split_rows(path)
    if lists := [key for key, kind in kinds.items() if kind == "list of start_map"]:
        return iterate_list(path, f"{lists[0]}.item")
    if kinds and set(kinds.values()) <= {"start_map"} and not all(key.isdecimal() for key in inner_keys):
        return ((key, {"id": key, **value} if isinstance(value, dict) else value) for key, value in iterate_object(path))
    return _column_rows(path)


def _load(path: Path) -> Any:
    container = sniff(path)
    with translate_errors(path, "JSON"), container.open_text("\n") as (text, _):
        try:
            return json.load(text)
        except (ValueError, RecursionError) as error:
            raise IncompleteJSONError(f"{path}: not a complete JSON file ({error}); download it again") from error


def _split_rows(path: Path) -> Members:
    document = _load(path)
    for number, cells in enumerate(document["data"], 1):
        if not isinstance(cells, list) or len(cells) != len(document["columns"]):
            raise InputError(f"{path}: item {number} of 'data' does not fit 'columns'; write a list of objects")
        yield f"item {number}", dict(zip(document["columns"], cells, strict=True))


def _column_rows(path: Path) -> Members:
    """Yield the rows of columns of equal length; a document of other values is one row."""
    document = _load(path)
    columns = {name: list(cells.values()) if isinstance(cells, dict) else cells for name, cells in document.items()}
    lengths = {len(cells) if isinstance(cells, list) else None for cells in columns.values()}
    if len(lengths) != 1 or None in lengths:
        yield "item 1", document
        return
    for number, row in enumerate(zip(*columns.values(), strict=True), 1):
        yield f"item {number}", dict(zip(columns, row, strict=True))
