"""Answers generated in this process with transformers.

Greedy answers in float32 do not depend on which rows share a batch; in bfloat16 a padded batch rounds differently, and a near tie
between two tokens may fall the other way. Sampled answers draw from a stream of their own per row (`sampling.py`), so the same
holds for them. Published sampling settings of a model (penalties included) are ignored: what counts is the configuration.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import LogitsProcessorList

from bert_judge.generators import hf_model
from bert_judge.generators.chat import FAILURES, PromptEncoder
from bert_judge.generators.protocol import Completion, Request
from bert_judge.generators.reasoning import split, start_marker
from bert_judge.generators.sampling import RowSampling
from bert_judge.generators.seeds import row_seed
from bert_judge.prepare import Manifest

log = logging.getLogger(__name__)

# Tokens of a batch, prompts and longest possible answers together; the cache of an 8B model takes about 8 GB for as many.
CUDA_BATCH_TOKENS = 65_536
CPU_BATCH_TOKENS = 32_768
BATCH_ROWS = 256
PROGRESS_SECONDS = 30.0


@dataclass(frozen=True)
class _Prompt:
    """A request in tokens: its place in the answer list, whether reasoning is open, and how many tokens it may get."""

    place: int
    request: Request
    ids: list[int]
    opened: bool
    budget: int


class _UnaskableError(Exception):
    """Why a request never reaches the model; `tokens` when its prompt could be counted."""

    def __init__(self, reason: str, tokens: int | None = None) -> None:
        super().__init__(reason)
        self.tokens = tokens


class HFGenerator:
    """Holds one model and answers requests in batches of similar length.

    Args:
        name: the model's name in the configuration.
        settings: the values of `config.HFModel`.
        manifest: where the model lies.
        batch_tokens: size of a batch in tokens; halved for good whenever memory runs out.

    Raises:
        InputError: the model cannot be loaded, or a setting does not fit it.
    """

    def __init__(self, name: str, settings: Mapping[str, Any], manifest: Manifest, batch_tokens: int | None = None) -> None:
        self.revisions = {name: manifest.revision}
        self.name, self.settings = name, settings
        self.loaded = hf_model.load(name, settings, manifest.path)
        tokenizer = self.loaded.tokenizer
        self.reasoning_end: str = settings["reasoning_end"]
        self.encoder = PromptEncoder(name, tokenizer, settings["system"], settings["thinking"], self.reasoning_end)
        self.hidden = _hidden_tokens(tokenizer, self.reasoning_end)
        self.batch_tokens = batch_tokens or (CUDA_BATCH_TOKENS if torch.cuda.is_available() else CPU_BATCH_TOKENS)

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """One completion per request, in their order; a prompt that fails or does not fit has status `error`."""
        answers: dict[int, Completion] = {}
        prompts: list[_Prompt] = []
        for place, request in enumerate(requests):
            try:
                prompts.append(self._encode(place, request))
            except _UnaskableError as reason:
                if not answers:
                    log.warning("%s: %s cannot be asked: %s", self.name, request.sample_id, reason)
                answers[place] = Completion("", "error", prompt_tokens=reason.tokens)
        if answers:
            log.warning("%s: %d of %d prompts cannot be asked; their status is error", self.name, len(answers), len(requests))
        # Longest first: what does not fit into memory shows at once. Equal budgets side by side, since a batch has one.
        prompts.sort(key=lambda prompt: (prompt.budget, len(prompt.ids)), reverse=True)
        said = time.monotonic()
        while prompts:
            size = self._batch_size(prompts)
            batch, prompts = prompts[:size], prompts[size:]
            answers |= {prompt.place: answer for prompt, answer in zip(batch, self._answer(batch), strict=True)}
            if time.monotonic() - said > PROGRESS_SECONDS:
                said = time.monotonic()
                log.info("%s: %d/%d answers of this shard", self.name, len(answers), len(requests))
        return [answers[place] for place in range(len(requests))]

    def _encode(self, place: int, request: Request) -> _Prompt:
        try:
            ids, opened = self.encoder.encode(request.prompt)
        except FAILURES as error:
            raise _UnaskableError(f"{type(error).__name__}: {error}") from error
        if not ids:
            raise _UnaskableError("the prompt is empty", 0)
        window, longest = self.loaded.window, self.settings["max_new_tokens"]
        budget = longest if window is None else min(longest, window - len(ids))
        if budget < 1:
            raise _UnaskableError(f"its {len(ids)} tokens leave no room for an answer in the model's window of {window}", len(ids))
        return _Prompt(place, request, ids, opened, budget)

    def _batch_size(self, prompts: list[_Prompt]) -> int:
        """How many of the sorted prompts go into the next batch."""
        first = prompts[0]
        most = max(1, min(BATCH_ROWS, self.batch_tokens // (len(first.ids) + first.budget)))
        return sum(1 for prompt in prompts[:most] if prompt.budget == first.budget)

    def _answer(self, batch: list[_Prompt]) -> list[Completion]:
        """Run a batch; when it fails, run its halves, down to the one row that is at fault."""
        try:
            return self._run(batch)
        except torch.AcceleratorError:
            # The device is in an undefined state: nothing that follows could be trusted.
            raise
        except (RuntimeError, ValueError, IndexError) as error:
            failure = error.with_traceback(None)
        memory = isinstance(failure, torch.OutOfMemoryError)
        if memory and torch.cuda.is_available():
            torch.cuda.empty_cache()
        if len(batch) == 1:
            prompt = batch[0]
            log.warning("%s: %s: %s: %s", self.name, prompt.request.sample_id, type(failure).__name__, failure)
            return [Completion("", "error", prompt_tokens=len(prompt.ids))]
        if memory:
            self.batch_tokens = len(batch) * (len(batch[0].ids) + batch[0].budget) // 2
            log.warning("%s: out of memory with %d rows; batches are halved", self.name, len(batch))
        half = len(batch) // 2
        return self._answer(batch[:half]) + self._answer(batch[half:])

    @torch.inference_mode()
    def _run(self, batch: list[_Prompt]) -> list[Completion]:
        width, model = max(len(prompt.ids) for prompt in batch), self.loaded.model
        # Left padding: every row's answer starts at the same place. `generate` counts positions along the mask.
        ids = torch.full((len(batch), width), self.loaded.pad)
        mask = torch.zeros_like(ids)
        for row, prompt in enumerate(batch):
            ids[row, width - len(prompt.ids) :] = torch.tensor(prompt.ids)
            mask[row, width - len(prompt.ids) :] = 1
        output = model.generate(
            input_ids=ids.to(model.device),
            attention_mask=mask.to(model.device),
            max_new_tokens=batch[0].budget,
            logits_processor=self._sampling(batch, width),
        )
        return [self._completion(prompt, row) for prompt, row in zip(batch, output[:, width:].tolist(), strict=True)]

    def _sampling(self, batch: list[_Prompt], width: int) -> LogitsProcessorList:
        temperature = self.settings["temperature"]
        if temperature == 0:
            return LogitsProcessorList()
        seeds = [row_seed(self.settings["seed"], p.request.prompt, p.request.attempt) for p in batch]
        return LogitsProcessorList([RowSampling(seeds, batch[0].budget, width, temperature, self.settings["top_p"])])

    def _completion(self, prompt: _Prompt, row: list[int]) -> Completion:
        """What a row of generated ids says; after an end token there is only padding."""
        end = next((place for place, token in enumerate(row) if token in self.loaded.ends), None)
        said = [token for token in row[:end] if token not in self.hidden]
        text = self.loaded.tokenizer.decode(said, clean_up_tokenization_spaces=False)
        parts = split(text, self.reasoning_end, prompt.opened)
        status = "ok" if parts.answer else "empty"
        if end is None or not parts.finished:
            status = "truncated"
        count = len(row) if end is None else end + 1
        return Completion(parts.answer, status, parts.reasoning, len(prompt.ids), count)


def _hidden_tokens(tokenizer: Any, reasoning_end: str) -> frozenset[int]:
    """Special tokens, which are no text; those that make up a reasoning marker stay, because the text is split there."""
    markers = (reasoning_end, start_marker(reasoning_end) or "")
    special = {*tokenizer.all_special_ids, *(n for n, token in tokenizer.added_tokens_decoder.items() if token.special)}
    return frozenset(n for n in special if not any(tokenizer.convert_ids_to_tokens(n) in marker for marker in markers))
