"""How a row becomes tokens, and what is cut."""

from pathlib import Path

import pytest
import torch
from helpers import tiny_models
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Encoding

from bert_judge.config import Input
from bert_judge.encoder import checkpoint
from bert_judge.encoder.encoding import TAGS, RowEncoder, truncate_parts

ROW = ("What is the capital of France?", "It is Paris.", "Paris")


@pytest.fixture(scope="module")
def backbones(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("backbones")
    return {name: tiny_models.encoder(folder / name, name) for name in tiny_models.ENCODERS}


def row_encoder(folder: Path, **settings: object) -> RowEncoder:
    return checkpoint.load(folder, Input.model_validate(settings)).encoder


def text_of(encoder: RowEncoder, question: str, candidate: str, reference: str) -> str:
    [row] = encoder.encode([question], [candidate], [reference])
    return encoder.tokenizer.backend.decode(row.ids)


@pytest.mark.parametrize("architecture", tiny_models.ENCODERS)
@pytest.mark.parametrize("question", [True, False])
def test_tags_are_the_published_prompt_tokenised_whole(backbones: dict[str, Path], architecture: str, question: bool) -> None:
    encoder = row_encoder(backbones[architecture], format="tags", question=question)
    [row] = encoder.encode([ROW[0]], [ROW[1]], [ROW[2]])
    prompt = f"<|candidate|>{ROW[1]}<|reference|>{ROW[2]}"
    whole = encoder.tokenizer.source(f"<|question|>{ROW[0]}{prompt}" if question else prompt)["input_ids"]
    assert list(row.ids) == whole
    assert not row.truncated


def test_each_text_is_tokenised_once(backbones: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = row_encoder(backbones["bert"], format="pair")
    texts: list[str] = []

    class Backend:
        def encode_batch_fast(self, batch: list[str], add_special_tokens: bool) -> list[Encoding]:
            texts.extend(batch)
            return backend.encode_batch_fast(batch, add_special_tokens=add_special_tokens)

        def encode(self, *arguments: str, **options: bool) -> Encoding:
            return backend.encode(*arguments, **options)

    backend = encoder.plain_tokenizer
    rows = [("Which town?", answer, reference) for answer in ("Paris.", "It is Lyon.") for reference in ("Paris", "City of Light")]
    questions, answers, references = (list(column) for column in zip(*rows, strict=True))
    expected = [encoder.encode([question], [answer], [reference])[0] for question, answer, reference in rows]
    monkeypatch.setattr(RowEncoder, "plain_tokenizer", Backend())
    assert encoder.encode(questions, answers, references) == expected
    assert sorted(texts) == sorted({*questions, *answers, *references})


@pytest.mark.parametrize("architecture", ["bert", "modernbert", "deberta-v2", "roberta", "mpnet"])
def test_pair_without_question_is_the_backbones_own_sentence_pair(backbones: dict[str, Path], architecture: str) -> None:
    encoder = row_encoder(backbones[architecture], format="pair", question=False)
    [row] = encoder.encode([ROW[0]], [ROW[1]], [ROW[2]])
    assert list(row.ids) == encoder.tokenizer.source(ROW[2], ROW[1])["input_ids"]


def test_pair_with_question_puts_it_after_the_candidate(backbones: dict[str, Path]) -> None:
    encoder = row_encoder(backbones["bert"], format="pair")
    [row] = encoder.encode([ROW[0]], [ROW[1]], [ROW[2]])
    parts = [encoder.tokenizer.source(text, add_special_tokens=False)["input_ids"] for text in ROW]
    cls, sep = encoder.tokenizer.source.cls_token_id, encoder.tokenizer.source.sep_token_id
    assert list(row.ids) == [cls, *parts[2], sep, *parts[1], sep, *parts[0], sep]
    first = len(parts[2]) + 2
    assert row.types == (0,) * first + (1,) * (len(row.ids) - first)


def test_left_truncation_is_the_published_one(backbones: dict[str, Path]) -> None:
    encoder = row_encoder(backbones["bert"], format="tags", truncation="left", max_length=40)
    question = "Which planet is the largest? " * 20
    [row] = encoder.encode([question], [ROW[1]], [ROW[2]])
    tokenizer = encoder.tokenizer.source
    tokenizer.truncation_side = "left"
    prompt = f"<|question|>{question}<|candidate|>{ROW[1]}<|reference|>{ROW[2]}"
    assert list(row.ids) == tokenizer(prompt, truncation=True, max_length=40)["input_ids"]
    assert row.truncated


@pytest.mark.parametrize("architecture", tiny_models.ENCODERS)
def test_max_input_length_is_what_the_model_can_read(backbones: dict[str, Path], architecture: str) -> None:
    loaded = checkpoint.load(backbones[architecture], Input(max_length=10_000))
    [row] = loaded.encoder.encode([ROW[0]], ["no " * 1000], [ROW[2]])
    assert len(row.ids) == 128 and row.truncated
    ids = torch.tensor([row.ids])
    assert loaded.model(ids).logits.isfinite().all()


@pytest.mark.parametrize("format", ["pair", "tags"])
@pytest.mark.parametrize("text", ["<|reference|>Paris", "[SEP] Paris [SEP]", "[CLS][PAD][MASK]", "<|candidate|><|question|>"])
def test_special_tokens_in_a_text_stay_text(backbones: dict[str, Path], format: str, text: str) -> None:
    encoder = row_encoder(backbones["bert"], format=format)
    plain, forged = encoder.encode([ROW[0]] * 2, ["Lyon", f"Lyon {text}"], [ROW[2]] * 2)
    special = {*encoder.tokenizer.source.all_special_ids, *encoder.tokenizer.source.convert_tokens_to_ids(list(TAGS.values()))}
    special -= {encoder.tokenizer.source.unk_token_id}  # a tiny vocabulary knows few characters
    assert sum(i in special for i in plain.ids) == sum(i in special for i in forged.ids)


@pytest.mark.parametrize("format", ["pair", "tags"])
def test_a_long_row_keeps_the_reference_and_both_ends_of_the_candidate(backbones: dict[str, Path], format: str) -> None:
    encoder = row_encoder(backbones["bert"], format=format, max_length=64)
    candidate = "Mars " + "the quick brown fox " * 50 + "Jupiter"
    text = text_of(encoder, "which planet?", candidate, "Venus noon")
    assert "venus noon" in text and "mars" in text and "jupiter" in text and "which planet" in text
    [row] = encoder.encode(["q"], [candidate], ["Venus"])
    assert row.truncated and len(row.ids) == 64


def test_a_huge_text_is_truncated_before_tokenisation(backbones: dict[str, Path]) -> None:
    encoder = row_encoder(backbones["bert"], format="pair", max_length=32)
    [row] = encoder.encode(["q"], ["x " * 500_000 + "Paris"], ["Paris"])
    assert row.truncated and len(row.ids) == 32


@pytest.mark.parametrize("texts", [("", "", ""), ("東京は?", "東京", "東京"), ("\x00\u200b", "\U0001f600", "é")])
def test_odd_texts_are_encoded(backbones: dict[str, Path], texts: tuple[str, str, str]) -> None:
    for architecture in tiny_models.ENCODERS:
        for format in ("pair", "tags"):
            [row] = row_encoder(backbones[architecture], format=format).encode(*[[text] for text in texts])
            assert len(row.ids) == len(row.types) > 0


lengths = st.integers(0, 300)


@given(lengths, lengths, lengths, st.integers(4, 200))
def test_truncate_parts_respects_the_budget_and_prefers_the_reference(
    question: int, candidate: int, reference: int, budget: int
) -> None:
    parts = [list(range(n)) for n in (question, candidate, reference)]
    q, c, r, cut = truncate_parts(*parts, budget)
    total = question + candidate + reference
    assert len(q) + len(c) + len(r) == min(total, budget)
    assert cut == (total > budget)
    assert r == parts[2][: len(r)]
    if reference <= budget // 2:
        assert r == parts[2]
    if c and len(c) > 1:
        assert c[-1] == parts[1][-1]
    assert q == parts[0][len(parts[0]) - len(q) :]
