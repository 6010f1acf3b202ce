"""The judge kind `lexical`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bert_judge.judges.registry import JudgeKind

if TYPE_CHECKING:
    from bert_judge.judges.lexical.config import LexicalJudgeConfig


class LexicalKind(JudgeKind):
    """See `JudgeKind`."""

    name = "lexical"

    @property
    def config(self) -> type[LexicalJudgeConfig]:
        from bert_judge.judges.lexical.config import LexicalJudgeConfig

        return LexicalJudgeConfig


KIND = LexicalKind()
