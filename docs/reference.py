"""Generate the JSON schema and the reference from the configuration models; docstrings of keys are descriptions.

`python docs/reference.py` writes the schema; a test fails if it is out of date. The reference is a page of the site.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from bert_judge.config.validation import Fragment, block_name, value_schema
from bert_judge.plan import configuration

# Snakemake's catalog looks for YAML here; JSON is YAML.
SCHEMA_FILE = Path(__file__).parents[1] / "workflow" / "schemas" / "config.schema.yaml"
PLAIN = {"string", "integer", "number", "boolean"}
SIMPLE = {"string": "text", "integer": "whole number", "number": "number", "boolean": "true or false", "null": "nothing"}


def _meaning(field: Fragment, block: Fragment) -> str:
    """Return the description of a key; the discriminator (`kind: lexical`) has the description of its block."""
    description = block.get("description", "") if "const" in field else field.get("description", "")
    return " ".join(str(description).split("\n\n")[0].split())


def schema_json() -> str:
    """Return the JSON schema as text."""
    return json.dumps(configuration.json_schema(), indent=1, ensure_ascii=False) + "\n"


def reference() -> str:
    """Return a Markdown table per block of the configuration: key, type, default, meaning."""
    schema = configuration.json_schema()
    sections = [_table("The top level", schema)]
    sections += [_table(name, schema["$defs"][name]) for name in _order(schema)]
    return "\n".join(sections)


def _order(schema: Fragment) -> list[str]:
    """Return the block names in the order of first reference."""
    names: list[str] = []

    def visit(fragment: Any) -> None:
        if isinstance(fragment, Mapping):
            if "$ref" in fragment and (name := block_name(fragment)) not in names:
                names.append(name)
                visit(schema["$defs"][name])
            for key, inner in fragment.items():
                if key not in ("$defs", "discriminator"):
                    visit(inner)
        elif isinstance(fragment, list):
            for inner in fragment:
                visit(inner)

    visit(schema)
    return names


def _table(title: str, block: Fragment) -> str:
    rows = [
        f"| `{key}` | {_type(field)} | {_default(key, field, block)} | {_cell(_meaning(field, block))} |"
        for key, field in block["properties"].items()
    ]
    return "\n".join(
        [f"### {title}", "", block.get("description", ""), "", "| key | type | default | meaning |", "|---|---|---|---|", *rows, ""]
    )


def _type(field: Fragment) -> str:
    return _cell(describe(field, lambda name: f"[{name}](#{name.lower()})"))


def _default(key: str, field: Fragment, block: Fragment) -> str:
    if key in block.get("required", ()):
        return "required"
    if "default" not in field:
        return "from the tasks"
    value = field["default"]
    if value is None:
        return "left out"
    return "its defaults" if "$ref" in field else f"`{json.dumps(value, ensure_ascii=False)}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def describe(fragment: Fragment, block: Callable[[str], str] = lambda name: "block of keys") -> str:
    """Describe the type and range of a value, e.g. `whole number above 0`; `block` describes a referenced block by its name."""
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


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_json(), "utf-8")
