"""Write a tiny language model with random weights into a folder, in a second and without a network:

    python examples/students/tiny_model.py models/tiny

It is untrained, for fine-tuning where no real model can be downloaded. Its tokenizer splits numbers into digits.
"""

import argparse
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedTokenizerFast, Qwen3Config

from bert_judge.tasks.registry import ANSWER_FORMATS, INSTRUCTIONS, instruction

TEXT = [instruction(family, style) for family in ANSWER_FORMATS for style in INSTRUCTIONS]
TEXT += ["Final answer: (A) even (B) odd", "Is the number even or odd?", "The quick brown fox jumps over the lazy dog."] * 5
ENDS = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
SHAPE = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 16,
    "max_position_embeddings": 512,
}


def train_tokenizer() -> PreTrainedTokenizerFast:
    """Train a byte-level BPE tokenizer."""
    bpe = Tokenizer(models.BPE())
    digits, letters = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.pre_tokenizer = pre_tokenizers.Sequence([digits, letters])
    bpe.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = sorted(ENDS.values())
    trainer = trainers.BpeTrainer(vocab_size=500, special_tokens=special, initial_alphabet=alphabet, show_progress=False)
    bpe.train_from_iterator(TEXT, trainer)
    return PreTrainedTokenizerFast(tokenizer_object=bpe, **ENDS)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="output folder")
    parser.add_argument("--architecture", choices=("llama", "qwen3"), default="llama")
    arguments = parser.parse_args()
    tokenizer = train_tokenizer()
    ids = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    shape = LlamaConfig if arguments.architecture == "llama" else Qwen3Config
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(shape(vocab_size=len(tokenizer), **SHAPE, **ids))
    model.save_pretrained(arguments.folder)
    tokenizer.save_pretrained(arguments.folder)
    weights = sum(parameter.numel() for parameter in model.parameters())
    print(f"{arguments.folder}: {arguments.architecture}, {weights:,} random weights, {len(tokenizer)} tokens")


if __name__ == "__main__":
    main()
