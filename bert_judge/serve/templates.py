"""Judge prompts of other programs: recognise one, divide it into question, reference and answer, and write the reply it asks for.

An answer may contain the fixed text that stands before or after it. So a prompt is divided twice, from its start and from its end,
and refused if the results differ. There is always the division that the program meant: if it is the only one, it is the right one.
"""

import json
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from bert_judge.runtime.errors import InputError
from bert_judge.runtime.package_data import read_yaml
from bert_judge.serve.bodies import RowBody

KNOWN_TEMPLATES = Path(__file__).with_name("templates.yaml")
PLACEHOLDER = re.compile(r"\{(\w*)\}")


class Ambiguous(Exception):
    """A prompt that can be divided in several ways."""


class Template(BaseModel):
    """A judge prompt of another program; templates.yaml describes the fields."""

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)
    prompt: str
    system: str = ""
    input: dict[str, Literal["question", "reference", "answer"]] = {}
    words: dict[Literal["correct", "incorrect", "not_attempted", "invalid"], str] = {}
    reply: str = "{word}"
    line_is_reference: bool = False
    no_reference: str | None = None
    refusal: str | None = None

    @model_validator(mode="after")
    def check(self) -> "Template":
        names = [name for name in self.names if name]
        faults = {
            "the prompt must begin with fixed text, or an answer could imitate a whole prompt": not self.fixed[0],
            "the prompt has no parts": not self.names,
            "two parts of the prompt have no fixed text between them": not all(self.fixed[1:-1]),
            "the prompt has a part twice": len(set(names)) < len(names),
            "words must have correct and incorrect": bool(self.words) and not {"correct", "incorrect"} <= self.words.keys(),
            "the prompt must have {reference} and {answer}": bool(self.words)
            and not {"reference", "answer"} <= {*names, *self.input.values()},
        }
        if fault := next((text for text, is_fault in faults.items() if is_fault), None):
            raise ValueError(fault)
        return self

    @cached_property
    def fixed(self) -> list[str]:
        """The fixed text before, between and after the parts."""
        return PLACEHOLDER.split(self.prompt.strip())[::2]

    @cached_property
    def names(self) -> list[str]:
        """The names of the parts, "" for text that may vary."""
        return PLACEHOLDER.findall(self.prompt)

    def divide(self, prompt: str) -> dict[str, str] | None:
        """Return part → text, None if this is another prompt. Raises Ambiguous: there are several ways."""
        first, *inner, last = self.fixed
        prompt = prompt.strip() if last else prompt.lstrip()
        if len(prompt) < len(first) + len(last) or not (prompt.startswith(first) and prompt.endswith(last)):
            return None
        forward, backward = [prompt[len(first) : len(prompt) - len(last)]], [prompt[len(first) : len(prompt) - len(last)]]
        for text in inner:
            if text not in forward[-1]:
                return None
            forward[-1:] = forward[-1].split(text, 1)
        for text in reversed(inner):
            backward[:1] = backward[0].rsplit(text, 1)
        if forward != backward:
            raise Ambiguous
        return self._parse_input(dict(zip(self.names, forward, strict=True)))

    def _parse_input(self, parts: dict[str, str]) -> dict[str, str] | None:
        """Add the parts in the part that holds JSON: texts, or lists of texts."""
        if not self.input:
            return parts
        try:
            values = json.loads(parts["input"])
            texts = {part: values[key] for key, part in self.input.items()}
            return parts | {part: text if isinstance(text, str) else "\n".join(text) for part, text in texts.items()}
        except (ValueError, TypeError, KeyError, RecursionError):
            return None

    def find_refusal(self, parts: Mapping[str, str]) -> str | None:
        """Return why a prompt gets no verdict, None if it gets one."""
        is_missing = self.no_reference is not None and parts["reference"].strip() == self.no_reference
        return "no reference" if is_missing else self.refusal

    def to_row(self, parts: Mapping[str, str]) -> RowBody:
        # White space at the end of a prompt is not part of its last text.
        texts = {part: text.strip() for part, text in parts.items()}
        references = texts["reference"].splitlines() if self.line_is_reference else texts["reference"]
        return RowBody(question=texts.get("question", ""), references=references, candidate=texts["answer"])

    def write(self, word: str, parts: Mapping[str, str]) -> tuple[str, str, str]:
        """Return a reply as the text before the word, the word, and the text after it."""
        is_json = any(text.startswith('{"') for text in (self.reply, *self.words.values()))
        known = {name: json.dumps(text, ensure_ascii=False)[1:-1] if is_json else text for name, text in parts.items()}
        before, found, after = self.reply.partition("{word}")
        pieces = (before, word if found else "", after)
        before, word, after = (PLACEHOLDER.sub(lambda match: known.get(match[1], match[0]), text) for text in pieces)
        return before, word, after


def read_templates(file: Path | None = None) -> dict[str, Template]:
    """Return the templates that come with bert-judge, by name, and those of a file, which replace others of the same name.

    Raises:
        InputError: the file cannot be read, or a template in it is invalid.
    """
    templates: dict[str, Template] = {}
    for path in (KNOWN_TEMPLATES, *([] if file is None else [file])):
        try:
            entries = read_yaml(path)
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise InputError(f"--templates {path}: cannot be read as YAML: {' '.join(str(error).split())}") from error
        if not isinstance(entries, dict):
            raise InputError(f"--templates {path}: expected name → template, as in docs/use_it_from.md")
        for name, entry in entries.items():
            try:
                templates[str(name)] = Template.model_validate(entry)
            except ValidationError as error:
                first = error.errors()[0]
                place = ".".join(map(str, (name, *first["loc"])))
                raise InputError(f"--templates {path}: {place}: {first['msg'].removeprefix('Value error, ')}") from error
    return templates
