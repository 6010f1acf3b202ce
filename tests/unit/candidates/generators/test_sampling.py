"""Per-row sampling: the right distribution, the nucleus, and independence of the other rows."""

from __future__ import annotations

import pytest
import torch

from bert_judge.candidates.generators.sampling import RowSampling
from bert_judge.candidates.generators.seeds import row_seed

LOGITS = torch.log(torch.tensor([0.1, 0.5, 0.3, 0.06, 0.04]))
ROWS = 20_000


def drawn(seeds: list[int], temperature: float = 1.0, top_p: float = 1.0, step: int = 0) -> torch.Tensor:
    sampling = RowSampling(seeds, 4, 7, temperature, top_p)
    scores = sampling(torch.zeros(len(seeds), 7 + step, dtype=torch.long), LOGITS.repeat(len(seeds), 1))
    assert (scores == 0).sum(dim=1).tolist() == [1] * len(seeds)
    return scores.argmax(dim=1)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_shares_are_the_softmax(temperature: float) -> None:
    shares = torch.bincount(drawn(list(range(ROWS)), temperature), minlength=5) / ROWS
    # 4 standard deviations of a share near one half.
    assert torch.allclose(shares, torch.softmax(LOGITS / temperature, dim=0), atol=4 * 0.5 / ROWS**0.5)


@pytest.mark.parametrize(("top_p", "allowed"), [(0.05, {1}), (0.49, {1}), (0.7, {1, 2}), (0.85, {0, 1, 2}), (1.0, {0, 1, 2, 3, 4})])
def test_the_nucleus(top_p: float, allowed: set[int]) -> None:
    tokens = drawn(list(range(ROWS)), top_p=top_p)
    assert set(tokens.tolist()) == allowed
    kept = torch.tensor([probability if token in allowed else 0.0 for token, probability in enumerate(LOGITS.exp().tolist())])
    assert torch.allclose(torch.bincount(tokens, minlength=5) / ROWS, kept / kept.sum(), atol=4 * 0.5 / ROWS**0.5)


def test_rows_do_not_see_each_other() -> None:
    seeds = [3, 1, 4, 15, 9]
    assert drawn(seeds).tolist() == [drawn([seed]).item() for seed in seeds]
    assert drawn(seeds[::-1]).tolist() == drawn(seeds).tolist()[::-1]


def test_each_step_draws_anew() -> None:
    seeds = list(range(200))
    assert drawn(seeds, step=0).tolist() != drawn(seeds, step=1).tolist()


def test_row_seeds() -> None:
    seeds = {row_seed(seed, name, attempt) for seed in range(3) for name in ("a", "b", "Größe") for attempt in range(3)}
    assert len(seeds) == 27
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert row_seed(0, "a", 1) == row_seed(0, "a", 1)
