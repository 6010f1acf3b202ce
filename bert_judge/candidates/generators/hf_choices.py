"""How likely each of a few answers is, by the whole of its tokens: one forward pass, nothing is generated."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from bert_judge.candidates.generators.choices import normalized
from bert_judge.candidates.generators.hf_model import LoadedModel


@torch.inference_mode()
def probabilities(
    loaded: LoadedModel, prompts: Sequence[Sequence[int]], choices: Sequence[Sequence[str]], options: Sequence[Sequence[list[int]]]
) -> list[dict[str, float]]:
    """For each prompt, choice → probability given that the answer is one of them.

    The end token is left out of it: how often a model goes on after a word says nothing about the word. So of two choices of which
    one begins the other, the shorter is always the likelier.

    Args:
        prompts: token ids.
        choices, options: for each prompt the choices, as words and as token ids.
    """
    rows = [[*prompt, *option] for prompt, some in zip(prompts, options, strict=True) for option in some]
    width, longest = max(map(len, rows)), max(len(option) for some in options for option in some)
    # Left padding: every row ends at the same place, and only the logits of the last tokens are computed.
    ids = torch.full((len(rows), width), loaded.pad)
    mask = torch.zeros_like(ids)
    for number, row in enumerate(rows):
        ids[number, width - len(row) :] = torch.tensor(row)
        mask[number, width - len(row) :] = 1
    ids, mask = ids.to(loaded.model.device), mask.to(loaded.model.device)
    positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
    logits = loaded.model(ids, attention_mask=mask, position_ids=positions, logits_to_keep=longest + 1).logits
    # The logits of a place are about the token after it.
    likely = torch.log_softmax(logits[:, -longest - 1 : -1].float(), dim=-1).gather(2, ids[:, -longest:].unsqueeze(2)).squeeze(2)
    lengths = torch.tensor([len(option) for some in options for option in some], device=likely.device)
    counted = torch.arange(longest, device=likely.device) >= longest - lengths.unsqueeze(1)
    sums = iter((likely * counted).sum(dim=1).tolist())
    return [normalized({choice: next(sums) for choice in some}) for some in choices]
