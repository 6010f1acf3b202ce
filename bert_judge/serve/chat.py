"""Answer as the chat model that a program asks to judge: OpenAI's `POST /v1/chat/completions`.

The prompt is recognised by its template and divided into question, reference and answer. The verdict is returned in the words that
the program reads, and the score as the log-probability of the word. What gets no verdict is a refusal; a prompt of no template is
rejected.

An answer may contain the fixed text that stands before or after it. So a prompt is divided twice, from its start and from its end,
and refused if the results differ. There is always the division that the program meant: if it is the only one, it is the right one.
"""

import json
import math
import re
import time
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from bert_judge.judges.protocol import NOT_ATTEMPTED, Label, invalid
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.package_data import read_yaml
from bert_judge.serve.bodies import RowBody, check_items, check_references
from bert_judge.serve.judge_pool import JudgePool
from bert_judge.serve.limits import Limits, RequestRejected

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

    def _parse_input(self, fields: dict[str, str]) -> dict[str, str] | None:
        """Add the parts in the part that holds JSON: texts, or lists of texts."""
        if not self.input:
            return fields
        try:
            values = json.loads(fields["input"])
            texts = {field: values[key] for key, field in self.input.items()}
            return fields | {field: text if isinstance(text, str) else "\n".join(text) for field, text in texts.items()}
        except (ValueError, TypeError, KeyError, RecursionError):
            return None

    def find_refusal(self, fields: Mapping[str, str]) -> str | None:
        """Return why a prompt gets no verdict, None if it gets one."""
        is_missing = self.no_reference is not None and fields["reference"].strip() == self.no_reference
        return "no reference" if is_missing else self.refusal

    def to_row(self, fields: Mapping[str, str]) -> RowBody:
        # White space at the end of a prompt is not part of its last text.
        texts = {field: text.strip() for field, text in fields.items()}
        references = texts["reference"].splitlines() if self.line_is_reference else texts["reference"]
        return RowBody(question=texts.get("question", ""), references=references, candidate=texts["answer"])

    def write(self, word: str, fields: Mapping[str, str]) -> tuple[str, str, str]:
        """Return a reply as the text before the word, the word, and the text after it."""
        is_json = any(text.startswith('{"') for text in (self.reply, *self.words.values()))
        values = {name: json.dumps(text, ensure_ascii=False)[1:-1] if is_json else text for name, text in fields.items()}
        before, mark, after = self.reply.partition("{word}")
        pieces = (before, word if mark else "", after)
        before, word, after = (PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), text) for text in pieces)
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
                location = ".".join(map(str, (name, *first["loc"])))
                raise InputError(f"--templates {path}: {location}: {first['msg'].removeprefix('Value error, ')}") from error
    return templates


# --- replies ---

PATH = "/v1/chat/completions"
# Log-probability of what is impossible, as OpenAI's models give it.
MIN_LOG_PROBABILITY = -9999.0
AMBIGUOUS = "the prompt can be divided in several ways, because one of its texts contains words of the template"


def _join_parts(content: Any) -> Any:
    """Return the text of a content in parts; one with an image stays as it is, and is no text."""
    if isinstance(content, list) and all(isinstance(item, Mapping) and isinstance(item.get("text"), str) for item in content):
        return "".join(item["text"] for item in content)
    return content


class Message(BaseModel):
    """A message of the conversation."""

    role: str
    content: Annotated[str, BeforeValidator(_join_parts)]


class ChatRequest(BaseModel):
    """The keys of a request that are read; others, such as the temperature, change nothing."""

    model: str | None = None
    messages: list[Message]
    n: int | None = Field(None, ge=1, le=128)
    stream: Literal[False] | None = None
    logprobs: bool | None = None
    top_logprobs: int | None = Field(None, ge=0, le=20)


class Prompt(NamedTuple):
    """A request with the template of its prompt, None if it is ambiguous, part → text, and the row to judge, if there is one."""

    request: ChatRequest
    template: Template | None
    parts: Mapping[str, str]
    row: RowBody | None


def parse(templates: Mapping[str, Template], limits: Limits, body: Mapping[str, Any]) -> Prompt:
    """Read a request. Raises RequestRejected: it has another form, its prompt is of no template, or has too many references."""
    try:
        request = ChatRequest.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        raise RequestRejected(422, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    prompts = [message.content for message in request.messages if message.role == "user"]
    system = "\n".join(message.content for message in request.messages if message.role in ("system", "developer")).lstrip()
    matches: list[tuple[Template | None, Mapping[str, str]]] = []
    for known in templates.values() if len(prompts) == 1 else ():
        try:
            if system.startswith(known.system) and (division := known.divide(prompts[0])) is not None:
                matches.append((known, division))
        except Ambiguous:
            matches.append((None, {}))
    if not matches:
        names = ", ".join(templates)
        raise RequestRejected(422, f"messages: a prompt of none of the templates {names}; describe it with serve --templates FILE")
    # An answer that imitates another template makes two of them fit.
    template, parts = matches[0] if len(matches) == 1 else (None, {})
    if template is None or not template.words or template.find_refusal(parts) is not None:
        return Prompt(request, template, parts, None)
    if template.line_is_reference:
        # Before each of them becomes a text.
        check_references("messages", parts["reference"].strip().count("\n") + 1, limits)
    return Prompt(request, template, parts, template.to_row(parts))


async def complete(pool: JudgePool, limits: Limits, prompt: Prompt, client: str) -> dict[str, Any]:
    """Answer a request. Raises RequestRejected: there is no such judge, or the row exceeds a limit."""
    request, template, parts, row = prompt
    judge = pool.judge(request.model)
    reason = AMBIGUOUS if template is None else template.find_refusal(parts)
    label = None if reason is None else invalid(reason)
    if row is not None:
        check_items("messages", [row], limits)
        (label,) = await judge.submit([row], client)
    pieces, probabilities = _write(template, parts, label)
    refusal = label.reason if label is not None and label.score is None else None
    tokens = _tokens(pieces, probabilities, request.top_logprobs or 0) if request.logprobs else None
    choice = {
        "message": {"role": "assistant", "content": "".join(pieces), "refusal": refusal},
        "finish_reason": "stop",
        "logprobs": None if tokens is None else {"content": tokens, "refusal": None},
    }
    counts = (0, 0) if label is None else (label.prompt_tokens or 0, label.completion_tokens or 0)
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": judge.name,
        "choices": [{"index": index} | choice for index in range(request.n or 1)],
        "usage": {"prompt_tokens": counts[0], "completion_tokens": counts[1], "total_tokens": sum(counts)},
    }


def _write(
    template: Template | None, parts: Mapping[str, str], label: Label | None
) -> tuple[tuple[str, str, str], Mapping[str, float]]:
    """Return a reply as `Template.write` does, and word → probability. `label`: None if the reply is always the same."""
    if template is None:
        return ("", "", ""), {}
    values = {**parts, "reason": (label.reason if label is not None else None) or ""}
    words = template.words
    if label is None or label.score is None:
        word = "" if label is None else words.get("invalid")
        return ("", "", "") if word is None else template.write(word, values), {}
    negative = NOT_ATTEMPTED if label.outcome == NOT_ATTEMPTED and NOT_ATTEMPTED in words else "incorrect"
    replies = {outcome: template.write(words[outcome], values) for outcome in ("correct", negative)}
    # Two outcomes may have the same word.
    probabilities: Counter[str] = Counter()
    for (_, word, _), probability in zip(replies.values(), (label.score, 1 - label.score), strict=True):
        probabilities[word] += probability  # type: ignore[assignment]
    return replies["correct" if label.verdict == "correct" else negative], probabilities


def _tokens(pieces: Sequence[str], probabilities: Mapping[str, float], num_alternatives: int) -> list[dict[str, Any]]:
    """Return the pieces of a reply as tokens with log-probabilities; those around the word are certain."""
    tokens = []
    for text in filter(None, pieces):
        options = probabilities if text in probabilities else {text: 1.0}
        logprobs = {option: math.log(share) if share > 0 else MIN_LOG_PROBABILITY for option, share in options.items()}
        ranked = sorted(logprobs.items(), key=lambda entry: -entry[1])
        entries = {option: {"token": option, "logprob": value, "bytes": list(option.encode())} for option, value in ranked}
        tokens.append(entries[text] | {"top_logprobs": list(entries.values())[:num_alternatives]})
    return tokens
