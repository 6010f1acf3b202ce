"""The judge kind `cascade`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bert_judge.judges.registry import JudgeKind

if TYPE_CHECKING:
    from bert_judge.judges.cascade.config import CascadeJudgeConfig


class CascadeKind(JudgeKind):
    """See `JudgeKind`."""

    name = "cascade"

    @property
    def config(self) -> type[CascadeJudgeConfig]:
        from bert_judge.judges.cascade.config import CascadeJudgeConfig

        return CascadeJudgeConfig


KIND = CascadeKind()
