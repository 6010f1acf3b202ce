"""The judge kind `llm`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bert_judge.judges.registry import JudgeKind

if TYPE_CHECKING:
    from bert_judge.judges.llm.config import LLMJudgeConfig


class LLMKind(JudgeKind):
    """See `JudgeKind`."""

    name = "llm"

    @property
    def config(self) -> type[LLMJudgeConfig]:
        from bert_judge.judges.llm.config import LLMJudgeConfig

        return LLMJudgeConfig


KIND = LLMKind()
