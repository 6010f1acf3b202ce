"""`models`: the models under test."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal, Union

from pydantic import Field, model_validator

from bert_judge.config.base import Block, Names, Share
from bert_judge.config.training import Tuning

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
    structured_output: Literal["structured_outputs", "guided_choice", "json_schema", "none"] = "none"
    """how answers are restricted to a list of choices: `structured_outputs` (vLLM), `guided_choice` (older vLLM), `json_schema`
    (OpenAI)"""
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

    @model_validator(mode="after")
    def _check_request(self) -> OpenAIModel:
        if not re.fullmatch(r"https?://[^\s@]+", self.base_url):
            raise ValueError("base_url needs http:// or https:// and an address without user and password")
        if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", self.api_key_env):
            raise ValueError("api_key_env needs the name of an environment variable in capitals, never the key itself")
        if taken := sorted(set(self.extra) & SET_FIELDS):
            raise ValueError(f"extra: {taken[0]} is set by bert-judge; remove it from extra")
        return self


# Models that can also be judges.
LanguageModel = Union[HFModel, VLLMModel, OpenAIModel]  # noqa: UP007
Model = Annotated[Union[SimulatedModel, ImportedModel, StudentModel, LanguageModel], Field(discriminator="generator")]  # noqa: UP007
