"""`models`: whose answers are judged, and how they come about."""

from __future__ import annotations

import re
from typing import Annotated, Any, ClassVar, Literal, Union

from pydantic import Field, model_validator

from bert_judge.config.base import Block, Names, Share
from bert_judge.config.tuning import Tuning

Style = Literal["terse", "wordy", "ignores_format", "hedging", "self_correcting", "truncated", "refusing", "lists_all_options"]


class SimulatedModel(Block):
    """Answers made up from the references by a rule: simulated data, whose truth is known."""

    generator: Literal["simulated"]
    p_correct: Share
    """probability of knowing the answer to a question of middling difficulty"""
    style: Style | dict[Style, Annotated[float, Field(gt=0)]] = "terse"
    """how it writes: one style, or styles with their weights"""
    seed: int = 0
    """another seed, other answers"""


class ImportedModel(Block):
    """Answers read from a file."""

    generator: Literal["imported"]
    source: Names = Field(alias="from")
    """name of an import, or several"""
    model_name: str | None = None
    """the model's name in the file, when it differs from the key; `*` takes the answers of all its models together"""


class Price(Block):
    """What a model's tokens cost, in a currency of your choice."""

    prompt: float = Field(ge=0)
    """price of a million tokens read"""
    completion: float = Field(ge=0)
    """price of a million tokens written"""


class Generated(Block):
    """Settings of every model that is asked here."""

    run_time: ClassVar[frozenset[str]] = frozenset({"price"})

    generator: str
    model: str
    """hub id or local folder"""
    max_new_tokens: int = Field(2048, gt=0)
    """longest completion, in tokens"""
    temperature: float = Field(0.0, ge=0)
    """0 is greedy"""
    top_p: float = Field(1.0, gt=0, le=1)
    """nucleus sampling, when the temperature is above 0"""
    seed: int = 0
    """seed of sampling"""
    attempts: int = Field(1, gt=0)
    """answers per question"""
    system: str | None = None
    """system prompt"""
    thinking: bool | None = None
    """switch of the chat template; left out: the template's default"""
    reasoning_end: str = "</think>"
    """what closes a reasoning block"""
    price: Price | None = None
    """what the model's tokens cost, for `bert-judge cost` and the report"""


class LocalModel(Generated):
    """Settings of every model whose weights are on this machine."""

    revision: str | None = None
    """commit of the hub repository; pinned by `prepare` when left out"""
    trust_remote_code: bool = False
    """run code from the model's repository; needs a `revision`"""
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    """number format of the weights"""

    @model_validator(mode="after")
    def _remote_code_is_pinned(self) -> LocalModel:
        if self.trust_remote_code and self.revision is None:
            raise ValueError("trust_remote_code needs a revision: name the commit whose code you trust")
        return self


class HFModel(LocalModel):
    """Answers generated here with transformers."""

    generator: Literal["hf"]


class VLLMModel(LocalModel):
    """Answers generated here with vLLM, which has an environment of its own."""

    run_time: ClassVar[frozenset[str]] = LocalModel.run_time | {"tensor_parallel_size", "gpu_memory_utilization", "enforce_eager"}

    generator: Literal["vllm"]
    quantization: str | None = None
    """method of a quantised model, when its own configuration does not tell"""
    max_model_len: Annotated[int, Field(gt=0)] | None = None
    """longest prompt and completion together, in tokens; left out: the model's window"""
    tensor_parallel_size: int = Field(1, gt=0)
    """GPUs over which the model is spread"""
    gpu_memory_utilization: float = Field(0.9, gt=0, le=1)
    """share of a GPU's memory that the engine takes"""
    enforce_eager: bool = False
    """no CUDA graphs: starts sooner, generates more slowly"""


class StudentModel(LocalModel):
    """A language model that is fine-tuned here on the answers that a filter kept, then answers with transformers. For each
    filter and percentage it is a model of its own, called `{key}-{filter}-{percent}`."""

    generator: Literal["student"]
    filters: Names
    """filters, or one, that choose what it learns from"""
    training: Tuning = Tuning()
    """how it is fitted"""


class OpenAIModel(Generated):
    """Answers of a server that speaks OpenAI's protocol: a vendor, or a vLLM server of your own."""

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
    """where the server is; the same model at another address is the same model"""
    api_key_env: str = "OPENAI_API_KEY"
    """name of the environment variable that holds the key; a server without keys needs none"""
    temperature: float | None = Field(0.0, ge=0)  # type: ignore[assignment]
    """0 is greedy; `null` sends none, for models that refuse it"""
    thinking: bool | None = None
    """switch of the chat template, for vLLM and other servers that take `chat_template_kwargs`; left out: the server's default"""
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """what the server calls `max_new_tokens`; OpenAI's newer models want `max_completion_tokens`"""
    structured_output: Literal["structured_outputs", "guided_choice", "json_schema", "none"] = "none"
    """how an answer out of a list is enforced: vLLM's `structured_outputs`, the older `guided_choice`, OpenAI's `json_schema`"""
    logprobs: bool = False
    """ask for log-probabilities of such answers: a judge's score is then a probability"""
    extra: dict[str, Any] = {}
    """more keys of the request's body, as the server's documentation names them"""
    concurrency: int = Field(16, gt=0)
    """most requests at once"""
    requests_per_minute: Annotated[float, Field(gt=0)] | None = None
    """most requests in a minute"""
    timeout: float = Field(600.0, gt=0)
    """seconds to wait for an answer"""
    retries: int = Field(6, ge=0)
    """how often a request that failed for a passing reason is repeated"""
    budget_tokens: Annotated[int, Field(gt=0)] | None = None
    """most tokens that one job may use, prompts and completions; what it leaves unasked has the status `error`"""

    @model_validator(mode="after")
    def _sound_request(self) -> OpenAIModel:
        if not re.fullmatch(r"https?://[^\s@]+", self.base_url):
            raise ValueError("base_url needs http:// or https:// and an address without user and password")
        if not re.fullmatch(r"[A-Z_][A-Z0-9_]*", self.api_key_env):
            raise ValueError("api_key_env needs the name of an environment variable in capitals, never the key itself")
        if taken := sorted(set(self.extra) & {"model", "messages", "n", "stream", "max_tokens", "max_completion_tokens"}):
            raise ValueError(f"extra: {taken[0]} is set by the program; remove it there")
        return self


# Those that can be asked anything, also for a verdict.
LanguageModel = Union[HFModel, VLLMModel, OpenAIModel]  # noqa: UP007
Model = Annotated[Union[SimulatedModel, ImportedModel, StudentModel, LanguageModel], Field(discriminator="generator")]  # noqa: UP007
