"""Describe JSON schema types in words, for error messages and for the reference in `docs/`."""

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
    """Return the name of the block that a reference points to."""
    return str(fragment["$ref"]).removeprefix("#/$defs/")


def value_schema(fragment: Fragment) -> Fragment | None:
    """Return the schema of the values of a mapping with arbitrary keys; None for other schemas."""
    values = next(iter(fragment.get("patternProperties", {}).values()), None) or fragment.get("additionalProperties")
    return values if isinstance(values, Mapping) else None


def describe(fragment: Fragment, block: Callable[[str], str] = lambda name: "block of keys") -> str:
    """Describe the type and range of a value, e.g. `whole number above 0`.

    Args:
        fragment: a part of the schema.
        block: returns the description of a referenced block, given its name.
    """
    if "$ref" in fragment:
        return block(block_name(fragment))
    if kinds := fragment.get("oneOf"):
        return _either([describe(kind, block) for kind in kinds])
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
            values = value_schema(fragment)
            return f"mapping of names to {describe(values, block)}" if values else "block of keys"
        case "string" if "pattern" in fragment:
            return "name"
        case kind:
            return SIMPLE[str(kind)] + _range(fragment)


def _union(kinds: list[Fragment], block: Callable[[str], str]) -> str:
    plain = {kind.get("type") for kind in kinds} >= PLAIN
    rest = [kind for kind in kinds if not (plain and kind.get("type") in PLAIN)]
    return _either([*(["plain value"] if plain else []), *(describe(kind, block) for kind in rest)])


def _either(texts: list[str]) -> str:
    texts = list(dict.fromkeys(texts))
    return " or ".join([", ".join(texts[:-1]), texts[-1]]) if len(texts) > 1 else texts[0]


def _list(fragment: Fragment, block: Callable[[str], str]) -> str:
    if "prefixItems" in fragment:
        members = [describe(item, block) for item in fragment["prefixItems"]]
        return f"list of {len(members)}: {', '.join(members)}"
    item = describe(fragment["items"], block)
    item = f"({item})" if " or " in item else item
    min_items = fragment.get("minItems", 0)
    return f"list of {item}" + (f", at least {'one' if min_items == 1 else min_items}" if min_items else "")


def _range(fragment: Fragment) -> str:
    low, high = fragment.get("minimum"), fragment.get("maximum")
    if low is not None and high is not None:
        return f" from {low} to {high}"
    bounds = {"minimum": "at least", "maximum": "at most", "exclusiveMinimum": "above", "exclusiveMaximum": "below"}
    limits = [f"{text} {fragment[key]}" for key, text in bounds.items() if key in fragment]
    return f" {' and '.join(limits)}" if limits else ""
