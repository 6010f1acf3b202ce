"""The judge kind `bert`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bert_judge.judges.registry import JudgeKind

if TYPE_CHECKING:
    from bert_judge.judges.bert.config import BertJudgeConfig


class BertKind(JudgeKind):
    """See `JudgeKind`."""

    name = "bert"

    @property
    def config(self) -> type[BertJudgeConfig]:
        from bert_judge.judges.bert.config import BertJudgeConfig

        return BertJudgeConfig


KIND = BertKind()
