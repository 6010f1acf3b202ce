"""Batches of prompts with completions."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from bert_judge.candidates.tuning import IGNORE_INDEX, Example, collate

EXAMPLES = [Example([5, 6, 7, 8], [9, 2]), Example([5], [6, 2]), Example([4, 3, 9, 9, 8, 7], [5, 5, 5, 2])]


def model() -> LlamaForCausalLM:
    torch.manual_seed(0)
    sizes = {"vocab_size": 12, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    return LlamaForCausalLM(LlamaConfig(**sizes, pad_token_id=0)).eval()


def test_a_batch_has_the_loss_of_its_completions_one_by_one() -> None:
    tiny = model()
    losses = []
    with torch.no_grad():
        for example in EXAMPLES:
            ids = torch.tensor([example.prompt + example.completion])
            labels = torch.tensor([[IGNORE_INDEX] * len(example.prompt) + example.completion])
            losses += [tiny(ids, labels=labels).loss * len(example.completion)]
        expected = sum(losses) / sum(len(example.completion) for example in EXAMPLES)
        torch.testing.assert_close(tiny(**collate(EXAMPLES, pad_id=0)).loss, expected)


def test_every_token_attends_to_something() -> None:
    """Of a token that attends to nothing, as padding on the left is, some kernels return gradients that are not finite."""
    batch = collate(EXAMPLES, pad_id=0)
    assert batch["attention_mask"][:, 0].all()
    assert batch["labels"].shape[1] == batch["logits_to_keep"]
