"""Generation in this process with transformers.

Greedy answers in float32 do not depend on which rows share a batch; in bfloat16 a padded batch rounds differently, and a near tie
between two tokens may be broken the other way. Sampled answers draw from one random stream per row, so the same holds for them.
Published sampling settings of a model (penalties included) are ignored: only the configuration counts.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from safetensors import SafetensorError
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    DynamicCache,
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    StoppingCriteria,
    StoppingCriteriaList,
)
from transformers.utils.logging import disable_progress_bar

from bert_judge.assets.prepare import Manifest
from bert_judge.candidates.generators.protocol import Completion, Request, error_completion, normalize
from bert_judge.candidates.generators.tokenization import CompletionDecoder, EncodedPrompt, PromptEncoder
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.hardware import best_device, best_dtype
from bert_judge.runtime.logs import ProgressLogger

log = logging.getLogger(__name__)
# Tokens per batch, prompts and longest possible answers together; the KV cache of an 8B model takes about 8 GB for the first.
CUDA_BATCH_TOKENS = 65_536
CPU_BATCH_TOKENS = 32_768
BATCH_ROWS = 256
# Share of finished rows at which a batch goes on without them.
ENDED_SHARE = 0.25


@dataclass(frozen=True)
class LoadedModel:
    """A model ready to generate.

    Attributes:
        max_length: longest sequence in tokens; None if the model does not declare it.
        pad_id: id that pads shorter rows of a batch; it is masked, so any id will do.
    """

    # Any: transformers' annotations lack the methods that are needed.
    model: Any
    tokenizer: Any
    max_length: int | None
    eos_ids: frozenset[int]
    pad_id: int


def load_model(name: str, settings: Mapping[str, Any], folder: Path, adapter: Path | None = None) -> LoadedModel:
    """Load a model onto the available accelerators, else onto the CPU.

    Args:
        adapter: folder of a PEFT adapter to merge into the weights, whose tokenizer replaces that of the model.

    Raises:
        InputError: the folder is not a complete causal language model known to transformers, or memory is too small.
    """
    disable_progress_bar()
    where = f"models.{name}: {folder}"
    common = {"trust_remote_code": settings["trust_remote_code"], "local_files_only": True}
    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(adapter or folder, **common)
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            folder,
            **common,
            dtype=resolve_dtype(settings["dtype"]),
            # Distributes a model that is larger than one accelerator over all of them.
            device_map="auto" if torch.cuda.is_available() else None,
            output_loading_info=True,
        )
    except torch.OutOfMemoryError as error:
        raise InputError(f"{where}: does not fit into the accelerator's memory; choose a smaller model or another dtype") from error
    except (OSError, ValueError, KeyError, ImportError, RuntimeError, SafetensorError) as error:
        reason = " ".join(str(error).split())[:300]
        raise InputError(f"{where}: cannot be loaded as a causal language model: {reason}; name another model") from error
    model, info = loaded
    if missing := sorted(info["missing_keys"]):
        # transformers would initialize them randomly.
        raise InputError(
            f"{where}: its weights lack {len(missing)} tensors of a causal language model, for example {missing[0]!r}; "
            "name a model with a language-model head"
        )
    devices = set(map(str, getattr(model, "hf_device_map", {}).values()))
    if torch.cuda.is_available() and devices & {"cpu", "disk"}:
        log.warning("models.%s: parts of the model do not fit onto the accelerator and are on %s; this is slow", name, devices)
    # Chat models often declare their end tokens in only one of the two places.
    declared = model.generation_config.eos_token_id if model.generation_config else None
    ids = [*(declared if isinstance(declared, list) else [declared]), tokenizer.eos_token_id]
    eos_ids = frozenset(number for number in ids if number is not None)
    if not eos_ids:
        log.warning("%s declares no end token; every answer will run to max_new_tokens", where)
    pad_id = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else min(eos_ids, default=0)
    # `generate` reads whatever it is not given from here, and the published sampling settings (temperature, penalties, …) must
    # not override the configured ones.
    model.generation_config = GenerationConfig(do_sample=False, eos_token_id=sorted(eos_ids) or None, pad_token_id=pad_id)
    max_length = getattr(model.config.get_text_config(), "max_position_embeddings", None)
    if adapter is not None:
        model = load_adapter(model, adapter)
    return LoadedModel(model.eval(), tokenizer, max_length, eos_ids, pad_id)


def merge_adapter(model: Any, dtype: torch.dtype) -> Any:
    """Merge an adapter, if there is one, in float32, so that small updates are not rounded away one by one; return the model."""
    # It takes seconds to import.
    from peft import PeftModel

    merged = model.float().merge_and_unload() if isinstance(model, PeftModel) else model
    merged.config.use_cache = True
    return merged.to(dtype).eval()


def load_adapter(model: Any, folder: Path) -> Any:
    """Merge the adapter of a folder into a model. Raises InputError: it belongs to another model, or is broken."""
    from peft import PeftModel

    try:
        return merge_adapter(PeftModel.from_pretrained(model, str(folder)), model.dtype)
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise InputError(f"{folder}: not an adapter of its base model: {' '.join(str(error).split())[:300]}") from error


def resolve_dtype(setting: str) -> torch.dtype:
    """Return the dtype of a setting; `auto` is bfloat16 if the hardware computes in it, else float16 (CUDA) or float32 (CPU)."""
    if setting != "auto":
        return getattr(torch, setting)
    device = best_device()
    dtype = getattr(torch, best_dtype(device))
    return torch.float16 if device == "cuda" and dtype == torch.float32 else dtype


class HFGenerator:
    """Generates in batches of similar length, of `batch_tokens` tokens, halved permanently whenever memory runs out.

    Raises:
        InputError: the model cannot be loaded, or a setting does not fit it.
    """

    def __init__(
        self,
        name: str,
        settings: Mapping[str, Any],
        manifest: Manifest,
        batch_tokens: int | None = None,
        *,
        adapter: Path | None = None,
    ) -> None:
        self.revisions = {name: manifest.revision}
        self.name, self.settings = name, settings
        self.loaded = load_model(name, settings, manifest.path, adapter)
        self.encoder = PromptEncoder(name, self.loaded.tokenizer, settings)
        self.decoder = CompletionDecoder(self.loaded.tokenizer, settings["reasoning_end"])
        # Rows cannot leave the cache of recurrent layers.
        self.can_drop_rows = self.loaded.model._supports_default_dynamic_cache() and all(
            hasattr(layer, "batch_select_indices") for layer in DynamicCache(config=self.loaded.model.config).layers
        )
        self.batch_tokens = batch_tokens or (CUDA_BATCH_TOKENS if torch.cuda.is_available() else CPU_BATCH_TOKENS)

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Return one completion per request, in order; an invalid prompt has status `error`.

        Raises:
            resume.Stopped: SIGTERM came; carries the completions of the finished batches.
        """
        prompts, completions = self.encoder.encode_requests(requests, self.settings["max_new_tokens"], self.loaded.max_length)
        # Longest first, so that memory runs out at once if it does. Equal limits are adjacent, since a batch has one.
        prompts.sort(key=lambda prompt: (prompt.batch_key, len(prompt.ids)), reverse=True)
        progress = ProgressLogger(f"answers of {self.name}")
        while prompts:
            size = self._batch_size(prompts)
            batch, prompts = prompts[:size], prompts[size:]
            try:
                completions |= zip((prompt.index for prompt in batch), self._run_or_split(batch), strict=True)
            except resume.Stopped:
                raise resume.Stopped(completions) from None
            progress.update(len(completions), fraction=len(completions) / len(requests))
        return [completions[index] for index in range(len(requests))]

    def _batch_size(self, prompts: list[EncodedPrompt]) -> int:
        first = prompts[0]
        rows = min(BATCH_ROWS, self.batch_tokens // (len(first.ids) + first.max_new_tokens)) // max(1, len(first.choice_ids))
        return sum(1 for prompt in prompts[: max(1, rows)] if prompt.batch_key == first.batch_key)

    def _run_or_split(self, batch: list[EncodedPrompt]) -> list[Completion]:
        """Run a batch; if it fails, run its halves, down to the single row at fault."""
        try:
            return self._run(batch)
        except torch.AcceleratorError:
            # The device is in an undefined state: no later result could be trusted.
            raise
        except (RuntimeError, ValueError, IndexError) as error:
            failure = error.with_traceback(None)
        out_of_memory = isinstance(failure, torch.OutOfMemoryError)
        if out_of_memory and torch.cuda.is_available():
            torch.cuda.empty_cache()
        first = batch[0]
        if len(batch) == 1:
            reason = f"{type(failure).__name__}: {failure}"
            log.warning("%s: %s: %s", self.name, first.request.sample_id, reason)
            return [error_completion(reason, len(first.ids))]
        if out_of_memory:
            rows = len(batch) * max(1, len(first.choice_ids))
            self.batch_tokens = rows * (len(first.ids) + first.max_new_tokens) // 2
            log.warning("%s: out of memory with %d rows; batches are halved", self.name, len(batch))
        half = len(batch) // 2
        return self._run_or_split(batch[:half]) + self._run_or_split(batch[half:])

    @torch.inference_mode()
    def _run(self, batch: list[EncodedPrompt]) -> list[Completion]:
        if batch[0].choice_ids:
            return _choose(self.loaded, batch)
        # `generate` derives positions from the mask.
        ids, mask = _left_pad([prompt.ids for prompt in batch], self.loaded)
        width = ids.shape[1]
        limit = width + batch[0].max_new_tokens
        completions: dict[int, Completion] = {}
        cache = None
        rows = list(range(len(batch)))
        while rows:
            criterion = _StopAtShare(self.loaded.eos_ids, ENDED_SHARE if self.can_drop_rows else 1.0)
            output = self.loaded.model.generate(
                input_ids=ids,
                attention_mask=mask,
                past_key_values=cache,
                max_new_tokens=limit - ids.shape[1],
                logits_processor=self._sampling([batch[row] for row in rows], width),
                stopping_criteria=StoppingCriteriaList([criterion]),
                return_dict_in_generate=True,
            )
            if resume.stop_requested():
                # Its answers are truncated at an arbitrary token.
                raise resume.Stopped({})
            unfinished = criterion.unfinished_rows() if output.sequences.shape[1] < limit else []
            for number in set(range(len(rows))).difference(unfinished):
                row = rows[number]
                completions[row] = self._completion(batch[row], output.sequences[number, width:].tolist())
            rows = [rows[number] for number in unfinished]
            if rows:
                positions = torch.tensor(unfinished)
                ids, cache = output.sequences[positions], output.past_key_values
                cache.batch_select_indices(positions)
                mask = torch.nn.functional.pad(mask[positions], (0, ids.shape[1] - mask.shape[1]), value=1)
        return [completions[row] for row in range(len(batch))]

    def _sampling(self, batch: list[EncodedPrompt], width: int) -> LogitsProcessorList:
        temperature, top_p = self.settings["temperature"], self.settings["top_p"]
        if temperature == 0:
            return LogitsProcessorList()
        seeds = [prompt.request.seed(self.settings["seed"]) for prompt in batch]
        return LogitsProcessorList([PerRowSampling(seeds, batch[0].max_new_tokens, width, temperature, top_p=top_p)])

    def _completion(self, prompt: EncodedPrompt, ids: list[int]) -> Completion:
        end = next((position for position, token in enumerate(ids) if token in self.loaded.eos_ids), None)
        count = len(ids) if end is None else end + 1
        return self.decoder.decode(
            ids[:end], in_reasoning=prompt.in_reasoning, finished=end is not None, token_counts=(len(prompt.ids), count)
        )


class _StopAtShare(StoppingCriteria):
    """Ends a batch once a share of its rows have ended, so that the rest goes on without them, and on SIGTERM.

    A finished row costs as much as any other until the longest has ended. A scheduler does not wait that long after SIGTERM.
    """

    def __init__(self, eos_ids: frozenset[int], share: float) -> None:
        self.eos_ids, self.share = torch.tensor(sorted(eos_ids)), share
        self.ended: torch.Tensor | None = None

    def __call__(self, input_ids: torch.LongTensor, scores: tuple[torch.Tensor] | None, **_: Any) -> torch.BoolTensor:
        ended = torch.isin(input_ids[:, -1], self.eos_ids.to(input_ids.device))
        self.ended = ended if self.ended is None else self.ended | ended
        stopped = (self.ended.float().mean() >= self.share) | resume.stop_requested()
        return cast(torch.BoolTensor, stopped.expand(len(input_ids)))

    def unfinished_rows(self) -> list[int]:
        """Return the numbers of the rows that the model has not ended."""
        return [] if self.ended is None else torch.nonzero(~self.ended).flatten().tolist()


class PerRowSampling(LogitsProcessor):
    """Draws each row's next token with that row's random numbers and makes it the only possible one.

    `generate` with `do_sample=False` then selects it. Its own sampling uses one random stream for the whole batch, so a row's
    numbers would depend on the batch. Tokens are drawn by inverting the cumulative distribution, with one number per step.
    """

    def __init__(self, seeds: list[int], steps: int, prompt_length: int, temperature: float, *, top_p: float) -> None:
        # On the CPU, whose generator gives the same numbers on every machine.
        streams = [torch.rand(steps, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) for seed in seeds]
        self.uniforms = torch.stack(streams)
        self.prompt_length, self.temperature, self.top_p = prompt_length, temperature, top_p

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """Map scores, shape (rows, vocabulary), to 0 for the drawn token and -inf for all others."""
        step = input_ids.shape[1] - self.prompt_length
        uniform = self.uniforms[:, step].to(scores.device, torch.float32).unsqueeze(1)
        probability, token = torch.softmax(scores.float() / self.temperature, dim=-1).sort(dim=-1, descending=True, stable=True)
        mass = probability.cumsum(dim=-1)
        # The nucleus ends with the token that reaches top_p.
        last = (mass < self.top_p).sum(dim=-1, keepdim=True).clamp(max=mass.shape[1] - 1)
        position = torch.searchsorted(mass, uniform * mass.gather(1, last), right=True).minimum(last)
        return torch.full_like(scores, float("-inf")).scatter(1, token.gather(1, position), 0.0)  # type: ignore[return-value]


def _left_pad(rows: Sequence[Sequence[int]], loaded: LoadedModel) -> tuple[torch.Tensor, torch.Tensor]:
    """Return ids and attention mask, shape (rows, longest row), on the model's device; every row ends at the last position."""
    width = max(map(len, rows))
    ids = torch.full((len(rows), width), loaded.pad_id)
    mask = torch.zeros_like(ids)
    for number, row in enumerate(rows):
        ids[number, width - len(row) :] = torch.tensor(row)
        mask[number, width - len(row) :] = 1
    return ids.to(loaded.model.device), mask.to(loaded.model.device)


def _choose(loaded: LoadedModel, batch: Sequence[EncodedPrompt]) -> list[Completion]:
    """Return the most likely choice of each prompt, from the likelihood of all tokens of its choices, in one forward pass.

    The end token is not counted: how often a model continues after a word is irrelevant to the word. If one choice is a prefix of
    another, the shorter one is therefore always the more likely.
    """
    single_tokens = all(len(choice) == 1 for prompt in batch for choice in prompt.choice_ids)
    log_likelihoods = iter((_token_log_likelihoods if single_tokens else _log_likelihoods)(loaded, batch))
    completions = []
    for prompt in batch:
        choices = prompt.request.choices or ()
        probabilities = normalize({choice: next(log_likelihoods) for choice in choices})
        best = max(choices, key=probabilities.__getitem__)
        tokens = len(prompt.choice_ids[choices.index(best)])
        completions.append(Completion(best, "ok", None, len(prompt.ids), tokens, probabilities))
    return completions


def _token_log_likelihoods(loaded: LoadedModel, batch: Sequence[EncodedPrompt]) -> list[float]:
    """Return the log-likelihood of every choice of every prompt; each choice is a single token, so every prompt is read once."""
    ids, mask = _left_pad([prompt.ids for prompt in batch], loaded)
    positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
    logits = loaded.model(ids, attention_mask=mask, position_ids=positions, logits_to_keep=1).logits[:, -1]
    logprobs = torch.log_softmax(logits.float(), dim=-1)
    return [
        value
        for row, prompt in zip(logprobs, batch, strict=True)
        for value in row[[token for [token] in prompt.choice_ids]].tolist()
    ]


def _log_likelihoods(loaded: LoadedModel, batch: Sequence[EncodedPrompt]) -> list[float]:
    """Return the log-likelihood of every choice of every prompt, the sum over its tokens."""
    options = [(prompt, choice) for prompt in batch for choice in prompt.choice_ids]
    ids, mask = _left_pad([[*prompt.ids, *choice] for prompt, choice in options], loaded)
    longest = max(len(choice) for _, choice in options)
    positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
    logits = loaded.model(ids, attention_mask=mask, position_ids=positions, logits_to_keep=longest + 1).logits
    # The logits of a position predict the next token.
    logprobs = torch.log_softmax(logits[:, -longest - 1 : -1].float(), dim=-1).gather(2, ids[:, -longest:].unsqueeze(2)).squeeze(2)
    lengths = torch.tensor([len(choice) for _, choice in options], device=logprobs.device)
    in_choice = torch.arange(longest, device=logprobs.device) >= longest - lengths.unsqueeze(1)
    return (logprobs * in_choice).sum(dim=1).tolist()
