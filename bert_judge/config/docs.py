"""Generate the JSON schema and the reference in `docs/` from the configuration models; the description of a key is its docstring.

`bert-judge config … --write` writes the files; a test fails if one of them is out of date.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bert_judge import config
from bert_judge.config import schema_text
from bert_judge.config.schema_text import Fragment
from bert_judge.runtime.errors import InputError

SCHEMA_FILE = Path("docs/config.schema.json")
REFERENCE_FILE = Path("docs/configuration.md")
BEGIN, END = "<!-- reference: begin (made by `bert-judge config docs --write`) -->", "<!-- reference: end -->"


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
    """Replace the part of a documentation page between the markers.

    Raises:
        InputError: the page lacks a marker.
    """
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise InputError(f"{REFERENCE_FILE}: the lines {BEGIN!r} and {END!r} are missing; add them where the tables should be")
    return f"{before}{BEGIN}\n\n{reference()}\n{END}{after}"


def generate(name: str) -> str:
    """Return the generated text `schema` or `docs`."""
    return {"schema": schema_json, "docs": reference}[name]()


def write(name: str, root: Path = Path()) -> Path:
    """Write a generated text to its file in the repository at `root`.

    Raises:
        InputError: `root` is not the repository, or the page has no markers.
    """
    path = root / {"schema": SCHEMA_FILE, "docs": REFERENCE_FILE}[name]
    if not (root / REFERENCE_FILE).is_file():
        raise InputError(f"{root.resolve()}: not the top folder of the repository; change to it and try again")
    path.write_text(with_reference(path.read_text("utf-8")) if name == "docs" else generate(name), "utf-8")
    return path
