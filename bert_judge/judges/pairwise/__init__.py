"""The judge kind `pairwise`: judges that decide which of two answers is better."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from bert_judge.judges.llm import load_generator, model_asset, model_gpus
from bert_judge.judges.pairwise.protocol import OrderVerdict, Pair, PairJudge, Preference, combine_orders, invalid_preference
from bert_judge.judges.registry import RESULTS, Dependencies, Inputs, JudgeKind, LoadContext, Spec, read_card

if TYPE_CHECKING:
    from bert_judge.judges.pairwise.config import PairwiseJudgeConfig

__all__ = ["KIND", "OrderVerdict", "Pair", "PairJudge", "Preference", "combine_orders", "invalid_preference"]


class PairwiseKind(JudgeKind):
    name = "pairwise"
    definition_files = ("llm.py", "../llm/prompting.py", "../llm/judge.py", "../llm/verdicts.py")
    compares_pairs = True
    is_trained = True

    def settings(self, block: PairwiseJudgeConfig) -> Spec:
        if block.rule:
            return block.model_dump(mode="json", include={"kind", "rule", "seed"})
        if block.model is None:
            # The spec of the training contains everything that determines the checkpoint.
            return {"kind": self.name}
        prompted = block.model_dump(mode="json", include={"kind", "reasoning", "seed", "max_answer_chars"})
        return {**prompted, "model": block.model.model_dump(mode="json", exclude={"attempts", *block.model.run_time})}

    def definition(self, block: PairwiseJudgeConfig) -> str | None:
        return super().definition(block) if block.model else None

    def depends_on(self, block: PairwiseJudgeConfig) -> Dependencies:
        return Dependencies(pair_sets=block.pairs or [])

    def assets(self, judge: str, block: PairwiseJudgeConfig) -> dict[str, Spec]:
        if block.model:
            return model_asset(judge, block.model)
        if block.rule:
            return {}
        repository = block.checkpoint or block.backbone
        return {f"judge-{judge}": {"repository": repository, "revision": block.revision, "remote_code": False}}

    def inputs(self, judge: str, block: PairwiseJudgeConfig, results: Path = RESULTS) -> Inputs:
        trained, prepared = results / "judges" / judge / "judge.json", results / "prepared" / f"judge-{judge}.json"
        if not self.assets(judge, block):
            return {}
        return {"manifest": str(prepared)} if block.model else {"checkpoint": str(trained if block.pairs else prepared)}

    def label_rule(self, block: PairwiseJudgeConfig) -> str:
        return "compare_rule" if block.rule else f"compare_{block.model.generator if block.model else 'encoder'}"

    def gpus(self, block: PairwiseJudgeConfig) -> int:
        return 0 if block.rule else model_gpus(block.model) if block.model else 1

    def attack_problem(self, block: PairwiseJudgeConfig) -> str | None:
        return "compares two answers, and an attack is a single one; choose another judge"

    def recognizes(self, folder: Path) -> bool:
        return bool(read_card(folder).get("pairwise"))

    def folder_inputs(self, folder: Path) -> Inputs:
        return {"checkpoint": str(folder / "judge.json")}

    def load(self, context: LoadContext) -> Any:
        settings = context.settings
        if rule := settings.get("rule"):
            from bert_judge.judges.pairwise.rules import PairRuleJudge

            return PairRuleJudge(rule, settings["seed"])
        if "model" in settings:
            from bert_judge.judges.pairwise.llm import PairLLMJudge

            return PairLLMJudge(context.name, settings, load_generator(context))
        context.check_device()
        from bert_judge.judges.pairwise.encoder import PairEncoderJudge

        return PairEncoderJudge.from_run(context.inputs["checkpoint"], context.name)


KIND = PairwiseKind()
