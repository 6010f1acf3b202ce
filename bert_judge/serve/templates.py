"""Judge prompts of other programs: recognise one, divide it into question, reference and answer, and write the reply it asks for.

An answer may contain the fixed text that stands before or after it. So a prompt is divided twice, from its start and from its end,
and refused if the results differ. There is always the division that the program meant: if it is the only one, it is the right one.
"""

import json
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from bert_judge.runtime.errors import InputError
from bert_judge.runtime.package_data import read_yaml
from bert_judge.serve.bodies import RowBody

PLACEHOLDER = re.compile(r"\{(\w*)\}")
# Stands for the word of the verdict while the reply around it is written; no text contains it afterwards.
WORD_MARK = "\ue000"


class Ambiguous(Exception):
    """A prompt that can be divided in several ways."""


class Template(BaseModel):
    """A judge prompt of another program; templates.yaml describes the fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    prompt: str
    system: str = ""
    input: dict[str, Literal["question", "reference", "answer"]] = {}
    words: dict[Literal["correct", "incorrect", "not_attempted"], Any] = {}
    reply: Any = "{word}"
    line_is_reference: bool = False
    no_reference: str | None = None
    refusal: str | None = None

    @model_validator(mode="after")
    def check(self) -> "Template":
        if not self.fixed[0]:
            raise ValueError("the prompt must begin with fixed text, or an answer could imitate a whole prompt")
        if not all(self.fixed[1:-1]):
            raise ValueError("two parts of the prompt have no fixed text between them")
        names = [name for name in self.names if name]
        if len(set(names)) < len(names):
            raise ValueError("the prompt has a part twice")
        if self.words and not {"correct", "incorrect"} <= self.words.keys():
            raise ValueError("words must have correct and incorrect")
        if self.words and not {"reference", "answer"} <= {*names, *self.input.values()}:
            raise ValueError("the prompt must have {reference} and {answer}")
        return self

    @cached_property
    def fixed(self) -> list[str]:
        """The fixed text before, between and after the parts."""
        texts = PLACEHOLDER.split(self.prompt)[::2]
        return [texts[0].lstrip(), *texts[1:-1], texts[-1].rstrip()] if len(texts) > 1 else texts

    @cached_property
    def names(self) -> list[str]:
        """The names of the parts, "" for text that may vary."""
        return PLACEHOLDER.findall(self.prompt)

    def divide(self, prompt: str) -> dict[str, str] | None:
        """Return part → text, None if this is another prompt. Raises Ambiguous: there are several ways."""
        first, *inner, last = self.fixed
        prompt = prompt.lstrip()
        prompt = prompt.rstrip() if last else prompt
        start, end = len(first), len(prompt) - len(last)
        if start > end or not prompt.startswith(first) or not prompt.endswith(last):
            return None
        earliest, position = [], start
        for text in inner:
            if (found := prompt.find(text, position, end)) < 0:
                return None
            earliest.append(found)
            position = found + len(text)
        latest: list[int] = []
        position = end
        for text in reversed(inner):
            position = prompt.rfind(text, start, position)
            latest.insert(0, position)
        if earliest != latest:
            raise Ambiguous
        starts = [start, *(found + len(text) for found, text in zip(earliest, inner, strict=True))]
        texts = [prompt[left:right] for left, right in zip(starts, [*earliest, end], strict=True)]
        return self._parse_input(dict(zip(self.names, texts, strict=True)))

    def _parse_input(self, parts: dict[str, str]) -> dict[str, str] | None:
        """Replace the part that holds JSON by the parts in it."""
        if not self.input:
            return parts
        try:
            values = json.loads(parts["input"])
            lists = {part: [values[key]] if isinstance(values[key], str) else values[key] for key, part in self.input.items()}
            return parts | {part: "\n".join(texts) for part, texts in lists.items()}
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

    def write(self, word: Any, parts: Mapping[str, str]) -> tuple[str, str, str]:
        """Return a reply as the text before the word, the word, and the text after it.

        Args:
            word: text, number or object; None for no verdict, which is an empty reply or null in an object.
        """
        is_text = isinstance(self.reply, str)
        if word is None and is_text:
            return "", "", ""
        known = {name: text.replace(WORD_MARK, "") for name, text in parts.items()}
        word, reply = _fill(word, known), _fill(self.reply, known | {"word": WORD_MARK})
        text, shown = reply if is_text else _to_json(reply), _to_json(word)
        mark = WORD_MARK
        if isinstance(word, str):
            shown = word if is_text else shown[1:-1]
        elif f'"{mark}"' in text:
            # A number has no quotation marks.
            mark = f'"{mark}"'
        before, found, after = text.partition(mark)
        return before, shown if found else "", after


def _fill(value: Any, parts: Mapping[str, str]) -> Any:
    """Return a text, or the texts in an object, with parts in place of their names."""
    if isinstance(value, str):
        return PLACEHOLDER.sub(lambda match: parts.get(match[1], match[0]), value)
    if isinstance(value, Mapping):
        return {key: _fill(entry, parts) for key, entry in value.items()}
    return [_fill(entry, parts) for entry in value] if isinstance(value, list) else value


def _to_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def read_templates(file: Path | None = None) -> dict[str, Template]:
    """Return the templates that come with bert-judge, by name, and those of a file, which replace others of the same name.

    Raises:
        InputError: the file cannot be read, or a template in it is invalid.
    """
    known = {name: Template.model_validate(entry) for name, entry in read_yaml(Path(__file__).with_name("templates.yaml")).items()}
    if file is None:
        return known
    try:
        entries = read_yaml(file)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"--templates {file}: cannot be read as YAML: {' '.join(str(error).split())}") from error
    if not isinstance(entries, dict) or not entries:
        raise InputError(f"--templates {file}: expected name → template, as in docs/serving.md")
    templates = {}
    for name, entry in entries.items():
        try:
            templates[str(name)] = Template.model_validate(entry)
        except ValidationError as error:
            first = error.errors()[0]
            location = ".".join(map(str, (name, *first["loc"])))
            raise InputError(f"--templates {file}: {location}: {first['msg'].removeprefix('Value error, ')}") from error
    return known | templates
