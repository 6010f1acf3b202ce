"""The judge kind `probe`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bert_judge.judges.registry import JudgeKind

if TYPE_CHECKING:
    from bert_judge.judges.probe.config import ProbeJudgeConfig


class ProbeKind(JudgeKind):
    """See `JudgeKind`."""

    name = "probe"

    @property
    def config(self) -> type[ProbeJudgeConfig]:
        from bert_judge.judges.probe.config import ProbeJudgeConfig

        return ProbeJudgeConfig


KIND = ProbeKind()
