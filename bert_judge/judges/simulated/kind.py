"""The judge kind `simulated`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bert_judge.judges.registry import JudgeKind

if TYPE_CHECKING:
    from bert_judge.judges.simulated.config import SimulatedJudgeConfig


class SimulatedKind(JudgeKind):
    """See `JudgeKind`."""

    name = "simulated"

    @property
    def config(self) -> type[SimulatedJudgeConfig]:
        from bert_judge.judges.simulated.config import SimulatedJudgeConfig

        return SimulatedJudgeConfig


KIND = SimulatedKind()
