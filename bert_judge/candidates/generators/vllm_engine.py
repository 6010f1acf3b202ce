"""Generation in this process with vLLM's offline engine. Imported only where vLLM is installed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

# Before vLLM is imported. A single process: a killed job leaves none behind, and seeds mean the same in every run.
os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")

from vllm import LLM, SamplingParams
from vllm.sampling_params import StructuredOutputsParams

from bert_judge.candidates.generators.protocol import Completion, Request, TokenStep, choice_probabilities
from bert_judge.candidates.generators.tokenization import CompletionDecoder, EncodedPrompt, PromptEncoder
from bert_judge.runtime.errors import InputError

# Log-probabilities per token; the engine's own maximum.
TOP_LOGPROBS = 20
# The settings of config.VLLMModel that are passed to the engine unchanged.
ENGINE_SETTINGS = (
    *("dtype", "quantization", "max_model_len", "tensor_parallel_size"),
    *("gpu_memory_utilization", "enforce_eager", "trust_remote_code", "seed"),
)


class VLLMEngine:
    """Generates with vLLM; `settings` are the values of `config.VLLMModel`.

    Raises:
        InputError: the model cannot be loaded, or a setting does not fit it.
    """

    def __init__(self, name: str, settings: Mapping[str, Any], folder: Path, revisions: Mapping[str, str] | None = None) -> None:
        self.revisions = dict(revisions or {})
        self.settings = settings
        options = {key: settings[key] for key in ENGINE_SETTINGS}
        try:
            self.llm = LLM(model=str(folder), enable_prefix_caching=True, **options)
        except (OSError, ValueError, RuntimeError, ImportError) as error:
            reason = " ".join(str(error).split())[:300]
            raise InputError(f"models.{name}: {folder}: vLLM cannot load it: {reason}; check the model's settings") from error
        tokenizer = self.llm.get_tokenizer()
        self.max_length: int = self.llm.llm_engine.model_config.max_model_len
        self.encoder = PromptEncoder(name, tokenizer, settings)
        self.decoder = CompletionDecoder(tokenizer, settings["reasoning_end"])

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Return one completion per request, in order; an invalid prompt has status `error`."""
        prompts, completions = self.encoder.encode_requests(requests, self.settings["max_new_tokens"], self.max_length)
        # Prompts with a common prefix are adjacent, so that the engine finds the prefix in its cache.
        prompts.sort(key=lambda prompt: prompt.ids)
        if prompts:
            sampling = [self._sampling(prompt) for prompt in prompts]
            outputs = self.llm.generate([{"prompt_token_ids": prompt.ids} for prompt in prompts], sampling, use_tqdm=False)
            for prompt, output in zip(prompts, outputs, strict=True):
                completions[prompt.index] = self._completion(prompt, output.outputs[0])
        return [completions[index] for index in range(len(requests))]

    def _sampling(self, prompt: EncodedPrompt) -> SamplingParams:
        if choices := prompt.request.choices:
            # The engine may spell a choice in any tokens, at worst byte by byte, and then the end token.
            max_tokens = min(max(len(choice.encode()) for choice in choices) + 1, self.max_length - len(prompt.ids))
            return SamplingParams(
                temperature=0.0,
                max_tokens=max_tokens,
                structured_outputs=StructuredOutputsParams(choice=list(choices)),
                logprobs=TOP_LOGPROBS,
                detokenize=False,
            )
        return SamplingParams(
            temperature=self.settings["temperature"],
            top_p=self.settings["top_p"],
            seed=prompt.request.seed(self.settings["seed"]),
            max_tokens=prompt.max_new_tokens,
            detokenize=False,
        )

    def _completion(self, prompt: EncodedPrompt, output: Any) -> Completion:
        ids, choices = list(output.token_ids), prompt.request.choices
        token_counts = (len(prompt.ids), len(ids))
        finished = bool(choices) or output.finish_reason == "stop"
        completion = self.decoder.decode(ids, in_reasoning=prompt.in_reasoning, finished=finished, token_counts=token_counts)
        if not choices:
            return completion
        steps = [
            TokenStep(
                self._token_text(token), {self._token_text(alternative): entry.logprob for alternative, entry in logprobs.items()}
            )
            for token, logprobs in zip(ids, output.logprobs or (), strict=False)
        ]
        status = "ok" if completion.text in choices else "truncated"
        return Completion(completion.text, status, None, *token_counts, choice_probabilities(choices, steps))

    def _token_text(self, token: int) -> str:
        return str(self.decoder.tokenizer.decode([token], clean_up_tokenization_spaces=False))
