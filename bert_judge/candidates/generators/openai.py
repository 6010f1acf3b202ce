"""Generation by a server that speaks OpenAI's protocol: a vendor's, or your own vLLM server.

The openai client retries temporary failures (408, 409, 429, 5xx, timeouts, lost connections) with exponential backoff; malformed
responses are retried here. When retries are exhausted, the row has status `error` and a reason, and the next run asks again.
Failures that affect every row, such as a rejected key or an unknown model, end the job at once. The key comes from the
environment and is written nowhere: server messages are redacted before they are logged.
"""

import json
import logging
import math
import os
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError, DefaultHttpxClient, OpenAI

from bert_judge.candidates.generators.protocol import (
    MAX_REASON_LENGTH,
    Completion,
    Request,
    TokenStep,
    choice_probabilities,
    error_completion,
    split_reasoning,
)
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import ProgressLogger

log = logging.getLogger(__name__)

OFFICIAL_URL = "https://api.openai.com"
# Besides 5xx, status codes that are retried.
TEMPORARY = frozenset({408, 409, 429})
# The most that servers accept.
TOP_LOGPROBS = 20
# Fields in which servers return a reasoning block that they separate themselves.
REASONING_KEYS = ("reasoning_content", "reasoning")


class OpenAIGenerator:
    """Sends many requests to a server at once, at most `requests_per_minute`.

    If as many consecutive rows fail as there are connections, the others are not sent; each call of `generate` tries again.

    Raises:
        InputError: the server needs a key, and the environment has none.
    """

    # Path of the endpoint, relative to `base_url`.
    path = "/chat/completions"

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self.name, self.settings = name, settings
        self.revisions: dict[str, str] = {}
        self.key = os.environ.get(settings["api_key_env"], "").strip()
        if not self.key and settings["base_url"].startswith(OFFICIAL_URL):
            raise InputError(f"models.{name}.api_key_env: the environment variable {settings['api_key_env']} is not set; set it")
        self.client = OpenAI(
            # The client rejects an empty key; a server without authentication ignores it.
            api_key=self.key or "none",
            base_url=settings["base_url"],
            timeout=settings["timeout"],
            max_retries=settings["retries"],
            # Retries count as requests too.
            http_client=DefaultHttpxClient(event_hooks={"request": [self._wait_for_turn]}),
        )
        self.tokens_used, self.next_start, self.lock = 0, 0.0, threading.Lock()
        # Consecutive rows that a server left unanswered, and their number from which it counts as down.
        self.failures, self.max_failures = 0, max(4, settings["concurrency"])
        self.stopped = False

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Return one completion per request, in order; an unanswered request has status `error`.

        Raises:
            InputError: the server rejects the key, or does not know the model.
        """
        # The server may be up again: one row tries.
        self.failures = min(self.failures, self.max_failures - 1)
        completions: list[Completion] = []
        progress = ProgressLogger(f"answers of {self.name}")
        with ThreadPoolExecutor(self.settings["concurrency"]) as pool:
            try:
                for completion in pool.map(self._complete, requests):
                    completions.append(completion)
                    progress.update(len(completions), fraction=len(completions) / len(requests))
            except BaseException:
                # Waiting threads must not delay the end of the job.
                self.stopped = True
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        if self._budget_is_spent():
            limit = self.settings["budget_tokens"]
            log.warning("%s: the budget of %d tokens is spent; raise budget_tokens for the rest", self.name, limit)
        if errors := sum(completion.status == "error" for completion in completions):
            log.warning("%s: %d of %d requests failed; their status is error", self.name, errors, len(completions))
        return completions

    def _complete(self, request: Request) -> Completion:
        reason = ""
        for _ in range(self.settings["retries"] + 1):
            if skip_reason := self._skip_reason():
                return error_completion(skip_reason)
            try:
                completion = self._send(request)
            except MalformedResponseError as error:
                reason = self._describe(error)
            except APIError as error:
                self._raise_if_fatal(error)
                reason = self._describe(error)
                # A server that rejects this request is up.
                code = error.status_code if isinstance(error, APIStatusError) else 500
                self._count_failure(is_up=code < 500 and code not in TEMPORARY)
                break
            else:
                self._count_failure(is_up=True)
                return completion
        else:
            self._count_failure(is_up=False)
        log.warning("%s: %s: %s", self.name, request.sample_id, reason)
        return error_completion(reason)

    def _wait_for_turn(self, _: object) -> None:
        """Space requests evenly; without a limit, do not wait."""
        with self.lock:
            start = max(time.monotonic(), self.next_start)
            self.next_start = start + 60.0 / (self.settings["requests_per_minute"] or math.inf)
        time.sleep(max(start - time.monotonic(), 0.0))

    def _count_failure(self, is_up: bool) -> None:
        with self.lock:
            self.failures = 0 if is_up else self.failures + 1

    def _budget_is_spent(self) -> bool:
        return self.tokens_used >= (self.settings["budget_tokens"] or math.inf)

    def _skip_reason(self) -> str | None:
        if self._budget_is_spent():
            return f"not sent: the budget of {self.settings['budget_tokens']} tokens is spent"
        if self.failures >= self.max_failures:
            return "not sent: the server has stopped responding"
        return "not sent: the job ended" if self.stopped else None

    def _request_body(self, request: Request) -> dict[str, Any]:
        """Build the body of a chat completion request."""
        settings = self.settings
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

    def _parse_response(self, response: Any, request: Request) -> Completion:
        return parse_response(response, self.settings["reasoning_end"], request.choices)

    def _send(self, request: Request) -> Completion:
        # As text: the client builds a response object from any JSON.
        text = self.client.post(self.path, body=self._request_body(request), cast_to=str)
        try:
            response = json.loads(text)
        except ValueError as error:
            raise MalformedResponseError("the response is not JSON") from error
        completion = self._parse_response(response, request)
        with self.lock:
            self.tokens_used += (completion.prompt_tokens or 0) + (completion.completion_tokens or 0)
        if isinstance(served_model := response.get("model"), str):
            self.revisions[self.name] = served_model
        return completion

    def _raise_if_fatal(self, error: APIError) -> None:
        """Raise an `InputError` if no request of this job can succeed."""
        code = error.status_code if isinstance(error, APIStatusError) else None
        where, url = f"models.{self.name}", self.settings["base_url"]
        if code in (401, 403):
            fix = f"check the environment variable {self.settings['api_key_env']}"
            raise InputError(f"{where}: {url} rejects the key ({code}); {fix}") from None
        if code == 404:
            model = self.settings["model"]
            raise InputError(f"{where}.model: {url} does not serve {model!r} (404); check the model and base_url") from None

    def _describe(self, error: Exception) -> str:
        """Describe a failure in one line, without the key, which a server may quote."""
        match error:
            case APITimeoutError():
                text = f"no response in {self.settings['timeout']:g} seconds"
            case APIConnectionError():
                text = f"no connection: {error.__cause__ or error}"
            case _:
                text = str(error)
        text = " ".join(text.split())
        return (text.replace(self.key, "[key]") if self.key else text)[:MAX_REASON_LENGTH]


class MalformedResponseError(ValueError):
    """A response that violates the protocol; a retry may help."""


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
