"""OpenAI's chat protocol: request bodies and response bodies, without any network access."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bert_judge.candidates.generators.parsing import TokenStep, choice_probabilities, split_reasoning
from bert_judge.candidates.generators.protocol import Completion, Request

# The most that servers accept.
TOP_LOGPROBS = 20
# Fields in which servers return a reasoning block that they separate themselves.
REASONING_KEYS = ("reasoning_content", "reasoning")


class MalformedResponseError(ValueError):
    """A response that violates the protocol; a retry may help."""


def request_body(settings: Mapping[str, Any], request: Request) -> dict[str, Any]:
    """Build the body of a chat completion request; `settings` are the values of `config.OpenAIModel`."""
    messages = [{"role": "system", "content": settings["system"]}] if settings["system"] else []
    messages.append({"role": "user", "content": request.prompt})
    body: dict[str, Any] = {
        "model": settings["model"],
        "messages": messages,
        settings["max_tokens_field"]: settings["max_new_tokens"],
        "top_p": settings["top_p"],
    }
    if settings["temperature"] is not None:
        body["temperature"] = settings["temperature"]
    if settings["temperature"] != 0:
        # Greedy decoding needs no seed, and some servers do not accept one.
        body["seed"] = request.seed(settings["seed"], bits=31)
    if settings["thinking"] is not None:
        # Published templates use one of these two names for their switch.
        body["chat_template_kwargs"] = {"enable_thinking": settings["thinking"], "thinking": settings["thinking"]}
    if request.choices:
        body |= _choice_constraint(settings["structured_output"], request.choices)
        body |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS} if settings["logprobs"] else {}
    return body | settings["extra"]


def _choice_constraint(method: str, choices: Sequence[str]) -> dict[str, Any]:
    match method:
        case "structured_outputs":
            return {"structured_outputs": {"choice": list(choices)}}
        case "guided_choice":
            return {"guided_choice": list(choices)}
        case "json_schema":
            schema = {
                "type": "object",
                "properties": {"answer": {"type": "string", "enum": list(choices)}},
                "required": ["answer"],
                "additionalProperties": False,
            }
            return {"response_format": {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": schema}}}
        case _:
            return {}


def parse_response(response: Any, reasoning_end: str, choices: Sequence[str] | None = None) -> Completion:
    """Convert a response to a completion; `reasoning_end` closes a reasoning block that the server leaves in the answer.

    Raises:
        MalformedResponseError: a required field is missing or has the wrong type.
    """
    try:
        choice = response["choices"][0]
        message, finish_reason = choice["message"], choice.get("finish_reason")
        text, usage = message.get("content") or "", response.get("usage") or {}
        reasoning = next((message[key] for key in REASONING_KEYS if message.get(key)), None)
        token_counts = usage.get("prompt_tokens"), usage.get("completion_tokens")
        logprobs = (choice.get("logprobs") or {}).get("content") or ()
        steps = [TokenStep(step["token"], {top["token"]: top["logprob"] for top in step["top_logprobs"]}) for step in logprobs]
    except (LookupError, TypeError, AttributeError) as error:
        raise MalformedResponseError(f"the response lacks a required field: {type(error).__name__} {error}") from error
    counts_valid = all(isinstance(count, int | None) for count in token_counts)
    if not isinstance(text, str) or not isinstance(reasoning, str | None) or not counts_valid:
        raise MalformedResponseError("a field of the response has the wrong type")
    split = split_reasoning(text, reasoning_end)
    answer = _unwrap_json(split.answer, choices) if choices else split.answer
    status, reason = "ok" if answer else "empty", None
    if finish_reason == "length" or not split.finished:
        # A server that separates the reasoning itself leaves the text empty while the reasoning is unfinished.
        status = "truncated"
    elif not answer and finish_reason not in (None, "stop"):
        # A content filter, for example.
        reason = f"stopped by the server: {finish_reason}"
    probabilities = choice_probabilities(choices, _steps_of_choice(steps, choices)) if choices and steps else None
    return Completion(answer, status, reasoning or split.reasoning, *token_counts, probabilities, reason)


def _unwrap_json(text: str, choices: Sequence[str]) -> str:
    """Return the choice inside the JSON that `json_schema` requests; any other text unchanged."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    answer = value.get("answer") if isinstance(value, dict) else None
    return str(answer) if answer in choices else text


def _steps_of_choice(steps: Sequence[TokenStep], choices: Sequence[str]) -> Sequence[TokenStep]:
    """Return the tokens from the last word that begins a choice: reasoning or JSON syntax may precede it."""
    for start in reversed(range(len(steps))):
        word = steps[start].token.lstrip()
        inside_word = start > 0 and word == steps[start].token and steps[start - 1].token[-1:].isalnum()
        if word and not inside_word and any(choice.startswith(word) for choice in choices):
            rest = "".join(step.token for step in steps[start:]).lstrip()
            if rest.startswith(tuple(choices)):
                return steps[start:]
    return steps
