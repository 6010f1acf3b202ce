"""From a prompt to the tokens that a language model reads."""

from __future__ import annotations

from typing import Any

from jinja2 import TemplateError

from bert_judge.candidates.generators.reasoning import start_marker
from bert_judge.runtime.errors import InputError

# What a template raises on messages, or a tokenizer on a text, that it cannot take.
FAILURES = (TemplateError, UnicodeError, TypeError, ValueError)


class PromptEncoder:
    """Applies the chat template once; a model without one gets the plain prompt.

    Args:
        name: the model's name in the configuration, for messages.
        system: system prompt, if any.
        thinking: the template's switch for reasoning; None leaves it alone.
        reasoning_end: what closes a reasoning block.

    Raises:
        InputError: the template has no such switch, or refuses the system prompt.
    """

    def __init__(self, name: str, tokenizer: Any, system: str | None, thinking: bool | None, reasoning_end: str) -> None:
        self.tokenizer, self.system = tokenizer, system
        self.start = start_marker(reasoning_end)
        self.template: str | None = tokenizer.get_chat_template() if tokenizer.chat_template else None
        # The two names that published templates give their switch.
        self.switches = {} if thinking is None else {"enable_thinking": thinking, "thinking": thinking}
        if thinking is not None and "thinking" not in (self.template or ""):
            raise InputError(f"models.{name}.thinking: the model's chat template has no such switch; leave the key out")
        try:
            self.encode("probe")
        except FAILURES as error:
            reason = " ".join(str(error).split())
            raise InputError(f"models.{name}: the chat template refuses the prompt: {reason}; leave out `system`") from error

    def encode(self, prompt: str) -> tuple[list[int], bool]:
        """Token ids, and whether the prompt ends inside a reasoning block that the template opened."""
        if self.template is None:
            text = f"{self.system}\n\n{prompt}" if self.system else prompt
            ids = self.tokenizer(text, verbose=False)["input_ids"]
            # Some tokenizers close a text; a completion must go on.
            return (ids[:-1] if ids[-1:] == [self.tokenizer.eos_token_id] else ids), False
        text = self.text(prompt)
        # The template writes the special tokens itself; the tokenizer would add a second beginning of text.
        ids = self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return ids, self.start is not None and text.rstrip().endswith(self.start)

    def text(self, prompt: str, answer: str | None = None) -> str:
        """A dialogue as the chat template writes it: up to the place where the answer begins, or with an answer that has ended."""
        messages = [{"role": "system", "content": self.system}] if self.system else []
        messages.append({"role": "user", "content": prompt})
        if answer is not None:
            messages.append({"role": "assistant", "content": answer})
        opened = answer is None
        return self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=opened, **self.switches)

    def tokens(self, text: str) -> list[int]:
        """Token ids of a text that goes on after a prompt."""
        return self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
