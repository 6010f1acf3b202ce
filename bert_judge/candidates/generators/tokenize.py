"""Requests in tokens, for every model that runs here: what can be asked, and what cannot and why."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bert_judge.candidates.generators.chat import FAILURES, PromptEncoder
from bert_judge.candidates.generators.protocol import Completion, Request, failed

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Prompt:
    """A request in tokens.

    Attributes:
        place: where its answer stands in the list.
        opened: it ends inside a reasoning block.
        budget: tokens that its answer may get.
        options: the choices that it must be answered with, in tokens.
    """

    place: int
    request: Request
    ids: list[int]
    opened: bool
    budget: int
    options: tuple[list[int], ...] = ()

    @property
    def kind(self) -> tuple[bool, int]:
        """What all prompts of a batch have in common."""
        return bool(self.options), self.budget


class UnaskableError(Exception):
    """Why a request never reaches the model; `tokens` when its prompt could be counted."""

    def __init__(self, reason: str, tokens: int | None = None) -> None:
        super().__init__(reason)
        self.tokens = tokens


def encode_all(
    name: str, encoder: PromptEncoder, settings: Mapping[str, Any], window: int | None, requests: Sequence[Request]
) -> tuple[list[Prompt], dict[int, Completion]]:
    """The requests that can be asked, and for the places of the others their answer: an error.

    Args:
        name: the model's name in the configuration, for the log.
        settings: uses `max_new_tokens` and `reasoning_end`.
        window: longest sequence of the model, in tokens.
    """
    prompts: list[Prompt] = []
    unaskable: dict[int, Completion] = {}
    for place, request in enumerate(requests):
        try:
            prompts.append(_encode(encoder, settings, window, place, request))
        except UnaskableError as reason:
            if not unaskable:
                log.warning("%s: %s cannot be asked: %s", name, request.sample_id, reason)
            unaskable[place] = failed(reason, reason.tokens)
    if unaskable:
        log.warning("%s: %d of %d prompts cannot be asked; their status is error", name, len(unaskable), len(requests))
    return prompts, unaskable


def _encode(encoder: PromptEncoder, settings: Mapping[str, Any], window: int | None, place: int, request: Request) -> Prompt:
    try:
        ids, opened = encoder.encode(request.prompt)
    except FAILURES as error:
        raise UnaskableError(f"{type(error).__name__}: {error}") from error
    if not ids:
        raise UnaskableError("the prompt is empty", 0)
    options: tuple[list[int], ...] = ()
    least, longest = 1, settings["max_new_tokens"]
    if request.choices:
        # The verdict comes without thinking.
        ids = ids + (encoder.tokens(f"{settings['reasoning_end']}\n\n") if opened else [])
        opened, options = False, tuple(encoder.tokens(choice) for choice in request.choices)
        least = longest = max(map(len, options))
    budget = longest if window is None else min(longest, window - len(ids))
    if budget < least:
        # How many they are stands in a column of its own; equal reasons can be counted.
        raise UnaskableError(f"the prompt leaves no room for an answer in the model's window of {window} tokens", len(ids))
    return Prompt(place, request, ids, opened, budget, options)
