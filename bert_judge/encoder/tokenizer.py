"""The tokenizer of an encoder: that of `tokenizers`, read from tokenizer.json, or from one of transformers."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tokenizers import Tokenizer

from bert_judge.assets import repository_files
from bert_judge.runtime.errors import InputError
from bert_judge.tables import atomic

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

FILE = "tokenizer.json"
SETTINGS_FILE = "tokenizer_config.json"


@dataclass(frozen=True)
class RowTokenizer:
    """A fast tokenizer.

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
            backend = Tokenizer.from_file(str(folder / FILE))
            tokens = [settings.get(name) for name in ("pad_token", "sep_token", "eos_token")]
            names = [token.get("content") if isinstance(token, dict) else token for token in tokens]
            pad, separator, end = (backend.token_to_id(name) if name else None for name in names)
        # `tokenizers` raises plain exceptions for a file that it cannot read.
        except Exception as error:
            raise InputError(f"{folder}: not a readable model: {FILE}: {' '.join(str(error).split())[:300]}") from error
        return cls(backend, pad, end if separator is None else separator, folder)

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
        copy_files(self.source, folder, [FILE, SETTINGS_FILE])


def copy_files(source: Path, folder: Path, names: Sequence[str]) -> None:
    """Copy files of a folder, if they are not there already."""
    for name in names:
        if source.resolve() != folder.resolve():
            with atomic(folder / name) as temporary:
                shutil.copyfile(source / name, temporary)
