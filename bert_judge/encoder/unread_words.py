"""Words that a tokenizer loses: it replaces them by its unknown token, or reads them as it reads another word.

In tokenizers 0.23, WordPiece makes one unknown token of a word with a character outside its vocabulary and of a word of more than
`max_input_chars_per_word` characters (100). A normaliser may remove marks: for `BertNormalizer`, パリ and ハリ are one word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import cast

from tokenizers import Encoding

from bert_judge.encoder.encoding import RowEncoder

# Two characters that no vocabulary has: a tokenizer that reads them alike has an unknown token, the last of both.
_RARE = ("\U00012000", "\U00012001")
# Brackets around a name in its own script: "Bangkok (กรุงเทพมหานคร)".
_BRACKETS = re.compile(r"[(（][^()（）]*[)）]")
# First words of the names of characters whose words are the same without their marks (accents, vowel points), or have none.
_SCRIPTS_WITHOUT_MARKS = frozenset(
    {"LATIN", "GREEK", "CYRILLIC", "HEBREW", "ARABIC", "CJK", "HANGUL", "COMBINING", "VARIATION", "MODIFIER", "FULLWIDTH"}
    | {"FEMININE", "MASCULINE", "MICRO", "OHM", "KELVIN", "ANGSTROM", "MATHEMATICAL", "DOUBLE-STRUCK", "SCRIPT"}
)


@dataclass(frozen=True)
class ReadText:
    """What a tokenizer reads of a text.

    Attributes:
        share_lost: of its letters, digits and symbols, in [0, 1]. Brackets count only if the rest of the text has no letters.
        words: word, in one case and Unicode form → its tokens; of the words that lose something, or whose scripts lose marks.
    """

    share_lost: float = 0.0
    words: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def confuses(self, second: ReadText) -> bool:
        """Return whether the tokenizer reads a word of this text, which the other text lacks, as another word of that text."""
        additional = {tokens for word, tokens in second.words.items() if word not in self.words}
        return any(tokens in additional for word, tokens in self.words.items() if word not in second.words)


_READ = ReadText()


class TextReader:
    """Finds what the tokenizer of an encoder loses."""

    def __init__(self, encoder: RowEncoder) -> None:
        self._tokenizer = encoder.plain_tokenizer
        self._longest_word = getattr(self._tokenizer.model, "max_input_chars_per_word", None)
        # Whether words with a character need a closer look, by character.
        self._is_lossy: dict[str, bool] = {}

    @cached_property
    def ignores_case(self) -> bool:
        """Whether capital and small letters are the same tokens."""
        return self._encode("Aa") == self._encode("aA")

    def read(self, texts: Iterable[str]) -> dict[str, ReadText]:
        """Return text → what is read of it; most texts need not be tokenised for that."""
        distinct = dict.fromkeys(texts, _READ)
        if self._unknown is not None:
            lossy = [text for text in distinct if self._may_lose(text)]
            encodings = self._tokenizer.encode_batch(lossy, add_special_tokens=False)
            distinct |= {text: self._describe(text, encoding) for text, encoding in zip(lossy, encodings, strict=True)}
        return distinct

    @cached_property
    def _unknown(self) -> int | None:
        """The id of the unknown token; None if the tokenizer has none, because it falls back on bytes."""
        first, second = map(self._encode, _RARE)
        return first[-1] if first and first == second else None

    def _encode(self, text: str) -> list[int]:
        return self._tokenizer.encode(text, add_special_tokens=False).ids

    @cached_property
    def _long_word(self) -> re.Pattern[str]:
        return re.compile(rf"\S{{{cast(int, self._longest_word) + 1}}}")

    def _may_lose(self, text: str) -> bool:
        characters = set(text)
        for character in characters.difference(self._is_lossy):
            # If it is known at the start of a word and behind another letter, so is every word of such characters.
            is_unknown = self._unknown in self._encode(f"{character} a{character}")
            self._is_lossy[character] = is_unknown or _needs_marks(character)
        is_long = self._longest_word is not None and len(text) > self._longest_word
        return any(map(self._is_lossy.__getitem__, characters)) or (is_long and bool(self._long_word.search(text)))

    def _describe(self, text: str, encoding: Encoding) -> ReadText:
        positions_by_word: dict[int | None, list[int]] = {}
        for position, number in enumerate(encoding.word_ids):
            positions_by_word.setdefault(number, []).append(position)
        words = {}
        for positions in positions_by_word.values():
            start, end = encoding.offsets[positions[0]][0], encoding.offsets[positions[-1]][1]
            # The offsets leave out marks that were removed from the end.
            while end < len(text) and unicodedata.category(text[end])[0] == "M":
                end += 1
            ids, word = tuple(encoding.ids[i] for i in positions), unicodedata.normalize("NFKC", text[start:end]).casefold()
            # Lost symbols, such as emoji, decorate a text; a single letter of kana beside other words is a particle.
            is_lost = self._unknown in ids and any(map(str.isalnum, word))
            if is_lost or sum(map(_needs_marks, word)) > (len(positions_by_word) > 1):
                words[word] = ids
        unknown_spans = (span for span, token in zip(encoding.offsets, encoding.ids, strict=True) if token == self._unknown)
        return ReadText(_share_lost(text, {i for span in unknown_spans for i in range(*span)}), words)


def _share_lost(text: str, lost: set[int]) -> float:
    content = {position for position, character in enumerate(text) if unicodedata.category(character)[0] in "LNS"}
    lost &= content
    glosses = [range(*match.span()) for match in _BRACKETS.finditer(text) if not lost.isdisjoint(range(*match.span()))]
    outside = content.difference(*glosses)
    if any(text[position].isalnum() for position in outside):
        content = outside
    return len(lost & content) / len(content) if content else 0.0


def _needs_marks(character: str) -> bool:
    """Return whether a character is of a script in which marks distinguish words."""
    if character.isascii() or unicodedata.category(character)[0] not in "LM":
        return False
    return unicodedata.name(character, "LATIN").split(" ")[0] not in _SCRIPTS_WITHOUT_MARKS
