"""Tiny random models: real architectures and tokenizers, no network, created in well under a second each.

`causal_lm` and `encoder` write a folder that `from_pretrained` reads. The weights are random but fixed by the seed, so that
tests are reproducible.
"""

from __future__ import annotations

import string
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, PreTrainedTokenizerFast
from transformers.models.bert import BertConfig
from transformers.models.deberta_v2 import DebertaV2Config
from transformers.models.eurobert import EuroBertConfig
from transformers.models.gpt2 import GPT2Config
from transformers.models.llama import LlamaConfig
from transformers.models.modernbert import ModernBertConfig
from transformers.models.mpnet import MPNetConfig
from transformers.models.qwen3 import Qwen3Config
from transformers.models.roberta import RobertaConfig

# More threads do not speed up models of this size.
torch.set_num_threads(1)

# The architectures of `encoder`. DeBERTa-v3 has the shape of deberta-v2, XLM-RoBERTa that of roberta.
ENCODERS = ["bert", "modernbert", "eurobert", "deberta-v2", "roberta", "mpnet"]

VOCABULARY = 600
TEXT = [
    "What is the capital of France? The capital of France is Paris.",
    "Final answer: 42. Let us think step by step, then conclude.",
    "Which planet is the largest? A) Mars B) Jupiter C) Venus D) Mercury",
    "A train leaves the station at noon and travels 60 kilometres in an hour; how far does it go in 3 hours?",
    "Größe, naïve, élève, señor, Ωmega, 東京は日本の首都です。",
    "The quick brown fox jumps over the lazy dog while seven wizards quietly mix judges, boxes and zebras.",
]

# The family's usual form: the beginning of the text comes from the template, so a tokenizer that adds it too would double it.
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and not enable_thinking %}<think>\n\n</think>\n\n"
    "{% elif enable_thinking is defined %}<think>\n{% endif %}{% endif %}"
)


def causal_lm(
    folder: Path,
    architecture: str = "llama",
    *,
    seed: int = 0,
    window: int = 512,
    template: str | None = CHAT_TEMPLATE,
    head_size: int = 16,
) -> Path:
    """Write a random language model with its tokenizer.

    Args:
        architecture: llama, qwen3 (rotary positions) or gpt2 (learned positions).
        window: longest sequence in tokens.
        template: the chat template; None for a base model.
        head_size: of an attention head; vLLM on a CPU does not support 16.
    """
    tokenizer = bpe_tokenizer(bos="<s>", eos="<|im_end|>", template=template)
    ids = {name: getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "pad")}
    common = {f"{name}_token_id": number for name, number in ids.items()} | {"vocab_size": len(tokenizer)}
    rotary = {
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "max_position_embeddings": window,
        "head_dim": head_size,
    }
    match architecture:
        case "llama":
            config = LlamaConfig(**common, **rotary)
        case "qwen3":
            config = Qwen3Config(**common, **rotary)
        case "gpt2":
            config = GPT2Config(**common, n_positions=window, n_embd=64, n_layer=2, n_head=4)
        case _:
            raise ValueError(architecture)
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config)
    _spread(model)
    return _save(folder, model, tokenizer)


def encoder(folder: Path, architecture: str = "bert", *, seed: int = 0, window: int = 128, labels: int = 2) -> Path:
    """Write a random encoder for sequence classification with its tokenizer.

    Args:
        architecture: one of `ENCODERS`.
        window: longest sequence in tokens.
    """
    match architecture:
        case "eurobert":
            tokenizer = bpe_tokenizer(bos="<s>", eos="</s>")
        case "roberta" | "mpnet":
            tokenizer = bpe_tokenizer_of_roberta()
        case _:
            tokenizer = wordpiece_tokenizer(architecture == "bert")
    tokenizer.model_max_length = window
    common = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "max_position_embeddings": window,
        "pad_token_id": tokenizer.pad_token_id,
        "num_labels": labels,
    }
    match architecture:
        case "bert":
            config = BertConfig(**common)
        case "modernbert":
            special = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "cls", "sep")}
            config = ModernBertConfig(**common, **special, local_attention=32)
        case "eurobert":
            special = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("bos", "eos", "mask")}
            config = EuroBertConfig(**common, **special, num_key_value_heads=2)
        case "roberta" | "mpnet":
            # Their position tables begin with rows that no token uses, as many as the padding token's id and one.
            common["max_position_embeddings"] = window + tokenizer.pad_token_id + 1
            config = RobertaConfig(**common, type_vocab_size=1) if architecture == "roberta" else MPNetConfig(**common)
        case "deberta-v2":
            # The flags of DeBERTa-v3's own configuration.
            v3 = {"relative_attention": True, "pos_att_type": ["p2c", "c2p"], "position_buckets": 32, "norm_rel_ebd": "layer_norm"}
            config = DebertaV2Config(**common, **v3, share_att_key=True, position_biased_input=False, type_vocab_size=0)
        case _:
            raise ValueError(architecture)
    torch.manual_seed(seed)
    return _save(folder, AutoModelForSequenceClassification.from_config(config), tokenizer)


def bpe_tokenizer(bos: str, eos: str, template: str | None = None) -> PreTrainedTokenizerFast:
    """A byte-level BPE that knows every text and, asked for special tokens, puts `bos` in front."""
    tokenizer = _byte_level_bpe(list(dict.fromkeys(["<pad>", bos, eos, "<mask>", "<|im_start|>", "<|im_end|>"])))
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A", pair=f"{bos} $A {eos} $B", special_tokens=[(t, tokenizer.token_to_id(t)) for t in (bos, eos)]
    )
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=bos, eos_token=eos, pad_token="<pad>", mask_token="<mask>")
    fast.chat_template = template
    return fast


def bpe_tokenizer_of_roberta() -> PreTrainedTokenizerFast:
    """A byte-level BPE with the special tokens of RoBERTa, in their order, and its form of a sentence pair; without token types."""
    tokenizer = _byte_level_bpe(["<s>", "<pad>", "</s>", "<mask>"])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    names = {"bos": "<s>", "cls": "<s>", "eos": "</s>", "sep": "</s>", "pad": "<pad>", "mask": "<mask>"}
    tokens = {f"{name}_token": token for name, token in names.items()}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_input_names=["input_ids", "attention_mask"], **tokens)


def _byte_level_bpe(special: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=special,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    return tokenizer


def wordpiece_tokenizer(segments: bool = False) -> PreTrainedTokenizerFast:
    """A lower-casing WordPiece with BERT's special tokens and its form of a sentence pair; `segments`: with token types."""
    words = BertPreTokenizer().pre_tokenize_str(BertNormalizer(lowercase=True).normalize_str(" ".join(TEXT)))
    letters = string.ascii_lowercase + string.digits
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *(f"##{letter}" for letter in letters)]
    # Built by hand, because the trainer breaks ties at random.
    vocabulary = dict.fromkeys([*pieces, *(word for word, _ in words)])
    tokenizer = Tokenizer(models.WordPiece({piece: number for number, piece in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[(t, tokenizer.token_to_id(t)) for t in ("[CLS]", "[SEP]")],
    )
    names = {"unk": "[UNK]", "pad": "[PAD]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]", "bos": "[CLS]", "eos": "[SEP]"}
    inputs = ["input_ids", *(["token_type_ids"] if segments else []), "attention_mask"]
    tokens = {f"{name}_token": token for name, token in names.items()}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_input_names=inputs, **tokens)


def _spread(model: torch.nn.Module) -> None:
    """Scale up the weights, so that logits differ clearly and rounding errors change no choice."""
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(4)


def _save(folder: Path, model: torch.nn.Module, tokenizer: PreTrainedTokenizerFast) -> Path:
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return Path(folder)
