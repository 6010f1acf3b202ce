"""Settings of judges of kind `llm`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from bert_judge.config.base import Aspects, JudgeConfig, Share
from bert_judge.config.models import LanguageModel, OpenAIModel

# Settings of a model that write a text, which a decision model does not.
CHAT_SETTINGS = (
    "max_new_tokens",
    "temperature",
    "top_p",
    "seed",
    "system",
    "thinking",
    "reasoning_end",
    "max_tokens_field",
    "structured_output",
    "logprobs",
)


class LLMJudgeConfig(JudgeConfig):
    """A prompted language model that compares the answer with the references, or grades aspects without references."""

    kind: Literal["llm"]
    model: Annotated[LanguageModel, Field(discriminator="generator")]
    """the model: a block as under `models`"""
    api: Literal["chat", "decisions", "system_one"] = "chat"
    """protocol of the model's server: `chat`, or that of a decision model, which returns a probability without writing text:
    `decisions` (OpenAI) or `system_one` (TypeSafe)"""
    reasoning: bool = True
    """explain the comparison before the verdict; false: the verdict only, which is cheaper and can be a probability"""
    aspects: Aspects | None = None
    """grade these aspects in one call instead of comparing with references: `roscoe`, a list of names, or names with description
    and range; the score is the mean of the grades, each scaled to [0, 1]"""
    threshold: Share = 0.5
    """lowest score that counts as correct: a probability if the backend returns log-probabilities, or the mean grade"""
    seed: int = 0
    """seed of the random delimiters around the answers"""
    max_candidate_chars: int = Field(20_000, ge=200)
    """maximum length of an answer in characters; the middle of longer answers is cut"""

    @model_validator(mode="after")
    def _asks_once(self) -> LLMJudgeConfig:
        if self.model.attempts != 1:
            raise ValueError("a judge gives one verdict per answer; remove model.attempts")
        return self

    @model_validator(mode="after")
    def _check_api(self) -> LLMJudgeConfig:
        if self.api == "chat":
            return self
        if not isinstance(self.model, OpenAIModel):
            raise ValueError(f"api: {self.api} is the protocol of a server; set model.generator to openai")
        unused = [f"model.{name}" for name in CHAT_SETTINGS if getattr(self.model, name) != OpenAIModel.model_fields[name].default]
        if unused := [*(["aspects"] if self.aspects else []), *([] if self.reasoning else ["reasoning"]), *unused]:
            raise ValueError(f"{unused[0]} has no effect with api: {self.api}; remove it")
        if self.api == "system_one" and self.model.base_url == OpenAIModel.model_fields["base_url"].default:
            raise ValueError("api: system_one needs model.base_url, such as https://api.typesafe.ai/v1")
        return self
