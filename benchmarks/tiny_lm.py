"""A small language model with random weights and a tokenizer trained on the given texts, for machines without a network."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedTokenizerFast

VOCABULARY, WINDOW = 8000, 2048
SPECIAL = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"}
SHAPE = {"hidden_size": 128, "intermediate_size": 384, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 4}


def write(folder: Path, texts: Iterable[str]) -> Path:
    """Write a causal language model of about two and a half million weights, the same one for the same texts.

    Args:
        texts: what the tokenizer learns its words from; it knows every other text by its bytes.
    """
    made = Tokenizer(models.BPE())
    # Each digit is a token, so that scores are.
    digits, letters = pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.pre_tokenizer = pre_tokenizers.Sequence([digits, letters])
    made.decoder = decoders.ByteLevel()
    special = sorted(SPECIAL.values())
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=special, initial_alphabet=alphabet, show_progress=False, min_frequency=2
    )
    made.train_from_iterator(texts, trainer)
    words = PreTrainedTokenizerFast(tokenizer_object=made, **SPECIAL)
    ids = {name.replace("token", "token_id"): words.convert_tokens_to_ids(token) for name, token in SPECIAL.items()}
    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=len(words), max_position_embeddings=WINDOW, tie_word_embeddings=True, **SHAPE, **ids)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder
