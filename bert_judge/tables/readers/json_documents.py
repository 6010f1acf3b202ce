"""The members of a list or object in a JSON document of any size, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers.rows import translate_errors

# Markers in `top_level_keys`: the document is a list; its first member is a text.
LIST, TEXT = "[]", "''"
MAX_EVENTS = 10_000


class IncompleteJSONError(InputError):
    """A JSON document that is damaged, for example by an aborted download."""


def iterate_list(path: Path, prefix: str) -> Iterator[tuple[str, Any]]:
    """Yield location and value of each member of a list.

    Args:
        prefix: of the list, in the notation of `ijson`: `item` for a document that is a list, `a.item` for its key `a`.

    Raises:
        IncompleteJSONError: the document is not JSON; preceding members are yielded.
    """
    members = _parse(path, lambda ijson, stream: ijson.items(stream, prefix, use_float=True))
    return ((f"item {number}", value) for number, value in enumerate(members, 1))


def iterate_object(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield key and value of each member of a document that is an object; see `iterate_list`."""
    return _parse(path, lambda ijson, stream: ijson.kvitems(stream, "", use_float=True))


def _parse(path: Path, parse: Callable[[Any, Any], Iterator[Any]]) -> Iterator[Any]:
    # Imported lazily: Snakemake reads the workflow without it.
    import ijson

    with translate_errors(path, "JSON"), path.open("rb") as stream:
        try:
            yield from parse(ijson, stream)
        except ijson.JSONError as error:
            reason = " ".join(str(error).split("\n", 1)[0].split())
            raise IncompleteJSONError(f"{path}: not a complete JSON file ({reason}); download it again") from error


def top_level_keys(path: Path) -> list[str]:
    """Return the first keys of a JSON document; for a list, `LIST` and the keys of its first members, or `LIST` and `TEXT`."""
    keys: list[str] = []
    with suppress(IncompleteJSONError):  # the intact beginning suffices
        for prefix, event, value in islice(_parse(path, lambda ijson, stream: ijson.parse(stream)), MAX_EVENTS):
            if not keys and prefix == "" and event == "start_array":
                keys.append(LIST)
            elif event == "map_key" and prefix == ("item" if keys[:1] == [LIST] else ""):
                keys.append(value)
            elif event == "string" and prefix == "item":
                return [*keys, TEXT]
    return keys
