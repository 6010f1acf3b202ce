"""How question, candidate and reference become one sequence of tokens, and what is cut when they are too long.

Two formats. `tags` is the published one, three added tokens in one text:
`<|question|>…<|candidate|>…<|reference|>…`. `pair` uses what the backbone was pre-trained on, a sentence pair: the reference
against the candidate followed by the question, `[CLS] reference [SEP] candidate [SEP] question [SEP]`.

A candidate that contains one of these special tokens cannot break out of its place: inside a part they are read as plain text.

A row is tokenised in its three parts, each distinct text once, because many answers share a question and its references.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from transformers import PreTrainedTokenizerBase

from bert_judge.config import Input

TAGS = {"question": "<|question|>", "candidate": "<|candidate|>", "reference": "<|reference|>"}

# No text needs more characters a token; what lies beyond would be cut anyway, and the tokenizer is spared it.
CHARACTERS_PER_TOKEN = 20


@dataclass(frozen=True)
class EncodedRow:
    """One row as the encoder reads it.

    Attributes:
        ids: token ids, special tokens included.
        types: 0 for the first segment, 1 for the second; all 0 for one segment.
        truncated: something was cut.
    """

    ids: tuple[int, ...]
    types: tuple[int, ...]
    truncated: bool


class RowEncoder:
    """Encodes rows for one tokenizer and one input format.

    Args:
        tokenizer: a fast tokenizer; gets the three tags added for the format `tags` (`len(tokenizer)` may grow).
        settings: format, truncation and longest input.
        window: the backbone's window in tokens; the smaller of it and `settings.max_length` counts.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, settings: Input, window: int) -> None:
        self.tokenizer = tokenizer
        self.settings = settings
        self.max_length = min(settings.max_length, window)
        if settings.format == "tags":
            tokenizer.add_special_tokens({"additional_special_tokens": list(TAGS.values())})
            self.tags = {part: cast(int, tokenizer.convert_tokens_to_ids(tag)) for part, tag in TAGS.items()}

    def encode(self, questions: Sequence[str], candidates: Sequence[str], references: Sequence[str]) -> list[EncodedRow]:
        """One encoded row per (question, candidate, reference)."""
        shown = questions if self.settings.question else [""] * len(questions)
        parts = [self._tokens(texts) for texts in (shown, candidates, references)]
        assemble = self._assemble_tags if self.settings.format == "tags" else self._assemble_pair
        return [assemble(question, candidate, reference) for question, candidate, reference in zip(*parts, strict=True)]

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        # The end of an over-long text matters more than its start: that is where answers and questions stand.
        limit = self.max_length * CHARACTERS_PER_TOKEN
        distinct = dict.fromkeys(text[-limit:] for text in texts)
        encoded = self.tokenizer(
            list(distinct),
            add_special_tokens=False,
            split_special_tokens=True,
            truncation=False,
            padding=False,
            verbose=False,
        )
        ids = dict(zip(distinct, encoded["input_ids"], strict=True))
        return [ids[text[-limit:]] for text in texts]

    def _assemble_tags(self, question: list[int], candidate: list[int], reference: list[int]) -> EncodedRow:
        start, end = self._around_one
        marks = 3 if self.settings.question else 2
        room = self.max_length - len(start) - len(end)
        cut = False
        if self.settings.truncation == "middle":
            question, candidate, reference, cut = truncate_parts(question, candidate, reference, room - marks)
        body = [self.tags["candidate"], *candidate, self.tags["reference"], *reference]
        if self.settings.question:
            body = [self.tags["question"], *question, *body]
        ids = (*start, *body[-room:], *end)
        return EncodedRow(ids, (0,) * len(ids), cut or len(body) > room)

    def _assemble_pair(self, question: list[int], candidate: list[int], reference: list[int]) -> EncodedRow:
        start, middle, end = self._around_two
        separator = [self._separator] if self.settings.question else []
        room = self.max_length - len(start) - len(middle) - len(end) - len(separator)
        question, candidate, reference, cut = truncate_parts(question, candidate, reference, room)
        first = (*start, *reference, *middle)
        second = (*candidate, *separator, *question, *end)
        return EncodedRow(first + second, (0,) * len(first) + (1,) * len(second), cut)

    @cached_property
    def _around_one(self) -> tuple[list[int], list[int]]:
        """Special tokens before and after a single text."""
        [word] = self._word
        ids = self._special("a")
        at = ids.index(word)
        return ids[:at], ids[at + 1 :]

    @cached_property
    def _around_two(self) -> tuple[list[int], list[int], list[int]]:
        """Special tokens before, between and after a pair of texts."""
        [word] = self._word
        ids = self._special("a", "a")
        first = ids.index(word)
        second = ids.index(word, first + 1)
        between = ids[first + 1 : second]
        # A tokenizer without a pair template puts nothing between the texts: the separator then does.
        return ids[:first], between or [self._separator], ids[second + 1 :]

    @cached_property
    def _word(self) -> list[int]:
        return self.tokenizer("a", add_special_tokens=False)["input_ids"]

    def _special(self, *texts: str) -> list[int]:
        return self.tokenizer(*texts, truncation=False)["input_ids"]

    @cached_property
    def _separator(self) -> int:
        token: Any = self.tokenizer.sep_token_id
        return self.tokenizer.eos_token_id if token is None else token


def truncate_parts(
    question: list[int], candidate: list[int], reference: list[int], room: int
) -> tuple[list[int], list[int], list[int], bool]:
    """Cut a row to `room` tokens in the order of what a verdict can do without.

    The reference is kept whole (only one longer than half the room loses its end); then the end of the candidate, where
    answers stand; then the end of the question, where the question itself stands after its context; then the rest.

    Returns:
        question, candidate, reference, and whether anything was cut.
    """
    if len(question) + len(candidate) + len(reference) <= room:
        return question, candidate, reference, False
    reference = reference[: max(room // 2, room - len(question) - len(candidate))]
    room -= len(reference)
    question_room = max(min(len(question), room // 4), room - len(candidate))
    candidate = truncate_middle(candidate, room - min(len(question), question_room))
    question = keep_tail(question, room - len(candidate))
    return question, candidate, reference, True


def truncate_middle(tokens: list[int], room: int) -> list[int]:
    """Keep a quarter of the room for the start of a text and the rest for its end."""
    if len(tokens) <= room:
        return tokens
    head = room // 4
    return tokens[:head] + keep_tail(tokens, room - head)


def keep_tail(tokens: list[int], room: int) -> list[int]:
    return tokens[len(tokens) - room :] if len(tokens) > room else tokens
