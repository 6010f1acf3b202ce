"""JSON schema in words: what a value of the configuration must be, for messages and for the reference in `docs/`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Fragment = Mapping[str, Any]
PLAIN = {"string", "integer", "number", "boolean"}
SIMPLE = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "nothing"}


def resolve(schema: Fragment, fragment: Fragment) -> Fragment:
    """Follow a reference into `$defs`."""
    return schema["$defs"][block_name(fragment)] if "$ref" in fragment else fragment


def block_name(fragment: Fragment) -> str:
    """Name of the block that a reference points to."""
    return str(fragment["$ref"]).removeprefix("#/$defs/")


def member(fragment: Fragment) -> Fragment | None:
    """What stands under each name of a mapping with free names; None when the fragment is no such mapping."""
    values = next(iter(fragment.get("patternProperties", {}).values()), None) or fragment.get("additionalProperties")
    return values if isinstance(values, Mapping) else None


def words(fragment: Fragment, block: Callable[[str], str] = lambda name: "block of keys") -> str:
    """What a value must be, e.g. `whole number above 0`.

    Args:
        fragment: a part of the schema.
        block: turns the name of a referenced block into words.
    """
    if "$ref" in fragment:
        return block(block_name(fragment))
    if kinds := fragment.get("oneOf"):
        return _either([words(kind, block) for kind in kinds])
    if kinds := fragment.get("anyOf"):
        return _union(kinds, block)
    if "enum" in fragment:
        return _either([str(value) for value in fragment["enum"]])
    if "const" in fragment:
        return str(fragment["const"])
    match fragment.get("type"):
        case "array":
            return _list(fragment, block)
        case "object":
            values = member(fragment)
            return f"mapping of names to {words(values, block)}" if values else "block of keys"
        case "string" if "pattern" in fragment:
            return "name"
        case kind:
            return SIMPLE[str(kind)] + _range(fragment)


def _union(kinds: list[Fragment], block: Callable[[str], str]) -> str:
    plain = {kind.get("type") for kind in kinds} >= PLAIN
    rest = [kind for kind in kinds if not (plain and kind.get("type") in PLAIN)]
    return _either([*(["plain value"] if plain else []), *(words(kind, block) for kind in rest)])


def _either(texts: list[str]) -> str:
    texts = list(dict.fromkeys(texts))
    return " or ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else texts[0]


def _list(fragment: Fragment, block: Callable[[str], str]) -> str:
    if "prefixItems" in fragment:
        members = [words(item, block) for item in fragment["prefixItems"]]
        return f"list of {len(members)}: {', '.join(members)}"
    each = words(fragment["items"], block)
    each = f"({each})" if " or " in each else each
    least = fragment.get("minItems", 0)
    return f"list of {each}" + (f", at least {'one' if least == 1 else least}" if least else "")


def _range(fragment: Fragment) -> str:
    low, high = fragment.get("minimum"), fragment.get("maximum")
    if low is not None and high is not None:
        return f" from {low} to {high}"
    bounds = {"minimum": "at least", "maximum": "at most", "exclusiveMinimum": "above", "exclusiveMaximum": "below"}
    given = [f"{text} {fragment[key]}" for key, text in bounds.items() if key in fragment]
    return f" {' and '.join(given)}" if given else ""
