"""The judge kind `lexical`."""

from __future__ import annotations

from typing import Any

from bert_judge.judges.registry import JudgeKind, LoadContext


class LexicalKind(JudgeKind):
    name = "lexical"
    stage_version = 2
    definition_files = ("*.yaml", "*.py")

    def load(self, context: LoadContext) -> Any:
        from bert_judge.judges.lexical.judge import LexicalJudge

        return LexicalJudge(context.settings)


KIND = LexicalKind()
