"""From generated tokens to a completion, for every model that runs here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bert_judge.candidates.generators.protocol import Completion
from bert_judge.candidates.generators.reasoning import split, start_marker


class AnswerDecoder:
    """Turns the tokens of an answer into text, without special tokens and with its reasoning apart.

    Args:
        tokenizer: of transformers.
        reasoning_end: what closes a reasoning block.
    """

    def __init__(self, tokenizer: Any, reasoning_end: str) -> None:
        self.tokenizer, self.reasoning_end = tokenizer, reasoning_end
        self.hidden = _hidden_tokens(tokenizer, reasoning_end)

    def completion(self, said: Sequence[int], opened: bool, ended: bool, counts: tuple[int, int]) -> Completion:
        """What an answer says.

        Args:
            said: its tokens without the one that ended it.
            opened: the prompt ended inside a reasoning block.
            ended: the model ended the answer; otherwise it reached the limit.
            counts: tokens of the prompt and of the answer.
        """
        text = self.tokenizer.decode([token for token in said if token not in self.hidden], clean_up_tokenization_spaces=False)
        parts = split(text, self.reasoning_end, opened)
        status = "ok" if parts.answer else "empty"
        if not ended or not parts.finished:
            status = "truncated"
        return Completion(parts.answer, status, parts.reasoning, *counts)


def _hidden_tokens(tokenizer: Any, reasoning_end: str) -> frozenset[int]:
    """Special tokens, which are no text; those that make up a reasoning marker stay, because the text is split there."""
    markers = (reasoning_end, start_marker(reasoning_end) or "")
    special = {*tokenizer.all_special_ids, *(n for n, token in tokenizer.added_tokens_decoder.items() if token.special)}
    return frozenset(n for n in special if not any(tokenizer.convert_ids_to_tokens(n) in marker for marker in markers))
