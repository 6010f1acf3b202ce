"""Sampling whose draws belong to the row, so that a row's answer does not depend on the rows beside it."""

from __future__ import annotations

import torch
from transformers import LogitsProcessor


class RowSampling(LogitsProcessor):
    """Draws each row's next token with that row's random numbers and leaves it as the only possible one.

    `generate` with `do_sample=False` then takes it. Its own sampling draws from one stream for the whole batch, in which a row's
    numbers depend on the batch. A token is found by inverting the cumulative distribution, so one number per step is enough.

    Args:
        seeds: one per row.
        steps: most tokens to draw.
        start: length of the (padded) prompts, in tokens.
        temperature: above 0.
        top_p: smallest probability mass of the most likely tokens that may be drawn (nucleus sampling).
    """

    def __init__(self, seeds: list[int], steps: int, start: int, temperature: float, top_p: float) -> None:
        # On the CPU, whose generator gives the same numbers on every machine.
        streams = [torch.rand(steps, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) for seed in seeds]
        self.draws = torch.stack(streams)
        self.start, self.temperature, self.top_p = start, temperature, top_p

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """Scores of shape (rows, vocabulary) → 0 for the drawn token and -inf for all others."""
        draw = self.draws[:, input_ids.shape[1] - self.start].to(scores.device, torch.float32).unsqueeze(1)
        probability, token = torch.softmax(scores.float() / self.temperature, dim=-1).sort(dim=-1, descending=True, stable=True)
        mass = probability.cumsum(dim=-1)
        # The nucleus ends with the token that reaches top_p.
        size = (mass < self.top_p).sum(dim=-1, keepdim=True).clamp(max=mass.shape[1] - 1)
        place = torch.searchsorted(mass, draw * mass.gather(1, size), right=True).minimum(size)
        return torch.full_like(scores, float("-inf")).scatter(1, token.gather(1, place), 0.0)  # type: ignore[return-value]
