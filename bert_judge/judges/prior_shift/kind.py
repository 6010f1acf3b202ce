"""The judge kind `prior_shift`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bert_judge.judges.registry import JudgeKind

if TYPE_CHECKING:
    from bert_judge.judges.prior_shift.config import PriorShiftJudgeConfig


class PriorShiftKind(JudgeKind):
    """See `JudgeKind`."""

    name = "prior_shift"

    @property
    def config(self) -> type[PriorShiftJudgeConfig]:
        from bert_judge.judges.prior_shift.config import PriorShiftJudgeConfig

        return PriorShiftJudgeConfig


KIND = PriorShiftKind()
