"""Answers generated in this process with transformers.

Greedy answers in float32 do not depend on which rows share a batch; in bfloat16 a padded batch rounds differently, and a near tie
between two tokens may fall the other way. Sampled answers draw from a stream of their own per row (`sampling.py`), so the same
holds for them. Published sampling settings of a model (penalties included) are ignored: what counts is the configuration.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from transformers import LogitsProcessorList, StoppingCriteria, StoppingCriteriaList

from bert_judge.assets.prepare import Manifest
from bert_judge.candidates.generators import hf_model
from bert_judge.candidates.generators.chat import PromptEncoder
from bert_judge.candidates.generators.decoding import AnswerDecoder
from bert_judge.candidates.generators.hf_choices import probabilities
from bert_judge.candidates.generators.protocol import Completion, Request, failed
from bert_judge.candidates.generators.sampling import RowSampling
from bert_judge.candidates.generators.seeds import row_seed
from bert_judge.candidates.generators.tokenize import Prompt, encode_all
from bert_judge.runtime import sigterm

log = logging.getLogger(__name__)

# Tokens of a batch, prompts and longest possible answers together; the cache of an 8B model takes about 8 GB for as many.
CUDA_BATCH_TOKENS = 65_536
CPU_BATCH_TOKENS = 32_768
BATCH_ROWS = 256
PROGRESS_SECONDS = 30.0


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
        self.encoder = PromptEncoder(name, tokenizer, settings["system"], settings["thinking"], settings["reasoning_end"])
        self.decoder = AnswerDecoder(tokenizer, settings["reasoning_end"])
        self.batch_tokens = batch_tokens or (CUDA_BATCH_TOKENS if torch.cuda.is_available() else CPU_BATCH_TOKENS)

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """One completion per request, in their order; a prompt that fails or does not fit has status `error`.

        Raises:
            sigterm.Stopped: SIGTERM came; with the answers of the batches before.
        """
        prompts, answers = encode_all(self.name, self.encoder, self.settings, self.loaded.window, requests)
        # Longest first: what does not fit into memory shows at once. Equal budgets side by side, since a batch has one.
        prompts.sort(key=lambda prompt: (prompt.kind, len(prompt.ids)), reverse=True)
        said = time.monotonic()
        while prompts:
            size = self._batch_size(prompts)
            batch, prompts = prompts[:size], prompts[size:]
            try:
                answers |= {prompt.place: answer for prompt, answer in zip(batch, self._answer(batch), strict=True)}
            except sigterm.Stopped:
                raise sigterm.Stopped(answers) from None
            if time.monotonic() - said > PROGRESS_SECONDS:
                said = time.monotonic()
                log.info("%s: %d/%d answers of this shard", self.name, len(answers), len(requests))
        return [answers[place] for place in range(len(requests))]

    def _batch_size(self, prompts: list[Prompt]) -> int:
        """How many of the sorted prompts go into the next batch."""
        first = prompts[0]
        rows = min(BATCH_ROWS, self.batch_tokens // (len(first.ids) + first.budget)) // max(1, len(first.options))
        return sum(1 for prompt in prompts[: max(1, rows)] if prompt.kind == first.kind)

    def _answer(self, batch: list[Prompt]) -> list[Completion]:
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
            reason = f"{type(failure).__name__}: {failure}"
            log.warning("%s: %s: %s", self.name, prompt.request.sample_id, reason)
            return [failed(reason, len(prompt.ids))]
        if memory:
            rows = len(batch) * max(1, len(batch[0].options))
            self.batch_tokens = rows * (len(batch[0].ids) + batch[0].budget) // 2
            log.warning("%s: out of memory with %d rows; batches are halved", self.name, len(batch))
        half = len(batch) // 2
        return self._answer(batch[:half]) + self._answer(batch[half:])

    @torch.inference_mode()
    def _run(self, batch: list[Prompt]) -> list[Completion]:
        if batch[0].options:
            return self._chosen(batch)
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
            stopping_criteria=StoppingCriteriaList([_AskedToStop()]),
        )
        if sigterm.stop_requested():
            # Its answers are cut off wherever they were.
            raise sigterm.Stopped({})
        return [self._completion(prompt, row) for prompt, row in zip(batch, output[:, width:].tolist(), strict=True)]

    def _chosen(self, batch: list[Prompt]) -> list[Completion]:
        """The likeliest choice of each prompt."""
        choices = [prompt.request.choices or () for prompt in batch]
        found = probabilities(self.loaded, [prompt.ids for prompt in batch], choices, [prompt.options for prompt in batch])
        answers = []
        for prompt, some, likely in zip(batch, choices, found, strict=True):
            best = max(some, key=likely.__getitem__)
            tokens = len(prompt.options[some.index(best)])
            answers.append(Completion(best, "ok", None, len(prompt.ids), tokens, likely))
        return answers

    def _sampling(self, batch: list[Prompt], width: int) -> LogitsProcessorList:
        temperature = self.settings["temperature"]
        if temperature == 0:
            return LogitsProcessorList()
        seeds = [row_seed(self.settings["seed"], p.request.prompt, p.request.attempt) for p in batch]
        return LogitsProcessorList([RowSampling(seeds, batch[0].budget, width, temperature, self.settings["top_p"])])

    def _completion(self, prompt: Prompt, row: list[int]) -> Completion:
        """What a row of generated ids says; after an end token there is only padding."""
        end = next((place for place, token in enumerate(row) if token in self.loaded.ends), None)
        count = len(row) if end is None else end + 1
        return self.decoder.completion(row[:end], prompt.opened, end is not None, (len(prompt.ids), count))


class _AskedToStop(StoppingCriteria):
    """Ends a batch in the middle: a long one takes longer than a scheduler waits after SIGTERM."""

    def __call__(self, input_ids: torch.LongTensor, scores: tuple[torch.Tensor] | None, **_: Any) -> torch.BoolTensor:
        return cast(torch.BoolTensor, torch.full((len(input_ids),), sigterm.stop_requested(), device=input_ids.device))
