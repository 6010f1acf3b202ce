"""Answers of a server that speaks OpenAI's protocol: a vendor's, or a vLLM server of your own.

Failures that may pass (429, 5xx, time-outs, broken answers) are repeated with growing waits; after the last one the row has status
`error` and says why, and the next run asks again. What will fail for every row, a wrong key or an unknown model, ends the job at
once. The key comes from the environment, goes into the client, and is written nowhere: what a server says is searched for it before
it is logged.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from openai import APIConnectionError, APIError, APIStatusError, APITimeoutError, OpenAI

from bert_judge.candidates.generators import openai_format
from bert_judge.candidates.generators.openai_format import MalformedError
from bert_judge.candidates.generators.protocol import REASON_LENGTH, Completion, Request, failed
from bert_judge.candidates.generators.retry import Budget, Outage, Pace, waiting_time
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

# Besides 5xx: time-out, conflict, too early, too many requests.
PASSING = frozenset({408, 409, 425, 429})
OFFICIAL = "https://api.openai.com"
PROGRESS_SECONDS = 30.0


class OpenAIGenerator:
    """Asks a server, many requests at once.

    Args:
        name: the model's name in the configuration.
        settings: the values of `config.OpenAIModel`.

    Raises:
        InputError: the environment variable with the key is not set although the server wants one.
    """

    def __init__(self, name: str, settings: Mapping[str, Any]) -> None:
        self.name, self.settings = name, settings
        self.revisions: dict[str, str] = {}
        self.key = os.environ.get(settings["api_key_env"], "").strip()
        if not self.key and settings["base_url"].startswith(OFFICIAL):
            raise InputError(f"models.{name}.api_key_env: the environment variable {settings['api_key_env']} is not set; set it")
        # The retries are ours: the client's know no outage and no budget. It refuses an empty key, which no server needs.
        self.client = OpenAI(api_key=self.key or "none", base_url=settings["base_url"], timeout=settings["timeout"], max_retries=0)
        self.pace = Pace(settings["requests_per_minute"])
        self.budget = Budget(settings["budget_tokens"])
        self.outage = Outage(max(4, settings["concurrency"]))
        self.stop = threading.Event()

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """One completion per request, in their order; what the server did not answer has status `error`.

        Raises:
            InputError: the server refuses the key, or does not know the model.
        """
        answers: list[Completion] = []
        said = time.monotonic()
        with ThreadPoolExecutor(self.settings["concurrency"]) as pool:
            try:
                for answer in pool.map(self._answer, requests):
                    answers.append(answer)
                    if time.monotonic() - said > PROGRESS_SECONDS:
                        said = time.monotonic()
                        log.info("%s: %d/%d answers of this shard", self.name, len(answers), len(requests))
            except BaseException:
                # Waiting threads must not hold up the end of the job.
                self.stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        self._tell(answers)
        return answers

    def _tell(self, answers: Sequence[Completion]) -> None:
        lost = sum(answer.status == "error" for answer in answers)
        if self.budget.is_spent:
            log.warning("%s: the budget of %d tokens is spent; raise budget_tokens for the rest", self.name, self.budget.limit)
        if lost:
            log.warning("%s: %d of %d requests failed; their status is error", self.name, lost, len(answers))

    def _answer(self, request: Request) -> Completion:
        """The answer to one request, after as many tries as the settings allow."""
        reason = ""
        for tries in range(self.settings["retries"] + 1):
            if spared := self._spared():
                return failed(spared)
            self.pace.wait()
            try:
                found = self._ask(request)
            except (APIError, MalformedError) as error:
                reason = self._plain(error)
                if not self._passes(error):
                    # The server is there; it is this request that it refuses.
                    self.outage.note(answered=True)
                    break
                log.debug("%s: try %d: %s", self.name, tries + 1, reason)
                if tries < self.settings["retries"] and not self.outage.lasts:
                    self.stop.wait(waiting_time(tries, _retry_after(error)))
                continue
            self.outage.note(answered=True)
            return found
        else:
            self.outage.note(answered=False)
        log.warning("%s: %s: %s", self.name, request.sample_id, reason)
        return failed(reason)

    def _spared(self) -> str | None:
        """Why a request is not sent; None: it is."""
        if self.budget.is_spent:
            return f"not asked: the budget of {self.budget.limit} tokens is spent"
        if self.outage.spares():
            return "not asked: the server had answered nobody for a while"
        return "not asked: the job ended" if self.stop.is_set() else None

    def _ask(self, request: Request) -> Completion:
        call = openai_format.body(self.settings, request)
        named = {key: call.pop(key) for key in ("model", "messages")}
        # The raw text: the client makes an answer object of anything that is JSON.
        raw = self.client.chat.completions.with_raw_response.create(**named, extra_body=call)
        try:
            answer = json.loads(raw.text)
        except ValueError as error:
            raise MalformedError("an answer that is not JSON") from error
        found = openai_format.completion(answer, self.settings["reasoning_end"], request.choices)
        self.budget.spend((found.prompt_tokens or 0) + (found.completion_tokens or 0))
        if isinstance(served := answer.get("model"), str):
            self.revisions[self.name] = served
        return found

    def _passes(self, error: Exception) -> bool:
        """Whether asking again may help.

        Raises:
            InputError: no request of this job can succeed.
        """
        if not isinstance(error, APIStatusError):
            return True
        where, code = f"models.{self.name}", error.status_code
        if code in (401, 403):
            cure = f"mend the environment variable {self.settings['api_key_env']}"
            raise InputError(f"{where}: {self.settings['base_url']} refuses the key ({code}); {cure}") from None
        if code == 404:
            served = self.settings["model"]
            raise InputError(f"{where}.model: {self.settings['base_url']} knows no {served!r} (404); mend it or base_url") from None
        return code >= 500 or code in PASSING

    def _plain(self, error: Exception) -> str:
        """A failure in one line, without the key, which a server may quote."""
        match error:
            case APITimeoutError():
                text = f"no answer in {self.settings['timeout']:g} seconds"
            case APIConnectionError():
                text = f"no connection: {error.__cause__ or error}"
            case _:
                text = str(error)
        text = " ".join(text.split())
        return (text.replace(self.key, "[key]") if self.key else text)[:REASON_LENGTH]


def _retry_after(error: Exception) -> str | None:
    return error.response.headers.get("retry-after") if isinstance(error, APIStatusError) else None
