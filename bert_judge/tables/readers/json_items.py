"""The members of a list in a JSON document of any size, one at a time."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import formats

# What stands in place of a key: the document is a list, its first member a text.
LIST, TEXT = "[]", "''"


def items(path: Path, prefix: str) -> Iterator[tuple[str, Any]]:
    """Place and value of each member.

    Args:
        prefix: where the list is, in the words of `ijson`: `item` for a document that is a list, `a.item` for its key `a`.

    Raises:
        InputError: not JSON; members before that are given.
    """
    # Only here: the workflow is read without it.
    import ijson

    with formats.damage_told(path, "JSON"), path.open("rb") as stream:
        try:
            for number, value in enumerate(ijson.items(stream, prefix, use_float=True), 1):
                yield f"item {number}", value
        except ijson.JSONError as error:
            reason = " ".join(str(error).split("\n", 1)[0].split())
            raise InputError(f"{path}: not a whole JSON file ({reason}); fetch it again") from error


def top_keys(path: Path) -> list[str]:
    """Names of the first keys of a JSON document; of a list, `LIST` and the keys of its first members or `TEXT`; or nothing."""
    import ijson

    with formats.damage_told(path, "JSON"), path.open("rb") as stream:
        keys: list[str] = []
        try:
            for prefix, event, value in islice(ijson.parse(stream), 10_000):
                if not keys and prefix == "" and event == "start_array":
                    keys.append(LIST)
                elif event == "map_key" and prefix == ("item" if keys[:1] == [LIST] else ""):
                    keys.append(value)
                elif event == "string" and prefix == "item":
                    return [*keys, TEXT]
        except ijson.JSONError:
            # Whatever is whole of it tells enough.
            return keys
        return keys
