"""What tokenizers lose of a text."""

from pathlib import Path

import pytest
from helpers import tiny_models
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from bert_judge.config import Input
from bert_judge.encoder import checkpoint
from bert_judge.encoder.encoding import RowEncoder, RowTokenizer
from bert_judge.encoder.unread_words import TextReader

THAI = "กรุงเทพ"


def make_reader(folder: Path, architecture: str) -> TextReader:
    return TextReader(checkpoint.load(tiny_models.encoder(folder, architecture), Input()).encoder)


@pytest.fixture(scope="module")
def wordpiece(tmp_path_factory: pytest.TempPathFactory) -> TextReader:
    return make_reader(tmp_path_factory.mktemp("wordpiece"), "bert")


@pytest.mark.parametrize(
    ("text", "share"),
    [
        ("Paris", 0),
        ("", 0),
        ("... ?!", 0),
        ("Größe, naïve", 0),
        (THAI, 1),
        # Marks are no letters: two of Thai's seven characters.
        (f"abcde {THAI}", 6 / 11),
        ("abcdefghi \U0001f600", 1 / 10),
        ("\U0001f600", 1),
        ("a" * 100, 0),
        ("a" * 101, 1),
        (f"the {'a' * 101}", 101 / 104),
        # A name in brackets in its own script counts if nothing else has letters.
        (f"paris ({THAI})", 0),
        (f"paris（{THAI}）", 0),
        (f"({THAI})", 1),
    ],
)
def test_share_of_a_text_that_is_lost(wordpiece: TextReader, text: str, share: float) -> None:
    assert wordpiece.read([text])[text].share_lost == pytest.approx(share)


@pytest.mark.parametrize(
    ("text", "other", "confused"),
    [
        ("กข", "คง", True),
        ("กข", "กข คง", False),
        ("a กข", "a", False),
        ("\U0001f600", "\U0001f622", False),
        ("東", "京", False),
        ("é", "e", False),
    ],
)
def test_different_words_that_are_read_alike(wordpiece: TextReader, text: str, other: str, confused: bool) -> None:
    read = wordpiece.read([text, other])
    assert read[text].confuses(read[other]) is confused


@pytest.mark.parametrize("architecture", ["eurobert", "roberta"])
def test_a_tokenizer_of_bytes_loses_nothing(tmp_path: Path, architecture: str) -> None:
    texts = [THAI, "a" * 500, "\U0001f600"]
    assert {read.share_lost for read in make_reader(tmp_path, architecture).read(texts).values()} == {0}


def test_a_vocabulary_of_pieces_loses_single_characters(tmp_path: Path) -> None:
    """A Unigram tokenizer, as of multilingual E5 and XLM-RoBERTa; this one lacks Thai and capital letters."""
    pieces = [("<unk>", 0.0), ("▁", -1.0), *((letter, -2.0) for letter in "abcdefghijklmnopqrstuvwxyz0123456789")]
    backend = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=False))
    backend.pre_tokenizer = pre_tokenizers.Metaspace()
    backend.normalizer = normalizers.NFKC()
    reader = TextReader(RowEncoder(RowTokenizer(backend, 0, 1, tmp_path), Input(), 128))
    read = reader.read([THAI, "abcก", "abcd", "ABcd", "a" * 500])
    assert [text.share_lost for text in read.values()] == [1, 1 / 4, 0, 1 / 2, 0]
    first, second = reader.read(["ab กก", "ab ขข"]).values()
    assert first.confuses(second)
