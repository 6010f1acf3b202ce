"""The judge kind `lexical`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bert_judge.judges.registry import JudgeKind, LoadContext

if TYPE_CHECKING:
    from bert_judge.judges.lexical.config import LexicalJudgeConfig


class LexicalKind(JudgeKind):
    """See `JudgeKind`."""

    name = "lexical"
    stage_version = 2
    definition_files = ("*.yaml", "*.py")

    @property
    def config(self) -> type[LexicalJudgeConfig]:
        from bert_judge.judges.lexical.config import LexicalJudgeConfig

        return LexicalJudgeConfig

    def load(self, context: LoadContext) -> Any:
        from bert_judge.judges.lexical.judge import LexicalJudge

        return LexicalJudge(context.settings)


KIND = LexicalKind()
