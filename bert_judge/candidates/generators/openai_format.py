"""OpenAI's chat protocol: a request as the body of a call, and an answer's body as a completion. No network here."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from bert_judge.candidates.generators.choices import Step, along_path
from bert_judge.candidates.generators.protocol import Completion, Request
from bert_judge.candidates.generators.reasoning import split
from bert_judge.candidates.generators.seeds import row_seed

# What servers take for the number of likeliest tokens.
TOP_LOGPROBS = 20
# Where servers put a reasoning block that they cut off themselves.
REASONING_KEYS = ("reasoning_content", "reasoning")


class MalformedError(ValueError):
    """An answer that is not what the protocol says; asking again may help."""


def body(settings: Mapping[str, Any], request: Request) -> dict[str, Any]:
    """The body of a chat completion call.

    Args:
        settings: the values of `config.OpenAIModel`.
    """
    messages = [{"role": "system", "content": settings["system"]}] if settings["system"] else []
    messages.append({"role": "user", "content": request.prompt})
    call: dict[str, Any] = {
        "model": settings["model"],
        "messages": messages,
        settings["max_tokens_field"]: settings["max_new_tokens"],
        "top_p": settings["top_p"],
    }
    if settings["temperature"] is not None:
        call["temperature"] = settings["temperature"]
    if settings["temperature"] != 0:
        # Greedy answers need no seed, and some servers know none.
        call["seed"] = row_seed(settings["seed"], request.prompt, request.attempt, bits=31)
    if settings["thinking"] is not None:
        # The two names that published templates give their switch.
        call["chat_template_kwargs"] = {"enable_thinking": settings["thinking"], "thinking": settings["thinking"]}
    if request.choices:
        call |= _constraint(settings["structured_output"], request.choices)
        call |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS} if settings["logprobs"] else {}
    return call | settings["extra"]


def _constraint(way: str, choices: Sequence[str]) -> dict[str, Any]:
    match way:
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


def completion(answer: Any, reasoning_end: str, choices: Sequence[str] | None = None) -> Completion:
    """What the body of an answer says.

    Args:
        answer: the parsed JSON.
        reasoning_end: what closes a reasoning block, for servers that leave it in the text.
        choices: of the request.

    Raises:
        MalformedError: it lacks what every answer has.
    """
    try:
        choice = answer["choices"][0]
        message, ending = choice["message"], choice.get("finish_reason")
        text, usage = message.get("content") or "", answer.get("usage") or {}
        reasoning = next((message[key] for key in REASONING_KEYS if message.get(key)), None)
        counts = usage.get("prompt_tokens"), usage.get("completion_tokens")
        likely = (choice.get("logprobs") or {}).get("content") or ()
        steps = [Step(token["token"], {top["token"]: top["logprob"] for top in token["top_logprobs"]}) for token in likely]
    except (LookupError, TypeError, AttributeError) as error:
        raise MalformedError(f"an answer without its parts: {type(error).__name__} {error}") from error
    if not isinstance(text, str) or not isinstance(reasoning, str | None) or not all(isinstance(n, int | None) for n in counts):
        raise MalformedError("an answer whose parts have the wrong type")
    parts = split(text, reasoning_end)
    said = _unframed(parts.answer, choices) if choices else parts.answer
    status = "ok" if said else "empty"
    # What a server holds back, a content filter for one, it says here.
    why = f"the server ended it: {ending}" if status == "empty" and ending not in (None, "stop") else None
    # A server that cuts the reasoning off by itself leaves the text empty while the reasoning is unfinished.
    if ending == "length" or not parts.finished:
        status, why = "truncated", None
    probabilities = along_path(choices, _of_answer(steps, choices)) if choices and steps else None
    return Completion(said, status, reasoning or parts.reasoning, *counts, probabilities, why)


def _unframed(text: str, choices: Sequence[str]) -> str:
    """The choice inside the JSON that `json_schema` asks for; any other text as it is."""
    try:
        framed = json.loads(text)
    except ValueError:
        return text
    answer = framed.get("answer") if isinstance(framed, dict) else None
    return str(answer) if answer in choices else text


def _of_answer(steps: Sequence[Step], choices: Sequence[str]) -> Sequence[Step]:
    """The tokens from the last place on at which a choice begins a word: before it may stand reasoning or the frame of JSON."""
    for start in reversed(range(len(steps))):
        word = steps[start].said.lstrip()
        joined = start > 0 and word == steps[start].said and steps[start - 1].said[-1:].isalnum()
        if word and not joined and any(choice.startswith(word) for choice in choices):
            rest = "".join(step.said for step in steps[start:]).lstrip()
            if rest.startswith(tuple(choices)):
                return steps[start:]
    return steps
