"""Batches of similar length whose size is bounded in tokens, not in rows, so that little is computed on padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence


def by_token_budget(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Positions of rows, longest first, in batches of at most `budget` tokens, padding included.

    A row longer than the budget makes a batch of its own. Longest first: a batch that does not fit into memory shows at once.
    """
    batch: list[int] = []
    longest = 0
    for position in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if batch and longest * (len(batch) + 1) > budget:
            yield batch
            batch = []
        if not batch:
            longest = lengths[position]
        batch.append(position)
    if batch:
        yield batch
