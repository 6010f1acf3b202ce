"""Prompts to tokens and tokens to completions, for every model that runs locally.

transformers and vLLM share this code, so both backends see the same prompts.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jinja2 import TemplateError

from bert_judge.candidates.generators.protocol import Completion, Request, error_completion, split_reasoning, start_marker
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

# Raised by a chat template for unsupported messages, or by a tokenizer for unsupported text.
ENCODING_ERRORS = (TemplateError, UnicodeError, TypeError, ValueError)


@dataclass(frozen=True)
class EncodedPrompt:
    """A request in tokens.

    Attributes:
        index: position of the request in its list.
        in_reasoning: the prompt ends inside a reasoning block.
        max_new_tokens: token limit of its completion.
        choice_ids: token ids of each of its choices.
    """

    index: int
    request: Request
    ids: list[int]
    in_reasoning: bool
    max_new_tokens: int
    choice_ids: tuple[list[int], ...] = ()

    @property
    def batch_key(self) -> tuple[bool, int]:
        """Properties that all prompts of a batch share."""
        return bool(self.choice_ids), self.max_new_tokens


class InvalidPromptError(Exception):
    """A request that cannot be sent to the model; `tokens` is its length, if it could be tokenized."""

    def __init__(self, reason: str, tokens: int | None = None) -> None:
        super().__init__(reason)
        self.tokens = tokens


class PromptEncoder:
    """Applies the chat template once; a model without a template gets the plain prompt.

    Args:
        settings: uses `system`, `thinking` (the template's switch for reasoning; None leaves it alone) and `reasoning_end`.

    Raises:
        InputError: the template has no such switch, or rejects the system prompt.
    """

    def __init__(self, name: str, tokenizer: Any, settings: Mapping[str, Any]) -> None:
        self.name, self.tokenizer, self.system = name, tokenizer, settings["system"]
        self.reasoning_end, thinking = settings["reasoning_end"], settings["thinking"]
        self.template: str | None = tokenizer.get_chat_template() if tokenizer.chat_template else None
        # Published templates use one of these two names for their switch.
        self.template_options = {} if thinking is None else {"enable_thinking": thinking, "thinking": thinking}
        if thinking is not None and "thinking" not in (self.template or ""):
            raise InputError(f"models.{name}.thinking: the model's chat template has no such switch; remove the key")
        try:
            self.encode("probe")
        except ENCODING_ERRORS as error:
            reason = " ".join(str(error).split())
            raise InputError(f"models.{name}: the chat template rejects the prompt: {reason}; remove `system`") from error

    def encode(self, prompt: str) -> tuple[list[int], bool]:
        """Return token ids, and whether the prompt ends inside a reasoning block that the template opened."""
        if self.template is None:
            text = f"{self.system}\n\n{prompt}" if self.system else prompt
            ids = self.tokenizer(text, verbose=False)["input_ids"]
            # Some tokenizers append an end-of-sequence token, which would end the completion.
            return (ids[:-1] if ids[-1:] == [self.tokenizer.eos_token_id] else ids), False
        text = self.render(prompt)
        start = start_marker(self.reasoning_end)
        # The template writes the special tokens itself; the tokenizer would add a second beginning-of-sequence token.
        return self.tokenize(text), start is not None and text.rstrip().endswith(start)

    def render(self, prompt: str, answer: str | None = None) -> str:
        """Apply the chat template: up to the start of the answer, or including a finished answer."""
        messages = [{"role": "system", "content": self.system}] if self.system else []
        messages.append({"role": "user", "content": prompt})
        if answer is not None:
            messages.append({"role": "assistant", "content": answer})
        return self.tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=answer is None, **self.template_options
        )

    def tokenize(self, text: str) -> list[int]:
        """Return the token ids of text that continues a prompt."""
        return self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]

    def encode_requests(
        self, requests: Sequence[Request], max_new_tokens: int, max_length: int | None
    ) -> tuple[list[EncodedPrompt], dict[int, Completion]]:
        """Encode requests of at most `max_length` tokens; return the valid ones, and index → error completion for the others."""
        prompts: list[EncodedPrompt] = []
        errors: dict[int, Completion] = {}
        for index, request in enumerate(requests):
            try:
                prompts.append(self._encode_request(index, request, max_new_tokens, max_length))
            except InvalidPromptError as error:
                if not errors:
                    log.warning("%s: invalid prompt of %s: %s", self.name, request.sample_id, error)
                errors[index] = error_completion(error, error.tokens)
        if errors:
            log.warning("%s: %d of %d prompts are invalid; their status is error", self.name, len(errors), len(requests))
        return prompts, errors

    def _encode_request(self, index: int, request: Request, max_new_tokens: int, max_length: int | None) -> EncodedPrompt:
        try:
            ids, in_reasoning = self.encode(request.prompt)
        except ENCODING_ERRORS as error:
            raise InvalidPromptError(f"{type(error).__name__}: {error}") from error
        if not ids:
            raise InvalidPromptError("the prompt is empty", 0)
        choice_ids: tuple[list[int], ...] = ()
        min_new_tokens = 1
        if request.choices:
            # A choice is made without thinking.
            ids = ids + (self.tokenize(f"{self.reasoning_end}\n\n") if in_reasoning else [])
            in_reasoning, choice_ids = False, tuple(self.tokenize(choice) for choice in request.choices)
            min_new_tokens = max_new_tokens = max(map(len, choice_ids))
        available = max_new_tokens if max_length is None else min(max_new_tokens, max_length - len(ids))
        if available < min_new_tokens:
            # The prompt's length has its own column; equal reasons can be counted.
            raise InvalidPromptError(
                f"the prompt leaves no room for an answer in the model's context of {max_length} tokens", len(ids)
            )
        return EncodedPrompt(index, request, ids, in_reasoning, available, choice_ids)


class CompletionDecoder:
    """Turns generated tokens into text, without special tokens and with the reasoning separated."""

    def __init__(self, tokenizer: Any, reasoning_end: str) -> None:
        self.tokenizer, self.reasoning_end = tokenizer, reasoning_end
        # Special tokens are no text, except those of a reasoning marker, at which the text is split.
        markers = (reasoning_end, start_marker(reasoning_end) or "")
        special = {*tokenizer.all_special_ids, *(n for n, token in tokenizer.added_tokens_decoder.items() if token.special)}
        self.hidden_ids = frozenset(n for n in special if not any(tokenizer.convert_ids_to_tokens(n) in m for m in markers))

    def decode(self, ids: Sequence[int], *, in_reasoning: bool, finished: bool, token_counts: tuple[int, int]) -> Completion:
        """Build a completion.

        Args:
            ids: generated tokens without the end token.
            in_reasoning: the prompt ended inside a reasoning block.
            finished: the model ended the answer itself; otherwise it reached the limit.
            token_counts: tokens of the prompt and of the completion.
        """
        visible_ids = [token for token in ids if token not in self.hidden_ids]
        text = self.tokenizer.decode(visible_ids, clean_up_tokenization_spaces=False)
        split = split_reasoning(text, self.reasoning_end, in_reasoning)
        status = "ok" if split.answer else "empty"
        if not finished or not split.finished:
            status = "truncated"
        return Completion(split.answer, status, split.reasoning, *token_counts)
