"""The judge kind `pairwise`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bert_judge.judges.registry import JudgeKind

if TYPE_CHECKING:
    from bert_judge.judges.pairwise.config import PairwiseJudgeConfig


class PairwiseKind(JudgeKind):
    """See `JudgeKind`."""

    name = "pairwise"

    @property
    def config(self) -> type[PairwiseJudgeConfig]:
        from bert_judge.judges.pairwise.config import PairwiseJudgeConfig

        return PairwiseJudgeConfig


KIND = PairwiseKind()
