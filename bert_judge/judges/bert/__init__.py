"""The judge kind `bert`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bert_judge.judges.registry import (
    RESULTS,
    Dependencies,
    Inputs,
    JudgeKind,
    LabelResources,
    LoadContext,
    RunPlan,
    Spec,
    overlap_inputs,
    read_card,
)

if TYPE_CHECKING:
    from bert_judge.judges.bert.config import BertJudgeConfig


class BertKind(JudgeKind):
    name = "bert"
    is_trained = True
    is_calibrated = True
    keeps_progress = True
    counts_training = True

    def settings(self, block: BertJudgeConfig) -> Spec:
        return block.model_dump(mode="json", include={"kind", *block.inference_keys})

    def depends_on(self, block: BertJudgeConfig) -> Dependencies:
        return Dependencies(datasets=[block.dataset] if block.dataset else [])

    def assets(self, judge: str, block: BertJudgeConfig) -> dict[str, Spec]:
        repository = block.checkpoint or block.backbone
        return {f"judge-{judge}": {"repository": repository, "revision": block.revision, "remote_code": False}}

    def inputs(self, judge: str, block: BertJudgeConfig, results: Path = RESULTS) -> Inputs:
        trained, prepared = results / "judges" / judge / "judge.json", results / "prepared" / f"judge-{judge}.json"
        return {"checkpoint": str(trained if block.dataset else prepared)}

    def label_inputs(self, plan: RunPlan, judge: str, model: str, task: str) -> Inputs:
        block: Any = plan.config.judges[judge]
        return {**self.inputs(judge, block), **overlap_inputs(plan, block, task)}

    def label_rule(self, block: BertJudgeConfig) -> str:
        return "label_encoder"

    def label_resources(self, block: BertJudgeConfig) -> LabelResources:
        return LabelResources(mem_mb=4000, minutes=240)

    def gpus(self, block: BertJudgeConfig) -> int:
        return 1

    def recognizes(self, folder: Path) -> bool:
        """Accept every folder but those of other kinds: a published checkpoint has no file that names its kind."""
        return not (folder / "probe.json").is_file() and not read_card(folder).get("pairwise")

    def folder_inputs(self, folder: Path) -> Inputs:
        return {"checkpoint": str(folder / "judge.json")}

    def revisions(self, context: LoadContext) -> dict[str, str] | None:
        from bert_judge.judges.bert.judge_folder import resolve_checkpoint

        return {context.name: resolve_checkpoint(context.inputs["checkpoint"])[1]}

    def load(self, context: LoadContext) -> Any:
        context.check_device()
        from bert_judge.judges.bert.judge import BERTJudge

        judge = BERTJudge.from_run(context.inputs["checkpoint"], context.settings, context.name)
        judge.check_trained()
        return judge


KIND = BertKind()
