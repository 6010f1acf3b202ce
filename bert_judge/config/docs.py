"""Generate the commented `config.yaml`, the JSON schema and the reference in `docs/` from the configuration models.

The values of the default run are at the end of this file, the description of each key is its docstring in `config/`.
`bert-judge config … --write` writes the files; a test fails if one of them is out of date.
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
    """Return the commented `config.yaml`."""
    return f"{HEADER}\n{commented(DEFAULT_RUN)}"


def commented(values: Mapping[str, Any]) -> str:
    """Convert a configuration to YAML, with a comment that describes each key where it first appears."""
    schema = config.json_schema()
    writer = _Writer(schema)
    blocks = ["\n".join(writer.lines({key: value}, schema, "")) for key, value in values.items()]
    return "\n\n".join(blocks) + "\n"


class _Writer:
    """YAML writer that describes each key once."""

    def __init__(self, schema: Fragment) -> None:
        self.schema = schema
        self.explained_keys: set[tuple[str, str]] = set()

    def lines(self, values: Mapping[str, Any], fragment: Fragment, indent: str) -> Iterator[str]:
        block = self._block(fragment, values)
        for key, value in values.items():
            inner = block.get("properties", {}).get(key)
            if inner is not None and (block.get("title", ""), key) not in self.explained_keys:
                self.explained_keys.add((block.get("title", ""), key))
                yield from _comment(_meaning(inner, block), indent)
            inner = inner or schema_text.value_schema(block) or {}
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

    def _fits_one_line(self, value: Mapping[str, Any], fragment: Fragment, prefix: str) -> bool:
        """Return whether a block is short, has no nested mappings and has no undescribed keys."""
        block = self._block(fragment, value)
        new_keys = [key for key in value if (block.get("title", ""), key) not in self.explained_keys]
        has_new_keys = any(key in block.get("properties", {}) for key in new_keys)
        has_nested_mappings = any(isinstance(inner, Mapping) for inner in value.values()) and "properties" not in block
        return not has_new_keys and not has_nested_mappings and len(prefix) + len(_flow(value)) <= WIDTH


def _meaning(field: Fragment, block: Fragment) -> str:
    """Return the description of a key; the discriminator (`kind: lexical`) has the description of its block."""
    description = block.get("description", "") if "const" in field else field.get("description", "")
    return " ".join(str(description).split("\n\n")[0].split())


def _comment(text: str, indent: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, initial_indent=f"{indent}# ", subsequent_indent=f"{indent}# ")


def _flow(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=10_000)
    return text.removesuffix("\n").removesuffix("\n...")


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
    """Return the generated text `default`, `schema` or `docs`."""
    return {"default": default_yaml, "schema": schema_json, "docs": reference}[name]()


def write(name: str, root: Path = Path()) -> Path:
    """Write a generated text to its file in the repository at `root`.

    Raises:
        InputError: `root` is not the repository, or the page has no markers.
    """
    path = root / {"default": DEFAULT_FILE, "schema": SCHEMA_FILE, "docs": REFERENCE_FILE}[name]
    if not (root / REFERENCE_FILE).is_file():
        raise InputError(f"{root.resolve()}: not the top folder of the repository; change to it and try again")
    path.write_text(with_reference(path.read_text("utf-8")) if name == "docs" else generate(name), "utf-8")
    return path


def _simulated(p_correct: float, **style: float) -> dict[str, Any]:
    return {"generator": "simulated", "p_correct": p_correct, "style": style}


# Simulated models answer the questions of the demo, so that the run is small and offline. They differ in knowledge and in style, so
# that a rule which looks at the form of an answer ranks them differently.
DEFAULT_RUN: dict[str, Any] = {
    "models": {
        "simulated-expert-freestyle": _simulated(0.92, ignores_format=8, self_correcting=2),
        "simulated-adept-self-correcting": _simulated(0.8, self_correcting=6, wordy=4),
        "simulated-adept-cautious": _simulated(0.7, hedging=7, ignores_format=3),
        "simulated-average-wordy": _simulated(0.62, wordy=9, truncated=1),
        "simulated-novice-terse": _simulated(0.4, terse=1),
        "simulated-evasive": _simulated(0.75, terse=4, refusing=3, truncated=3),
        "simulated-guesser-lists-all": _simulated(0.4, lists_all_options=6, hedging=2, refusing=2),
    },
    "tasks": {
        "train": ["facts_train", "word_problems_train", "multiple_choice_train"],
        "test": ["facts_test", "word_problems_test", "multiple_choice_test"],
    },
    "prompt_style": "soft",
    "datasets": {
        "demo": {
            "teacher": "teacher",
            "tasks": ["facts_train", "word_problems_train", "multiple_choice_train"],
            # Two models are left out, so that the judge also meets models that it has not seen.
            "models": [
                "simulated-expert-freestyle",
                "simulated-adept-self-correcting",
                "simulated-average-wordy",
                "simulated-novice-terse",
                "simulated-guesser-lists-all",
            ],
            "mix": {"total": 2000},
            "validation_fraction": 0.1,
        },
    },
    "judges": {
        "truth": {"kind": "simulated"},
        "teacher": {"kind": "simulated", "label_noise": 0.05},
        "regex_strict": {"kind": "lexical", "metric": "exact_match", "extract": "final_answer"},
        "regex_lenient": {"kind": "lexical", "metric": "contains", "extract": ["final_answer", "boxed", "full_text"]},
        "general": {"kind": "bert", "checkpoint": "general"},
        "demo_judge": {
            "kind": "bert",
            "dataset": "demo",
            "backbone": "minilm",
            # Few rows: small batches give the new layer enough steps.
            "training": {"epochs": 2, "learning_rate": 1e-4, "batch_size": 16},
        },
    },
    "scorers": ["truth", "regex_strict", "regex_lenient", "general", "demo_judge"],
    "gold": "truth",
}
