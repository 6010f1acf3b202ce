"""The judge kind `imported`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bert_judge.judges.registry import JudgeKind

if TYPE_CHECKING:
    from bert_judge.judges.imported.config import ImportedJudgeConfig


class ImportedKind(JudgeKind):
    """See `JudgeKind`."""

    name = "imported"

    @property
    def config(self) -> type[ImportedJudgeConfig]:
        from bert_judge.judges.imported.config import ImportedJudgeConfig

        return ImportedJudgeConfig


KIND = ImportedKind()
