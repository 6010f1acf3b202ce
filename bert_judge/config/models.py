"""`models`, and training settings: the models under test, and how encoders and language models are trained."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal, Self, Union
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from bert_judge.config.base import Block, Names, Share


class MicroBatches(Block):
    """Settings of a training that may split its batches."""

    run_time: ClassVar[frozenset[str]] = frozenset({"micro_batch_size"})

    batch_size: int = Field(16, gt=0)
    """rows per optimizer step"""
    micro_batch_size: Annotated[int, Field(gt=0)] | None = None
    """rows per forward pass, a divisor of `batch_size`; gradients are accumulated, which saves memory; all rows by default"""

    @model_validator(mode="after")
    def _check_divisor(self) -> Self:
        if self.micro_batch_size is not None and self.batch_size % self.micro_batch_size:
            raise ValueError(f"batch_size {self.batch_size} must be a multiple of micro_batch_size")
        return self


class Input(Block):
    """How question, candidate and reference become the encoder's input tokens."""

    format: Literal["pair", "tags"] = "pair"
    """`pair`: the sentence pair of the backbone; `tags`: the three added special tokens of the published checkpoints"""
    question: bool = True
    """include the question"""
    max_length: int = Field(512, ge=16)
    """maximum input length in tokens, capped by the backbone's context window"""
    truncation: Literal["middle", "left"] = "middle"
    """`middle` keeps the reference and the end of the candidate; `left` cuts the start of the input, as published"""


class Training(MicroBatches):
    """How an encoder is trained."""

    epochs: float = Field(2.0, gt=0)
    """passes over the training rows"""
    learning_rate: float = Field(8e-5, gt=0)
    """peak learning rate, with linear decay to 0"""
    head_lr_multiplier: float = Field(5.0, gt=0)
    """learning rate of the new head, as a multiple of the encoder's"""
    warmup_ratio: Share = 0.06
    """share of the steps with linear warm-up"""
    weight_decay: float = Field(0.01, ge=0)
    """weight decay of AdamW"""
    dropout: Share = 0.0
    """dropout in the encoder's layers and before the head"""
    label_smoothing: Share = 0.0
    """how far labels are smoothed towards 0.5"""
    freeze_embeddings: bool = True
    """do not train the word embeddings; ignored for the format `tags`, whose special tokens are new"""
    round_weights: bool = False
    """round the trained weights to values that fit in 8-bit integers, for a judge that is published as a small file"""
    seed: int = 0
    """seed of the new layers and of the row order"""


class Lora(Block):
    """Low-rank adapters (LoRA, Hu et al. 2021) on all linear layers except the last."""

    rank: int = Field(16, gt=0)
    """rank of the matrices"""
    alpha: int = Field(32, gt=0)
    """the adapters are scaled by alpha / rank"""
    dropout: Share = 0.0
    """dropout before the adapters; on a CPU, drawing it takes a third of a training step"""


class Tuning(MicroBatches):
    """How a student is fine-tuned on answers."""

    run_time: ClassVar[frozenset[str]] = frozenset({"micro_batch_size", "gradient_checkpointing", "processes"})

    method: Literal["lora", "full"] = "lora"
    """`lora`: low-rank adapters, merged into the weights at the end; `full`: all weights"""
    lora: Lora = Lora()
    """settings of the adapters"""
    epochs: float = Field(2.0, gt=0)
    """passes over the training texts"""
    learning_rate: float = Field(1e-4, gt=0)
    """peak learning rate; full fine-tuning needs a lower one, for example 1e-5"""
    schedule: Literal["linear", "cosine"] = "linear"
    """decay of the learning rate to 0"""
    warmup_ratio: Share = 0.06
    """share of the steps with linear warm-up"""
    processes: int = Field(1, ge=1)
    """GPUs of one machine that share the training, each with a part of the weights, started by `accelerate launch`"""
    gradient_checkpointing: bool = False
    """recompute activations in the backward pass to save memory"""
    weight_decay: float = Field(0.0, ge=0)
    """weight decay of AdamW"""
    max_length: int = Field(2048, ge=16)
    """maximum length of prompt and text in tokens; longer rows are dropped, because truncated texts teach to stop early"""
    seed: int = 0
    """seed of the adapters and of the row order"""


class JudgeTuning(Tuning):
    """How a language model is fine-tuned as a judge."""

    epochs: float = Field(3.0, gt=0)
    """passes over the training rows"""
    learning_rate: float = Field(2e-4, gt=0)
    """peak learning rate; full fine-tuning needs a lower one, for example 2e-5"""
    max_length: int = Field(1024, ge=64)
    """maximum length of a prompt in tokens; a longer one loses the middle of its answers"""
    merge: bool = False
    """write complete weights instead of an adapter"""
    swap_ratio: Share = 0.5
    """pairs: share of the rows, drawn again in each epoch, whose answers are swapped, with their grades and names"""
    reference_drop_ratio: Share = 0.5
    """pairs: share of the rows, drawn again in each epoch, that are read without their references"""


# --- models ---

# Fields of a request to a server that settings or the program decide.
SET_FIELDS = {"model", "messages", "n", "stream", "max_tokens", "max_completion_tokens", "input", "state", "questions"}
Style = Literal["terse", "wordy", "ignores_format", "hedging", "self_correcting", "truncated", "refusing", "lists_all_options"]


class SimulatedModel(Block):
    """A simulated model, whose answers are generated from the references, so that the truth is known."""

    generator: Literal["simulated"]
    p_correct: Share
    """probability of knowing the answer to a question of average difficulty"""
    style: Style | dict[Style, Annotated[float, Field(gt=0)]] = "terse"
    """writing style, or styles with weights"""
    seed: int = 0
    """seed of the answers"""


class ImportedModel(Block):
    """A model whose answers are imported from a file."""

    generator: Literal["imported"]
    source: Names = Field(alias="from")
    """name of an import, or a list of names"""
    model_name: str | None = None
    """name of the model in the file, if it differs from the key; `*` merges the answers of all models"""


class Price(Block):
    """Price of tokens, in the run's `currency`."""

    prompt: float = Field(ge=0)
    """price per million prompt tokens"""
    completion: float = Field(ge=0)
    """price per million completion tokens"""


class Generated(Block):
    """Settings of all models that generate answers."""

    run_time: ClassVar[frozenset[str]] = frozenset({"price"})

    generator: str
    model: str
    """hub id, local folder, path of a `.gguf` file, or `package:NAME` for a Python package that holds one"""
    max_new_tokens: int = Field(2048, gt=0)
    """maximum length of a completion in tokens"""
    temperature: float = Field(0.0, ge=0)
    """sampling temperature; 0: greedy decoding"""
    top_p: float = Field(1.0, gt=0, le=1)
    """nucleus sampling, for a temperature above 0"""
    seed: int = 0
    """seed of sampling"""
    attempts: int = Field(1, gt=0)
    """answers per question"""
    system: str | None = None
    """system prompt"""
    thinking: bool | None = None
    """turn reasoning on or off in the chat template; default: that of the template"""
    reasoning_end: str = "</think>"
    """end marker of a reasoning block"""
    price: Price | None = None
    """price of the tokens, for the report"""


class LocalModel(Generated):
    """Settings of all models that run on this machine."""

    run_time: ClassVar[frozenset[str]] = Generated.run_time | {"optional"}

    revision: str | None = None
    """commit of the hub repository; default: pinned by `prepare`"""
    trust_remote_code: bool = False
    """allow code from the model's repository; requires `revision`"""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """data type of the weights"""
    optional: bool = False
    """leave the model out of the run where its `package:NAME` is not installed or its file is missing"""

    @model_validator(mode="after")
    def _check_revision(self) -> LocalModel:
        if self.trust_remote_code and self.revision is None:
            raise ValueError("trust_remote_code requires a revision; set the commit that you trust")
        return self


class HFModel(LocalModel):
    """A model run with transformers."""

    generator: Literal["hf"]


class VLLMModel(LocalModel):
    """A model run with vLLM, in its own environment."""

    run_time: ClassVar[frozenset[str]] = LocalModel.run_time | {"tensor_parallel_size", "gpu_memory_utilization", "enforce_eager"}

    generator: Literal["vllm"]
    quantization: str | None = None
    """quantisation method, if the model's configuration does not name it"""
    max_model_len: Annotated[int, Field(gt=0)] | None = None
    """maximum length of prompt and completion together in tokens; default: the model's context window"""
    tensor_parallel_size: int = Field(1, gt=0)
    """number of GPUs for tensor parallelism"""
    gpu_memory_utilization: float = Field(0.9, gt=0, le=1)
    """share of GPU memory used by the engine"""
    enforce_eager: bool = False
    """disable CUDA graphs: faster start, slower generation"""


class StudentModel(LocalModel):
    """A language model that is fine-tuned on filtered answers and then run with transformers. Each filter and percentage gives a
    separate model, named `{key}-{filter}-{percent}`."""

    generator: Literal["student"]
    filters: Names
    """name of a filter, or a list of names, whose answers it is trained on"""
    training: Tuning = Tuning()
    """fine-tuning settings"""


class OpenAIModel(Generated):
    """A model behind a server with OpenAI's API, for example a hosted model or a vLLM server."""

    run_time: ClassVar[frozenset[str]] = Generated.run_time | {
        "base_url",
        "api_key_env",
        "concurrency",
        "requests_per_minute",
        "timeout",
        "retries",
        "budget_tokens",
        "budget_cost",
    }

    generator: Literal["openai"]
    model: str
    """the model's name on the server"""
    base_url: str = "https://api.openai.com/v1"
    """address of the server; not part of the model's identity"""
    api_key_env: str = "OPENAI_API_KEY"
    """environment variable with the API key; optional for servers without keys"""
    temperature: float | None = Field(0.0, ge=0)  # type: ignore[assignment]
    """sampling temperature; 0: greedy decoding; `null`: not sent, for models that reject it"""
    thinking: bool | None = None
    """turn reasoning on or off, for vLLM and other servers that accept `chat_template_kwargs`; default: that of the server"""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """request field for `max_new_tokens`; newer OpenAI models require `max_completion_tokens`"""
    structured_output: Literal["auto", "structured_outputs", "grammar", "json_schema", "none"] = "auto"
    """how answers are restricted to a list of choices: `structured_outputs` (vLLM), `grammar` (llama.cpp), `json_schema` (OpenAI
    and others); `auto` asks the server a harmless question with each and takes the first that it honours"""
    logprobs: bool = False
    """request log-probabilities of these answers, so that a judge's score is a probability"""
    extra: dict[str, Any] = {}
    """additional fields of the request body"""
    concurrency: int = Field(16, gt=0)
    """maximum number of concurrent requests"""
    requests_per_minute: Annotated[float, Field(gt=0)] | None = None
    """maximum number of requests per minute"""
    timeout: float = Field(600.0, gt=0)
    """seconds to wait for a response"""
    retries: int = Field(6, ge=0)
    """maximum number of retries after a transient error"""
    budget_tokens: Annotated[int, Field(gt=0)] | None = None
    """maximum number of tokens (prompt and completion) per job; further rows get the status `error`"""
    budget_cost: Annotated[float, Field(gt=0)] | None = None
    """maximum cost per job, by `price`; further rows get the status `error`"""

    @model_validator(mode="after")
    def _check_request(self) -> OpenAIModel:
        if not re.fullmatch(r"https?://[^\s@/][^\s@]*", self.base_url) or not _is_address(self.base_url):
            raise ValueError("base_url needs http:// or https:// and an address without user and password")
        if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", self.api_key_env):
            raise ValueError("api_key_env needs the name of an environment variable in capitals, never the key itself")
        if self.budget_cost is not None and self.price is None:
            raise ValueError("budget_cost needs the price of the tokens; set price")
        if taken := sorted(set(self.extra) & SET_FIELDS):
            raise ValueError(f"extra: {taken[0]} is set by bert-judge; remove it from extra")
        return self


def _is_address(url: str) -> bool:
    """Return whether an address has a host, and a port if any."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False


# Models that can also be judges.
LanguageModel = Union[HFModel, VLLMModel, OpenAIModel]  # noqa: UP007
Model = Annotated[Union[SimulatedModel, ImportedModel, StudentModel, LanguageModel], Field(discriminator="generator")]  # noqa: UP007
