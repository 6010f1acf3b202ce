"""Generation by a server that speaks OpenAI's protocol: a vendor's, or your own vLLM server.

The openai client retries temporary failures (408, 409, 429, 5xx, timeouts, lost connections) with exponential backoff; malformed
responses are retried here. When retries are exhausted, the row has status `error` and a reason, and the next run asks again.
Failures that affect every row, such as a rejected key or an unknown model, end the job at once. The key comes from the
environment and is written nowhere: server messages are redacted before they are logged.

Before the first request with choices, a server whose restriction of replies is not configured is probed; see `server_features`.
"""

import json
import logging
import math
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError, DefaultHttpxClient, OpenAI

from bert_judge.candidates.generators.chat_responses import MalformedResponseError, parse_response
from bert_judge.candidates.generators.model_names import is_alias, short_model_name
from bert_judge.candidates.generators.protocol import (
    MAX_REASON_LENGTH,
    Completion,
    Request,
    error_completion,
    estimate_tokens,
)
from bert_judge.candidates.generators.server_features import (
    AUTO,
    CONSTRAINTS,
    PROBE,
    PROBE_TOKENS,
    UNCONSTRAINED,
    ServerFeatures,
    constrain,
)
from bert_judge.runtime.errors import InputError, suggest
from bert_judge.runtime.logs import ProgressLogger, count_causes, log_once

log = logging.getLogger(__name__)

OFFICIAL_URL = "https://api.openai.com"
# Besides 5xx, status codes that are retried.
TEMPORARY = frozenset({408, 409, 429})
# The most that servers accept.
TOP_LOGPROBS = 20
# Status codes of a server without a list of its models.
NO_LIST = frozenset({400, 404, 405, 501})


class OpenAIGenerator:
    """Sends many requests to a server at once, at most `requests_per_minute`.

    If as many consecutive rows fail as there are connections, the others are not sent; each call of `generate` tries again.

    Raises:
        InputError: see `read_key`.
    """

    # Path of the endpoint, relative to `base_url`.
    path = "/chat/completions"

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self.name, self.settings = name, settings
        self.revisions: dict[str, str] = {}
        self.key = read_key(settings["base_url"], settings["api_key_env"], f"models.{name}.api_key_env")
        self.client = OpenAI(
            # The client rejects an empty key; a server without authentication ignores it.
            api_key=self.key or "none",
            base_url=settings["base_url"],
            timeout=settings["timeout"],
            max_retries=settings["retries"],
            # Retries count as requests too.
            http_client=DefaultHttpxClient(event_hooks={"request": [self._wait_for_turn]}),
        )
        self.tokens_used, self.cost, self.next_start, self.lock = 0.0, 0.0, 0.0, threading.Lock()
        # Called with every completion as it arrives, in the thread of its request.
        self.on_completion: Callable[[Request, Completion], None] = lambda request, completion: None
        configured = settings["structured_output"]
        self.features = None if configured == AUTO else ServerFeatures(configured, has_logprobs=settings["logprobs"])
        # Consecutive rows that a server left unanswered, and their number from which it counts as down.
        self.failures, self.max_failures = 0, max(4, settings["concurrency"])
        self.stopped = False
        # Whether requests for restricted replies, which end by themselves, name a limit of tokens.
        self.limits_choices = True

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Return one completion per request, in order; an unanswered request has status `error`.

        Raises:
            InputError: the server rejects the key, or does not know the model.
        """
        if any(request.choices for request in requests):
            self.check_features()
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
        if budget := self._spent_budget():
            key = "budget_cost (--max-cost)" if budget[1] == "cost" else "budget_tokens"
            log.warning("%s: the budget of %s is spent; raise %s for the rest", self.name, budget[0], key)
        for reason, count in count_causes(str(completion.reason) for completion in completions if completion.status == "error"):
            log.info("%s: %d of %d requests failed: %s", self.name, count, len(completions), reason)
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
                self.on_completion(request, completion)
                return completion
        else:
            self._count_failure(is_up=False)
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

    def _spent_budget(self) -> tuple[str, str] | None:
        """Return the budget that is spent and the name of its unit; None if there is none."""
        tokens, cost = self.settings["budget_tokens"], self.settings["budget_cost"]
        if self.tokens_used >= (tokens or math.inf):
            return f"{tokens} tokens", "tokens"
        return (f"{cost:g}", "cost") if self.cost >= (cost or math.inf) else None

    def _skip_reason(self) -> str | None:
        if budget := self._spent_budget():
            return f"not sent: the budget of {budget[0]} is spent"
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
        if request.choices and self.features:
            body |= constrain(self.features.constraint, request.choices)
            body |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS} if settings["logprobs"] else {}
            if not self.limits_choices:
                body.pop(settings["max_tokens_field"])
        body |= settings["extra"]
        return self.features.adapt(body) if self.features else body

    def _parse_response(self, response: Any, request: Request) -> Completion:
        return parse_response(response, self.settings["reasoning_end"], request.choices)

    def _send(self, request: Request) -> Completion:
        try:
            completion = self._post(self._request_body(request), request)
        except APIStatusError as error:
            if not self._rejects_limit(error, request):
                raise
            self.limits_choices = False
            completion = self._post(self._request_body(request), request)
        # A server that does not report tokens must not spend more than the budget.
        written = (completion.reasoning or "") + completion.text
        prompt_tokens = estimate_tokens(request.prompt) if completion.prompt_tokens is None else completion.prompt_tokens
        completion_tokens = estimate_tokens(written) if completion.completion_tokens is None else completion.completion_tokens
        price = self.settings["price"] or {"prompt": 0.0, "completion": 0.0}
        with self.lock:
            self.tokens_used += prompt_tokens + completion_tokens
            self.cost += (prompt_tokens * price["prompt"] + completion_tokens * price["completion"]) / 1e6
        return completion

    def _rejects_limit(self, error: APIStatusError, request: Request) -> bool:
        """Return whether a request for a restricted reply failed because of its limit of tokens.

        vLLM 0.32 rejects a limit that is greater than the context, or than what the prompt leaves of it.
        """
        is_restricted = request.choices and self.features and self.features.constraint != UNCONSTRAINED
        names = (self.settings["max_tokens_field"], "max_tokens")
        return bool(is_restricted) and error.status_code == 400 and any(name in str(error) for name in names)

    def _post(self, body: Mapping[str, Any], request: Request) -> Completion:
        # As text: the client builds a response object from any JSON.
        text = self.client.post(self.path, body=body, cast_to=str)
        try:
            response = json.loads(text)
        except ValueError as error:
            raise MalformedResponseError("the response is not JSON") from error
        completion = self._parse_response(response, request)
        if not isinstance(served := response.get("model"), str):
            return completion
        self.revisions[self.name] = served
        if not is_alias(name := self.settings["model"], served):
            where = f"{self.name}: {self.settings['base_url']}"
            log_once(log, f"{where} was asked for the model {name!r} and replies as {served!r}; check which one it runs")
        return replace(completion, model=served)

    def check_features(self) -> ServerFeatures:
        """Return what the server supports; probe it if that is not known yet.

        Raises:
            InputError: it does not respond, rejects the key, or does not know the model.
        """
        if self.features is None:
            rejected: frozenset[str] = frozenset()
            for constraint in (*CONSTRAINTS, UNCONSTRAINED):
                self.features = ServerFeatures(constraint, rejected)
                completion = self._probe()
                rejected = self.features.rejected
                if completion is not None and completion.text in (PROBE.choices or ()):
                    self.features = replace(self.features, has_logprobs=completion.choice_probabilities is not None)
                    break
            assert self.features is not None
            log.info("%s at %s: %s", self.name, self.settings["base_url"], self.features.describe())
        return self.features

    def _probe(self) -> Completion | None:
        """Return the reply to the question of a probe; None if the server rejects it with the present restriction."""
        limit: dict[str, Any] = {self.settings["max_tokens_field"]: min(PROBE_TOKENS, self.settings["max_new_tokens"])}
        while True:
            assert self.features is not None
            body = self._request_body(PROBE)
            try:
                completion = self._post(body | self.features.adapt(limit), PROBE)
            except (APIError, MalformedResponseError) as error:
                if isinstance(error, APIError):
                    self._raise_if_fatal(error)
                is_refusal = isinstance(error, APIStatusError) and error.status_code in (400, 422)
                if is_refusal and (features := self.features.reject(str(error), body)) is not None:
                    self.features = features
                elif is_refusal and self.features.constraint != UNCONSTRAINED:
                    return None
                else:
                    where = f"models.{self.name}: {self.settings['base_url']}"
                    raise InputError(f"{where}: {self._describe(error)}; {advise(error, 'base_url')}") from None
            else:
                if not limit or completion.status != "truncated" or completion.text or not completion.reasoning:
                    return completion
                limit = {}

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


def advise(error: Exception, address: str) -> str:
    """Say what to do about a server that did not reply to a first request; `address`: what the user calls its address.

    The client waits for up to the two minutes that Retry-After asks for, and does not retry after a longer time (openai 3.54).
    """
    if not isinstance(error, APIStatusError) or (error.status_code < 500 and error.status_code not in (402, 429)):
        return f"check {address} and the server"
    if error.status_code == 402 or error.code == "insufficient_quota":
        return "the quota of the key is spent: check plan and billing"
    if error.status_code == 429:
        header = error.response.headers.get("retry-after", "")
        wait = f"in {header} seconds" if header.isdigit() else f"after {header}" if header else "later"
        return f"the server limits the rate of requests: repeat the call {wait}, or set requests_per_minute in a configuration"
    return "the server has failed: see its log, and repeat the call when it responds"


def read_key(base_url: str, api_key_env: str, where: str = "") -> str:
    """Return the key of a server from the environment; empty for a server that may need none.

    Args:
        where: begins a message; by default the address.

    Raises:
        InputError: OpenAI's server needs one, or it cannot be part of a request.
    """
    key = os.environ.get(api_key_env, "").strip()
    if not key and base_url.startswith(OFFICIAL_URL):
        raise InputError(f"{where or base_url}: the environment variable {api_key_env} is not set; set it to the key")
    # The client's own message would quote the key.
    if not (key.isascii() and key.isprintable()):
        raise InputError(
            f"{where or base_url}: the environment variable {api_key_env} has characters that no key has; set it to the key"
        )
    return key


def list_models(base_url: str, api_key_env: str, timeout: float = 20.0) -> list[str] | None:
    """Return the names of the models of a server; None if it has no list of them.

    Raises:
        InputError: it does not respond, or rejects the key; see also `read_key`.
    """
    key = read_key(base_url, api_key_env)
    client = OpenAI(api_key=key or "none", base_url=base_url, timeout=timeout, max_retries=2)
    try:
        text = client.get("/models", cast_to=str)
        return [model["id"] for model in json.loads(text)["data"]]
    except APIStatusError as error:
        if error.status_code in (401, 403):
            fix = f"check the environment variable {api_key_env}"
            raise InputError(f"{base_url}: rejects the key ({error.status_code}); {fix}") from None
        if error.status_code in NO_LIST:
            return None
        raise InputError(f"{base_url}: responds with status {error.status_code}; {advise(error, 'the address')}") from None
    except (APIConnectionError, APITimeoutError) as error:
        raise InputError(f"{base_url}: no connection: {error.__cause__ or error}; check the address, and that it runs") from None
    except (ValueError, LookupError, TypeError):
        return None


def find_model(base_url: str, api_key_env: str, name: str) -> str:
    """Return the full name of a model on a server; without a name, of its only model.

    Raises:
        InputError: the server does not have it, or has several; see also `list_models`.
    """
    models = list_models(base_url, api_key_env)
    if models is None:
        if name:
            return name
        raise InputError(f"{base_url}: has no list of models; check the address, which often ends in /v1, or add #NAME")
    if not models:
        raise InputError(f"{base_url}: has no model; load one on the server")
    if not name and len(models) != 1:
        raise InputError(f"{base_url}: has {len(models)} models; add #NAME: {', '.join(models[:10])}")
    # llama.cpp calls a model by the path of its file, and answers whatever the name in a request is.
    matches = [model for model in models if not name or name in (model, short_model_name(model))]
    if not matches:
        raise InputError(f"{base_url}: does not serve {name!r}; {suggest(name, models)}")
    return matches[0]
