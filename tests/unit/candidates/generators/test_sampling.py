"""Per-row sampling: distribution, nucleus, and independence of the other rows."""

from __future__ import annotations

import pytest
import torch

from bert_judge.candidates.generators.hf import PerRowSampling
from bert_judge.candidates.generators.protocol import Request
from bert_judge.tasks import Sample

LOGITS = torch.log(torch.tensor([0.1, 0.5, 0.3, 0.06, 0.04]))
ROWS = 20_000


def draw(seeds: list[int], temperature: float = 1.0, top_p: float = 1.0, step: int = 0) -> torch.Tensor:
    sampling = PerRowSampling(seeds, 4, 7, temperature, top_p=top_p)
    scores = sampling(torch.zeros(len(seeds), 7 + step, dtype=torch.long), LOGITS.repeat(len(seeds), 1))
    assert (scores == 0).sum(dim=1).tolist() == [1] * len(seeds)
    return scores.argmax(dim=1)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_frequencies_follow_the_softmax(temperature: float) -> None:
    shares = torch.bincount(draw(list(range(ROWS)), temperature), minlength=5) / ROWS
    # 4 standard deviations of a share near one half.
    assert torch.allclose(shares, torch.softmax(LOGITS / temperature, dim=0), atol=4 * 0.5 / ROWS**0.5)


@pytest.mark.parametrize(("top_p", "allowed"), [(0.05, {1}), (0.49, {1}), (0.7, {1, 2}), (0.85, {0, 1, 2}), (1.0, {0, 1, 2, 3, 4})])
def test_nucleus(top_p: float, allowed: set[int]) -> None:
    tokens = draw(list(range(ROWS)), top_p=top_p)
    assert set(tokens.tolist()) == allowed
    nucleus = torch.tensor([probability if token in allowed else 0.0 for token, probability in enumerate(LOGITS.exp().tolist())])
    assert torch.allclose(torch.bincount(tokens, minlength=5) / ROWS, nucleus / nucleus.sum(), atol=4 * 0.5 / ROWS**0.5)


def test_rows_are_independent() -> None:
    seeds = [3, 1, 4, 15, 9]
    assert draw(seeds).tolist() == [draw([seed]).item() for seed in seeds]
    assert draw(seeds[::-1]).tolist() == draw(seeds).tolist()[::-1]


def test_steps_use_different_numbers() -> None:
    seeds = list(range(200))
    assert draw(seeds, step=0).tolist() != draw(seeds, step=1).tolist()


def test_seed_depends_on_prompt_and_attempt_only() -> None:
    requests = [Request(f"s{n}", n, prompt, Sample(prompt, ())) for prompt in ("a", "b", "Größe") for n in range(3)]
    seeds = {request.seed(base) for base in range(3) for request in requests}
    assert len(seeds) == 27
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert Request("other", 1, "a", Sample("q", ("r",))).seed(0) == requests[1].seed(0)
