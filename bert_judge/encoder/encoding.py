"""The tokenizer of an encoder, and rows as it encodes them: question, candidate and reference as one token sequence, truncated if
it is too long.

Two formats. `tags` is the published one, three added tokens in one text:
`<|question|>…<|candidate|>…<|reference|>…`. `pair` is the backbone's own sentence pair, the reference against the candidate
followed by the question: `[CLS] reference [SEP] candidate [SEP] question [SEP]`.

Special tokens inside a part are tokenised as plain text, so a candidate cannot change the structure. Each distinct text is
tokenised once, because many answers share a question and its references.
"""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from tokenizers import Tokenizer

from bert_judge.assets import repository_files
from bert_judge.config import Input
from bert_judge.runtime.errors import InputError
from bert_judge.tables import atomic
from bert_judge.text.features import truncate_middle
from bert_judge.text.word_metrics import token_f1

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

TOKENIZER_FILE = "tokenizer.json"
SETTINGS_FILE = "tokenizer_config.json"


@dataclass(frozen=True)
class RowTokenizer:
    """A fast tokenizer: that of `tokenizers`, read from tokenizer.json, or from one of transformers.

    Attributes:
        separator_id: of the token between texts, or else of the one that ends a text.
        source: the tokenizer of transformers, or the folder that it was read from; `save` writes the same files.
    """

    backend: Tokenizer
    pad_token_id: int | None
    separator_id: int | None
    source: PreTrainedTokenizerBase | Path

    @classmethod
    def wrap(cls, tokenizer: PreTrainedTokenizerBase) -> RowTokenizer:
        """Return the fast tokenizer inside one of transformers."""
        separator: Any = tokenizer.sep_token_id if tokenizer.sep_token_id is not None else tokenizer.eos_token_id
        pad: Any = tokenizer.pad_token_id
        return cls(tokenizer.backend_tokenizer, pad, separator, tokenizer)

    @classmethod
    def read(cls, folder: Path) -> RowTokenizer:
        """Read the tokenizer that a judge was saved with. Raises InputError: it is invalid, or the model is incomplete."""
        repository_files.list_model_files(folder, remote_code=False, where=str(folder))
        try:
            settings = json.loads((folder / SETTINGS_FILE).read_text("utf-8"))
            backend = Tokenizer.from_file(str(folder / TOKENIZER_FILE))
            tokens = [settings.get(name) for name in ("pad_token", "sep_token", "eos_token")]
            names = [token.get("content") if isinstance(token, dict) else token for token in tokens]
            pad, separator, end = (backend.token_to_id(name) if name else None for name in names)
        # `tokenizers` raises plain exceptions for a file that it cannot read.
        except Exception as error:
            raise InputError(f"{folder}: not a readable model: {TOKENIZER_FILE}: {' '.join(str(error).split())[:300]}") from error
        return cls(backend, pad, end if separator is None else separator, folder)

    def __reduce__(self) -> tuple[Any, ...]:
        # A copy for another process encodes and is not saved: the tokenizer of transformers would be imported there.
        return RowTokenizer, (self.backend, self.pad_token_id, self.separator_id, Path())

    def add_special_tokens(self, tokens: Sequence[str]) -> None:
        """Add tokens that no text contains, where they are missing."""
        if isinstance(self.source, Path):
            self.backend.add_special_tokens(list(tokens))
        else:
            self.source.add_special_tokens({"additional_special_tokens": list(tokens)})

    def check_ids(self, folder: Path, embeddings: int) -> None:
        """Refuse ids without an embedding, for which some backends read other memory."""
        ids = [*self.backend.get_vocab().values(), *self.backend.encode("a", "b").ids, self.pad_token_id or 0]
        if max(ids) >= embeddings or min(ids) < 0:
            raise InputError(
                f"{folder}: its tokenizer has the id {max(ids)}, and the model {embeddings:,} embeddings; download it again"
            )

    def save(self, folder: Path) -> None:
        """Write the tokenizer's files."""
        if not isinstance(self.source, Path):
            self.source.save_pretrained(folder)
            return
        copy_files(self.source, folder, [TOKENIZER_FILE, SETTINGS_FILE])


def copy_files(source: Path, folder: Path, names: Sequence[str]) -> None:
    """Copy files of a folder, if they are not there already."""
    for name in names:
        if source.resolve() != folder.resolve():
            with atomic(folder / name) as temporary:
                shutil.copyfile(source / name, temporary)


TAGS = {"question": "<|question|>", "candidate": "<|candidate|>", "reference": "<|reference|>"}

# An upper limit: longer texts would be truncated anyway, so the tokenizer does not get them whole.
CHARACTERS_PER_TOKEN = 20
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class EncodedRow:
    """One row as the encoder reads it: token ids, special tokens included; the segment of each token, 0 or 1; whether something was
    cut."""

    ids: tuple[int, ...]
    types: tuple[int, ...]
    truncated: bool


class RowEncoder:
    """Encodes rows for one tokenizer and one input format, at most `settings.max_length` and the backbone's window in tokens.

    In the format `tags`, the tokenizer knows the three tags.
    """

    def __init__(self, tokenizer: RowTokenizer, settings: Input, window: int) -> None:
        self.tokenizer = tokenizer
        self.settings = settings
        self.max_length = min(settings.max_length, window)
        if settings.format == "tags":
            self.tags = {name: cast(int, tokenizer.backend.token_to_id(tag)) for name, tag in TAGS.items()}

    def encode(self, questions: Sequence[str], candidates: Sequence[str], references: Sequence[str]) -> list[EncodedRow]:
        """Return one encoded row per (question, candidate, reference)."""
        visible_questions = questions if self.settings.question else [""] * len(questions)
        token_lists = [self._tokens(texts) for texts in (visible_questions, candidates, references)]
        assemble = self._assemble_tags if self.settings.format == "tags" else self._assemble_pair
        return [assemble(question, candidate, reference) for question, candidate, reference in zip(*token_lists, strict=True)]

    def encode_answers(
        self, questions: Sequence[str], references: Sequence[Sequence[str]], candidates: Sequence[str]
    ) -> list[list[EncodedRow]]:
        """Return per answer one encoded row per reference."""
        counts = [len(texts) for texts in references]
        rows = self.encode(
            [question for question, n in zip(questions, counts, strict=True) for _ in range(n)],
            [candidate for candidate, n in zip(candidates, counts, strict=True) for _ in range(n)],
            [text for texts in references for text in texts],
        )
        ends = list(itertools.accumulate(counts))
        return [rows[end - n : end] for end, n in zip(ends, counts, strict=True)]

    def _tokens(self, texts: Sequence[str]) -> list[list[int]]:
        # The end of an over-long text is kept, because answers and questions usually stand there.
        limit = self.max_length * CHARACTERS_PER_TOKEN
        distinct = dict.fromkeys(text[-limit:] for text in texts)
        encodings = self.plain_tokenizer.encode_batch_fast(list(distinct), add_special_tokens=False)
        ids = {text: encoding.ids for text, encoding in zip(distinct, encodings, strict=True)}
        return [ids[text[-limit:]] for text in texts]

    @property
    def plain_tokenizer(self) -> Tokenizer:
        """The tokenizer, which reads special tokens in a text as text. transformers may have changed its settings."""
        backend = self.tokenizer.backend
        backend.no_truncation()
        backend.no_padding()
        backend.encode_special_tokens = True
        return backend

    def _assemble_tags(self, question: list[int], candidate: list[int], reference: list[int]) -> EncodedRow:
        prefix, suffix = self._single_template
        num_tags = 3 if self.settings.question else 2
        budget = self.max_length - len(prefix) - len(suffix)
        truncated = False
        if self.settings.truncation == "middle":
            question, candidate, reference, truncated = truncate_parts(question, candidate, reference, budget - num_tags)
        body = [self.tags["candidate"], *candidate, self.tags["reference"], *reference]
        if self.settings.question:
            body = [self.tags["question"], *question, *body]
        ids = (*prefix, *body[-budget:], *suffix)
        return EncodedRow(ids, (0,) * len(ids), truncated or len(body) > budget)

    def _assemble_pair(self, question: list[int], candidate: list[int], reference: list[int]) -> EncodedRow:
        prefix, middle, suffix = self._pair_template
        separator = [self._separator] if self.settings.question else []
        budget = self.max_length - len(prefix) - len(middle) - len(suffix) - len(separator)
        question, candidate, reference, truncated = truncate_parts(question, candidate, reference, budget)
        first = (*prefix, *reference, *middle)
        second = (*candidate, *separator, *question, *suffix)
        return EncodedRow(first + second, (0,) * len(first) + (1,) * len(second), truncated)

    @cached_property
    def _single_template(self) -> tuple[list[int], list[int]]:
        ids = self.plain_tokenizer.encode("a").ids
        position = ids.index(self._placeholder)
        return ids[:position], ids[position + 1 :]

    @cached_property
    def _pair_template(self) -> tuple[list[int], list[int], list[int]]:
        ids = self.plain_tokenizer.encode("a", "a").ids
        first = ids.index(self._placeholder)
        second = ids.index(self._placeholder, first + 1)
        # A tokenizer without a pair template puts nothing between the texts.
        return ids[:first], ids[first + 1 : second] or [self._separator], ids[second + 1 :]

    @cached_property
    def _placeholder(self) -> int:
        """Return the token of the text "a", which locates the special tokens around it."""
        [token] = self.plain_tokenizer.encode("a", add_special_tokens=False).ids
        return token

    @property
    def _separator(self) -> int:
        assert self.tokenizer.separator_id is not None
        return self.tokenizer.separator_id


def truncate_parts(
    question: list[int], candidate: list[int], reference: list[int], budget: int
) -> tuple[list[int], list[int], list[int], bool]:
    """Truncate a row to `budget` tokens, starting with the text that matters least for the verdict.

    The reference is kept whole (one longer than half the budget loses its end), then the end of the candidate, where answers
    stand, then the end of the question, where the question follows its context, then the rest.
    """
    if len(question) + len(candidate) + len(reference) <= budget:
        return question, candidate, reference, False
    reference = reference[: max(budget // 2, budget - len(question) - len(candidate))]
    budget -= len(reference)
    question_budget = max(min(len(question), budget // 4), budget - len(candidate))
    candidate = truncate_middle(candidate, budget - min(len(question), question_budget))
    question = keep_tail(question, budget - len(candidate))
    return question, candidate, reference, True


def keep_tail(tokens: list[int], budget: int) -> list[int]:
    """Keep the last `budget` tokens."""
    return tokens[len(tokens) - budget :] if len(tokens) > budget else tokens


def closest_references(references: Sequence[Sequence[str]], candidates: Sequence[str]) -> list[str]:
    """Return per row the reference with the highest word F1 against the candidate, the first of equal ones."""
    closest = []
    for texts, candidate in zip(references, candidates, strict=True):
        words = _WORD.findall(candidate.casefold())
        scores = [token_f1(_WORD.findall(text.casefold()), words) for text in texts]
        closest.append(texts[scores.index(max(scores))])
    return closest


def fair_lengths(lengths: Sequence[int], limit: int) -> list[int]:
    """Allocate tokens to parts of these lengths by max-min fairness: short parts keep all, long ones an equal number each."""
    if sum(lengths) <= limit:
        return list(lengths)
    # The short parts, from the shortest, leave their remainder to the long ones.
    remaining, parts_left = limit, len(lengths)
    share = 0
    for length in sorted(lengths):
        share = remaining // parts_left
        if length > share:
            break
        remaining, parts_left = remaining - length, parts_left - 1
    return [min(length, share) for length in lengths]
