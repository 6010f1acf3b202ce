"""Answer as the chat model that a program asks to judge: OpenAI's `POST /v1/chat/completions`.

The prompt is recognised by its template (templates.py). The verdict is returned in the words that the program reads, and the score
as the log-probability of the word. What gets no verdict is a refusal; a prompt of no template is rejected.
"""

import math
import time
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from bert_judge.judges.protocol import NOT_ATTEMPTED, Label, invalid
from bert_judge.serve.bodies import check_items
from bert_judge.serve.judge_pool import JudgePool
from bert_judge.serve.limits import Limits, RequestRejected
from bert_judge.serve.templates import Ambiguous, Template

PATH = "/v1/chat/completions"
# Log-probability of what is impossible, as OpenAI's models give it.
MIN_LOG_PROBABILITY = -9999.0
AMBIGUOUS = "the prompt can be divided in several ways, because one of its texts contains words of the template"


def _join_parts(content: Any) -> Any:
    """Return the text of a content in parts; one with an image stays as it is, and is no text."""
    if isinstance(content, list) and all(isinstance(part, Mapping) and isinstance(part.get("text"), str) for part in content):
        return "".join(part["text"] for part in content)
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
    """A request with the template of its prompt, None if it is ambiguous, and part → text."""

    request: ChatRequest
    template: Template | None
    parts: Mapping[str, str]


def parse(templates: Mapping[str, Template], body: Mapping[str, Any]) -> Prompt:
    """Read a request. Raises RequestRejected: it has another form, or its prompt is of no template."""
    try:
        request = ChatRequest.model_validate(body)
    except ValidationError as error:
        first = error.errors()[0]
        raise RequestRejected(422, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    prompts = [message.content for message in request.messages if message.role == "user"]
    system = "\n".join(message.content for message in request.messages if message.role in ("system", "developer")).lstrip()
    matches: list[tuple[Template | None, Mapping[str, str]]] = []
    for template in templates.values() if len(prompts) == 1 else ():
        try:
            if system.startswith(template.system) and (parts := template.divide(prompts[0])) is not None:
                matches.append((template, parts))
        except Ambiguous:
            matches.append((None, {}))
    if not matches:
        known = ", ".join(templates)
        raise RequestRejected(422, f"messages: a prompt of none of the templates {known}; describe it with serve --templates FILE")
    # An answer that imitates another template makes two of them fit.
    return Prompt(request, *(matches[0] if len(matches) == 1 else (None, {})))


async def complete(pool: JudgePool, limits: Limits, prompt: Prompt, client: str) -> dict[str, Any]:
    """Answer a request. Raises RequestRejected: there is no such judge, or the row exceeds a limit."""
    request, template, parts = prompt
    judge = pool.judge(request.model)
    reason = AMBIGUOUS if template is None else template.find_refusal(parts)
    label = None if reason is None else invalid(reason)
    if template is not None and template.words and label is None:
        row = template.to_row(parts)
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
    known = {**parts, "reason": (label.reason if label is not None else None) or ""}
    words = template.words
    if label is None or label.score is None:
        word = "" if label is None else words.get("invalid")
        return ("", "", "") if word is None else template.write(word, known), {}
    negative = NOT_ATTEMPTED if label.outcome == NOT_ATTEMPTED and NOT_ATTEMPTED in words else "incorrect"
    replies = {outcome: template.write(words[outcome], known) for outcome in ("correct", negative)}
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
