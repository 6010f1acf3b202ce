"""Generate the JSON schema and the reference in this folder from the configuration models; docstrings of keys are descriptions.

`python docs/reference.py` writes both files; a test fails if one of them is out of date.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bert_judge import config
from bert_judge.config import schema_text
from bert_judge.config.schema_text import Fragment

SCHEMA_FILE, REFERENCE_FILE = (Path(__file__).with_name(name) for name in ("config.schema.json", "configuration.md"))
BEGIN, END = "<!-- reference: begin (written by `python docs/reference.py`) -->", "<!-- reference: end -->"


def _meaning(field: Fragment, block: Fragment) -> str:
    """Return the description of a key; the discriminator (`kind: lexical`) has the description of its block."""
    description = block.get("description", "") if "const" in field else field.get("description", "")
    return " ".join(str(description).split("\n\n")[0].split())


def schema_json() -> str:
    """Return the JSON schema as text."""
    return json.dumps(config.json_schema(), indent=1, ensure_ascii=False) + "\n"


def reference() -> str:
    """Return a Markdown table per block of the configuration: key, type, default, meaning."""
    schema = config.json_schema()
    sections = [_table("The top level", schema)]
    sections += [_table(name, schema["$defs"][name]) for name in _order(schema)]
    return "\n".join(sections)


def _order(schema: Fragment) -> list[str]:
    """Return the block names in the order of first reference."""
    names: list[str] = []

    def visit(fragment: Any) -> None:
        if isinstance(fragment, Mapping):
            if "$ref" in fragment and (name := schema_text.block_name(fragment)) not in names:
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
    return _cell(schema_text.describe(field, lambda name: f"[{name}](#{name.lower()})"))


def _default(key: str, field: Fragment, block: Fragment) -> str:
    if key in block.get("required", ()):
        return "required"
    value = field["default"]
    if value is None:
        return "left out"
    return "its defaults" if "$ref" in field else f"`{json.dumps(value, ensure_ascii=False)}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def with_reference(page: str) -> str:
    """Replace the part of the page between the markers."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}\n\n{reference()}\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    SCHEMA_FILE.write_text(schema_json(), "utf-8")
    REFERENCE_FILE.write_text(with_reference(REFERENCE_FILE.read_text("utf-8")), "utf-8")
