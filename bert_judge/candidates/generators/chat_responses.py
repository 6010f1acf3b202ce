"""Reading of the responses of chat completions.

Order of reading, for every server:

1. The reasoning is the first of the fields `reasoning_content` and `reasoning` that is not empty; else the text of the message up
   to its last end marker (`</think>`).
2. The answer is the rest of the text. It is never taken from the reasoning, which weighs verdicts before it decides.
3. `finish_reason: length`, or a reasoning without an end, makes the answer truncated; what stands there is kept, since a server
   that restricts a reply may report the limit right after the allowed word.
4. Log-probabilities are those from the last word on that begins an allowed reply: tokens of the reasoning and of JSON precede it.
   Servers report those after the restriction (vLLM) or those of the unrestricted model (llama.cpp). So the probability of a word is
   its share among the allowed words, which moves to equal shares where these are unlikely together.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bert_judge.candidates.generators.protocol import (
    Completion,
    TokenStep,
    choice_mass,
    choice_probabilities,
    flatten,
    split_reasoning,
)

# Fields in which servers return a reasoning block that they separate themselves.
REASONING_KEYS = ("reasoning_content", "reasoning")
WRONG_TYPE = "a field of the response has the wrong type"


class MalformedResponseError(ValueError):
    """A response that violates the protocol; a retry may help."""


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
        steps = [TokenStep(step["token"], _merge_tokens(step)) for step in logprobs]
    except (LookupError, TypeError, AttributeError) as error:
        raise MalformedResponseError(describe_malformed(response, error)) from error
    counts_valid = all(isinstance(count, int | None) for count in token_counts)
    if not isinstance(text, str) or not isinstance(reasoning, str | None) or not counts_valid:
        raise MalformedResponseError(WRONG_TYPE)
    split = split_reasoning(text, reasoning_end)
    answer = _unwrap_json(split.answer, choices) if choices else split.answer
    status, reason = "ok" if answer else "empty", None
    if finish_reason == "length" or not split.finished:
        # A server that separates the reasoning itself leaves the text empty while the reasoning is unfinished.
        status = "truncated"
    elif not answer and finish_reason not in (None, "stop"):
        # A content filter, for example.
        reason = f"stopped by the server: {finish_reason}"
    probabilities = None
    if choices and steps:
        choice_steps = _steps_of_choice(steps, choices)
        shares = choice_probabilities(choices, choice_steps)
        probabilities = shares and flatten(shares, choice_mass(choices, choice_steps))
    return Completion(
        answer,
        status,
        reasoning or split.reasoning,
        *token_counts,
        choice_probabilities=probabilities,
        reason=reason,
    )


def describe_malformed(response: Any, error: Exception) -> str:
    """Say what is wrong with a response, from the exception that reading it raised; some servers report errors with status 200."""
    if isinstance(response, Mapping) and (reported := response.get("error")):
        return f"the server reports: {reported.get('message', reported) if isinstance(reported, Mapping) else reported}"
    causes = {KeyError: f"the response lacks the field {error}", IndexError: "the response has no answer", ValueError: str(error)}
    return causes.get(type(error), WRONG_TYPE)


def _merge_tokens(step: Mapping[str, Any]) -> dict[str, float]:
    """Return text → log-probability of the likely tokens and of the generated one; empty if the server does not list any.

    Probabilities of tokens with the same text add up: a tokenizer may have a word with and without a space before it, and show both
    without. The generated token is not among the likely ones where the server restricts the reply and reports the probabilities of
    the unrestricted model (llama.cpp 11549).
    """
    merged: dict[str, float] = {}
    for top in step.get("top_logprobs") or ():
        if _is_number(top.get("logprob")):
            merged[top["token"]] = float(np.logaddexp(merged.get(top["token"], -np.inf), top["logprob"]))
    # Alone, the generated token would have all of the probability.
    return {step["token"]: step["logprob"], **merged} if merged and _is_number(step.get("logprob")) else merged


def _is_number(value: object) -> bool:
    """Return whether a log-probability is one; the verdict of a reply does not depend on it."""
    return isinstance(value, int | float) and not math.isnan(value)


def _unwrap_json(text: str, choices: Sequence[str]) -> str:
    """Return the choice inside the JSON that a schema requests; any other text unchanged."""
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
