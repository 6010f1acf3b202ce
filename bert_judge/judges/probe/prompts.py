"""What the frozen model reads of an answer: a template with the question and the candidate, as tokens.

Question and candidate are foreign text: a special token in them is read as plain text. The template is the user's own, so special
tokens in it (a chat model's marks) count as such.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from itertools import chain
from typing import Any

from transformers import PreTrainedTokenizerBase

from bert_judge.judges.bert.encoding import CHARACTERS_PER_TOKEN, EncodedRow, truncate_parts
from bert_judge.runtime.errors import InputError


class PromptEncoder:
    """Makes prompts for one tokenizer and one template.

    Args:
        tokenizer: of the frozen model; its padding side does not matter.
        template: see `ProbeJudgeConfig.prompt`, with the aspect filled in.
        max_length: longest prompt in tokens.

    Raises:
        InputError: the template alone is too long.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, template: str, max_length: int) -> None:
        self._tokenizer = tokenizer
        self._limit = max_length * CHARACTERS_PER_TOKEN
        start, end = _around(tokenizer)
        parts = list(string.Formatter().parse(template))
        # Pieces between the fields; the special tokens of the model stand around all.
        self._pieces = [self._fixed(text) for text, *_ in parts]
        self._fields = [name for _, name, *_ in parts]
        self._start, self._end = start, end
        self._room = max_length - sum(map(len, self._pieces)) - len(start) - len(end)
        if self._room < len(parts):
            raise InputError(f"the prompt {template!r:.80} leaves no room for an answer in {max_length} tokens; raise max_length")

    def encode(self, questions: Sequence[str], candidates: Sequence[str]) -> list[EncodedRow]:
        """One prompt per answer. Of what is too long the middle of the candidate goes first, then the start of the question."""
        shown = questions if "question" in self._fields else [""] * len(questions)
        return [self._assembled(*pair) for pair in zip(self._tokens(shown), self._tokens(candidates), strict=True)]

    def _assembled(self, question: list[int], candidate: list[int]) -> EncodedRow:
        question, candidate, _, cut = truncate_parts(question, candidate, [], self._room)
        filled = {"question": question, "candidate": candidate}
        body = chain.from_iterable(
            [*piece, *(filled[field] if field else ())] for piece, field in zip(self._pieces, self._fields, strict=True)
        )
        ids = (*self._start, *body, *self._end)
        return EncodedRow(ids, (0,) * len(ids), cut)

    def _fixed(self, text: str) -> list[int]:
        return self._tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"] if text else []

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        distinct = dict.fromkeys(text[-self._limit :] for text in texts)
        if not distinct:
            return []
        options: dict[str, Any] = {"add_special_tokens": False, "split_special_tokens": True, "truncation": False, "verbose": False}
        ids = dict(zip(distinct, self._tokenizer(list(distinct), **options)["input_ids"], strict=True))
        return [ids[text[-self._limit :]] for text in texts]


def _around(tokenizer: PreTrainedTokenizerBase) -> tuple[list[int], list[int]]:
    """Special tokens before and after a text."""
    word = tokenizer("a", add_special_tokens=False)["input_ids"]
    ids = tokenizer("a")["input_ids"]
    at = next(n for n in range(len(ids)) if ids[n : n + len(word)] == word)
    return ids[:at], ids[at + len(word) :]
