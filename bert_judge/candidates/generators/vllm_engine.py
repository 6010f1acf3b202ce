"""Answers generated in this process with vLLM's offline engine. Imported only where vLLM is installed.

Prompts reach the engine as tokens made by the same code as for transformers, so that both back ends ask the same.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# Before vLLM is imported. One process: a killed job leaves none behind, and seeds mean the same in every run.
os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")

from vllm import LLM, SamplingParams
from vllm.sampling_params import StructuredOutputsParams

from bert_judge.candidates.generators.chat import PromptEncoder
from bert_judge.candidates.generators.choices import Step, along_path
from bert_judge.candidates.generators.decoding import AnswerDecoder
from bert_judge.candidates.generators.protocol import Completion, Request
from bert_judge.candidates.generators.seeds import row_seed
from bert_judge.candidates.generators.tokenize import Prompt, encode_all
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

# Likeliest tokens from which the probabilities of choices are read; the engine's own limit.
LOGPROBS = 20
# Of config.VLLMModel, what goes to the engine as it is.
ENGINE_SETTINGS = (
    "dtype",
    "quantization",
    "max_model_len",
    "tensor_parallel_size",
    "gpu_memory_utilization",
    "enforce_eager",
    "trust_remote_code",
    "seed",
)


class VLLMEngine:
    """Holds one model.

    Args:
        name: the model's name in the configuration.
        settings: the values of `config.VLLMModel`.
        folder: weights, configuration and tokenizer.

    Raises:
        InputError: the model cannot be loaded, or a setting does not fit it.
    """

    def __init__(self, name: str, settings: Mapping[str, Any], folder: Path) -> None:
        self.name, self.settings = name, settings
        options = {key: settings[key] for key in ENGINE_SETTINGS}
        try:
            self.llm = LLM(model=str(folder), enable_prefix_caching=True, **options)
        except (OSError, ValueError, RuntimeError, ImportError) as error:
            reason = " ".join(str(error).split())[:300]
            raise InputError(f"models.{name}: {folder}: vLLM cannot load it: {reason}; mend the model's settings") from error
        tokenizer = self.llm.get_tokenizer()
        self.window: int = self.llm.llm_engine.model_config.max_model_len
        self.encoder = PromptEncoder(name, tokenizer, settings["system"], settings["thinking"], settings["reasoning_end"])
        self.decoder = AnswerDecoder(tokenizer, settings["reasoning_end"])

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """One completion per request, in their order; a prompt that fails or does not fit has status `error`."""
        prompts, answers = encode_all(self.name, self.encoder, self.settings, self.window, requests)
        # Prompts that begin alike stand side by side, so that the engine finds their beginning in its cache.
        prompts.sort(key=lambda prompt: prompt.ids)
        if prompts:
            sampling = [self._sampling(prompt) for prompt in prompts]
            outputs = self.llm.generate([{"prompt_token_ids": prompt.ids} for prompt in prompts], sampling, use_tqdm=False)
            answers |= {p.place: self._completion(p, output.outputs[0]) for p, output in zip(prompts, outputs, strict=True)}
        return [answers[place] for place in range(len(requests))]

    def _sampling(self, prompt: Prompt) -> SamplingParams:
        if prompt.request.choices:
            constraint = StructuredOutputsParams(choice=list(prompt.request.choices))
            # The engine may spell a choice in any tokens, at worst byte by byte, and then the end token.
            most = min(max(len(choice.encode()) for choice in prompt.request.choices) + 1, self.window - len(prompt.ids))
            return SamplingParams(
                temperature=0.0, max_tokens=most, structured_outputs=constraint, logprobs=LOGPROBS, detokenize=False
            )
        seed = row_seed(self.settings["seed"], prompt.request.prompt, prompt.request.attempt)
        temperature, top_p = self.settings["temperature"], self.settings["top_p"]
        return SamplingParams(temperature=temperature, top_p=top_p, seed=seed, max_tokens=prompt.budget, detokenize=False)

    def _completion(self, prompt: Prompt, output: Any) -> Completion:
        said = list(output.token_ids)
        counts = (len(prompt.ids), len(said))
        if not prompt.request.choices:
            return self.decoder.completion(said, prompt.opened, output.finish_reason == "stop", counts)
        choices = prompt.request.choices
        text = self.decoder.completion(said, False, True, counts).text
        steps = [
            Step(self._text(token), {self._text(other): found.logprob for other, found in likely.items()})
            for token, likely in zip(said, output.logprobs or (), strict=False)
        ]
        return Completion(text, "ok" if text in choices else "truncated", None, *counts, along_path(choices, steps))

    def _text(self, token: int) -> str:
        return str(self.decoder.tokenizer.decode([token], clean_up_tokenization_spaces=False))
