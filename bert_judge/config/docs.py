"""What is generated from the configuration model: the commented `config.yaml`, the JSON schema and the reference in `docs/`.

The values of the default run stand in `default_run.py`, the meaning of every key in the docstrings of `config/`; nothing of
either is written a second time. `bert-judge config … --write` writes the files, and a test fails when one of them differs.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from bert_judge import config
from bert_judge.config import schema_text
from bert_judge.config.schema_text import Fragment
from bert_judge.runtime.errors import InputError

WIDTH = 120
DEFAULT_FILE = Path("config.yaml")
SCHEMA_FILE = Path("docs/config.schema.json")
REFERENCE_FILE = Path("docs/configuration.md")
BEGIN, END = "<!-- reference: begin (made by `bert-judge config docs --write`) -->", "<!-- reference: end -->"
HEADER = f"""\
# yaml-language-server: $schema={SCHEMA_FILE}
# The default run. This file is made by `bert-judge config default --write` from bert_judge/config/;
# for a run of your own, copy it or a file of configs/ and name the copy: snakemake --cores 2 --configfile mine.yaml
# All keys with their defaults: {REFERENCE_FILE}
"""


def default_yaml() -> str:
    """The commented `config.yaml`."""
    from bert_judge.config.default_run import DEFAULT_RUN

    return f"{HEADER}\n{commented(DEFAULT_RUN)}"


def commented(values: Mapping[str, Any]) -> str:
    """A configuration as YAML, with the meaning of a key above it where it first appears."""
    schema = config.json_schema()
    writer = _Writer(schema)
    blocks = ["\n".join(writer.lines({key: value}, schema, "")) for key, value in values.items()]
    return "\n\n".join(blocks) + "\n"


class _Writer:
    """Writes YAML and remembers which keys it has explained."""

    def __init__(self, schema: Fragment) -> None:
        self.schema = schema
        self.told: set[tuple[str, str]] = set()

    def lines(self, values: Mapping[str, Any], fragment: Fragment, indent: str) -> Iterator[str]:
        block = self._block(fragment, values)
        for key, value in values.items():
            inner = block.get("properties", {}).get(key)
            if inner is not None and (block.get("title", ""), key) not in self.told:
                self.told.add((block.get("title", ""), key))
                yield from _comment(_meaning(inner, block), indent)
            inner = inner or schema_text.member(block) or {}
            if isinstance(value, Mapping) and value and not self._fits_one_line(value, inner, f"{indent}{key}: "):
                yield f"{indent}{_flow(key)}:"
                yield from self.lines(value, inner, f"{indent}  ")
            elif isinstance(value, list) and len(f"{indent}{key}: {_flow(value)}") > WIDTH:
                yield f"{indent}{_flow(key)}:"
                yield from (f"{indent}  - {_flow(item)}" for item in value)
            else:
                yield f"{indent}{_flow(key)}: {_flow(value)}"

    def _block(self, fragment: Fragment, values: Mapping[str, Any]) -> Fragment:
        if "discriminator" in fragment:
            tag = values[fragment["discriminator"]["propertyName"]]
            fragment = {"$ref": fragment["discriminator"]["mapping"][tag]}
        return schema_text.resolve(self.schema, fragment)

    def _fits_one_line(self, value: Mapping[str, Any], fragment: Fragment, before: str) -> bool:
        """Whether nothing is left to explain in a block and it is short."""
        block = self._block(fragment, value)
        new = any(key in block.get("properties", {}) and (block.get("title", ""), key) not in self.told for key in value)
        deep = any(isinstance(inner, Mapping) for inner in value.values()) and "properties" not in block
        return not new and not deep and len(before) + len(_flow(value)) <= WIDTH


def _meaning(field: Fragment, block: Fragment) -> str:
    """What a key means. The one that says what kind of entry this is (`kind: lexical`) means what its block means."""
    told = block.get("description", "") if "const" in field else field.get("description", "")
    return " ".join(str(told).split("\n\n")[0].split())


def _comment(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")


def _flow(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=10_000)
    return text.removesuffix("\n").removesuffix("\n...")


def schema_json() -> str:
    """The JSON schema as a file's text."""
    return json.dumps(config.json_schema(), indent=1, ensure_ascii=False) + "\n"


def reference() -> str:
    """One table per block of the configuration, in Markdown: key, type, default, meaning."""
    schema = config.json_schema()
    parts = [_table("The top level", schema)]
    parts += [_table(name, schema["$defs"][name]) for name in _order(schema)]
    return "\n".join(parts)


def _order(schema: Fragment) -> list[str]:
    """The blocks in the order in which a reader meets them."""
    found: list[str] = []

    def visit(part: Any) -> None:
        if isinstance(part, Mapping):
            if "$ref" in part and (name := schema_text.block_name(part)) not in found:
                found.append(name)
                visit(schema["$defs"][name])
            for key, inner in part.items():
                if key not in ("$defs", "discriminator"):
                    visit(inner)
        elif isinstance(part, list):
            for inner in part:
                visit(inner)

    visit(schema)
    return found


def _table(title: str, block: Fragment) -> str:
    rows = [
        f"| `{key}` | {_type(field)} | {_default(key, field, block)} | {_cell(_meaning(field, block))} |"
        for key, field in block["properties"].items()
    ]
    return "\n".join(
        [f"### {title}", "", block.get("description", ""), "", "| key | type | default | meaning |", "|---|---|---|---|", *rows, ""]
    )


def _type(field: Fragment) -> str:
    return _cell(schema_text.words(field, lambda name: f"[{name}](#{name.lower()})"))


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
        raise InputError(f"{REFERENCE_FILE}: the lines {BEGIN!r} and {END!r} are missing; put them where the tables belong")
    return f"{before}{BEGIN}\n\n{reference()}\n{END}{after}"


def made(part: str) -> str:
    """The text of a generated part: `default`, `schema` or `docs`."""
    return {"default": default_yaml, "schema": schema_json, "docs": reference}[part]()


def write(part: str, root: Path = Path()) -> Path:
    """Write the file of a part into the repository whose top folder is `root`.

    Raises:
        InputError: `root` is no such folder, or the page lacks its markers.
    """
    path = root / {"default": DEFAULT_FILE, "schema": SCHEMA_FILE, "docs": REFERENCE_FILE}[part]
    if not (root / REFERENCE_FILE).is_file():
        raise InputError(f"{root.resolve()}: not the top folder of the repository; change to it and try again")
    path.write_text(with_reference(path.read_text("utf-8")) if part == "docs" else made(part), "utf-8")
    return path
