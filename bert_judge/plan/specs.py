"""For each table the spec that fully describes it.

A spec is plain JSON and holds all that gives a table its meaning, and nothing else: no paths, thread counts or batch sizes. Two
configurations with equal specs have equal tables, so the workflow reruns a job when its spec changes and only then.
"""

from __future__ import annotations

from typing import Any

from bert_judge.config import ImportedModel, LocalModel
from bert_judge.judges.bert.config import BertJudgeConfig
from bert_judge.judges.cascade.config import CascadeJudgeConfig
from bert_judge.judges.imported.config import ImportedJudgeConfig
from bert_judge.judges.llm.config import LLMJudgeConfig
from bert_judge.judges.prior_shift.config import PriorShiftJudgeConfig
from bert_judge.judges.probe.config import ProbeJudgeConfig
from bert_judge.judges.simulated.config import SimulatedJudgeConfig
from bert_judge.plan import selections
from bert_judge.plan.resolved_config import ATTACKS, Names, Spec

# How a trained encoder's scores are read; the other keys of its block say how it is made.
READING = {"kind", "threshold", "calibrated", "references", "early_exit", "backend", "precision"}
TRAINED = BertJudgeConfig | ProbeJudgeConfig | CascadeJudgeConfig | PriorShiftJudgeConfig
# How a model that is fine-tuned here is asked: its prompts, when it learns and when it answers.
ASKED = {"dtype", "system", "thinking", "reasoning_end", "trust_remote_code"}


class Specs(Names):
    """What makes each table what it is."""

    def task_spec(self, task: str) -> Spec:
        imported = self.config.tasks.imported.get(task)
        if imported is None:
            spec: Spec = {"task": task}
            if source := self.source_of(task):
                spec["source"] = dump(source, without={"path"})
            if limit := self.config.tasks.limit.get(task):
                spec["limit"] = limit
            return spec
        return {
            "task": task,
            "part": dump(imported, without={"source", "family"}),
            "import": self._import(imported.source),
        }

    def candidates_spec(self, model: str, task: str) -> Spec:
        if model == ATTACKS:
            return self.attacks_spec(task)
        entry = self.models[model]
        settings = dump(entry, without={"source", *entry.run_time})
        if isinstance(entry, ImportedModel):
            settings["model_name"] = entry.model_name or model
            return {"model": model, "settings": settings, **self.task_spec(task)}
        return {
            "model": model,
            "task": task,
            "family": self.family(task),
            "settings": settings,
            "prompt_style": self.config.prompt_style,
        }

    def labels_spec(self, judge: str, model: str, task: str) -> Spec:
        """Of a judge's verdicts on the answers of a model, or on a selection of them."""
        if isinstance(selection := selections.parse(model), selections.Left):
            return {**self.labels_spec(judge, selection.model, task), "selection": model}
        entry = self.config.judges[judge]
        spec: Spec = {"judge": judge, "model": model, "task": task}
        match entry:
            case BertJudgeConfig():
                # What made the checkpoint is in the judge's own spec; here stands how its scores are read. A judge from before
                # there was an early exit has none, and its tables stay what they are.
                unused = {"early_exit"} if entry.early_exit else set()
                return {**spec, "settings": dump(entry, only=READING - unused)}
            case LLMJudgeConfig():
                asked = dump(entry.model, without={"attempts", *entry.model.run_time})
                # A judge without aspects is what it was before there were any.
                unused = set() if entry.aspects else {"aspects"}
                return {**spec, "settings": {**dump(entry, without={"model", *entry.run_time, *unused}), "model": asked}}
            case ImportedJudgeConfig():
                spec = {**spec, "settings": {"kind": entry.kind}, "source": self.candidates_spec(model, task)}
                verdicts = self.verdict_import(judge, task)
                # Verdicts in the rows of the answers need no import of their own.
                in_rows = verdicts == self.import_of(task) and isinstance(self.models[model], ImportedModel)
                if verdicts is not None and (aspects := self.config.imports[verdicts].aspects):
                    spec["aspects"] = dump(aspects)
                return spec if in_rows or verdicts is None else {**spec, "verdicts": self._import(verdicts)}
            case SimulatedJudgeConfig():
                return {**spec, "settings": dump(entry), "source": self.candidates_spec(model, task)}
            case ProbeJudgeConfig():
                return {**spec, "settings": dump(entry, only={"kind", "threshold"})}
            case CascadeJudgeConfig():
                # Where its judges are sure is in the cascade's own spec.
                return {**spec, "settings": dump(entry, only={"kind", "judges"})}
            case _:
                return {**spec, "settings": dump(entry)}

    def dataset_spec(self, dataset: str) -> Spec:
        entry = self.config.datasets[dataset]
        spec = {
            "dataset": dataset,
            **dump(entry, without={"allow_test_questions", "weak_teacher", "models", "tasks"}),
            "tables": [[m, t] for m, t in self.labelled(dataset)],
        }
        # A dataset without one is what it was before there were any.
        if entry.weak_teacher:
            spec["weak_teacher"] = {
                **dump(entry.weak_teacher, without={"tasks"}),
                "tables": [[m, t] for m, t in self.undecided(dataset)],
            }
        return spec

    def overlap_spec(self, dataset: str, task: str) -> Spec:
        """The check that no question of a test task is in a dataset."""
        allowed = self.config.datasets[dataset].allow_test_questions
        return {"dataset": dataset, "allow_test_questions": allowed, "test": [task]}

    def judge_spec(self, judge: str) -> Spec:
        entry = self.config.judges[judge]
        assert isinstance(entry, BertJudgeConfig)
        spec = {"judge": judge, **dump(entry, without=(READING - {"kind"}) | entry.run_time)}
        return {**spec, "training": dump(entry.training, without={*entry.training.run_time})}

    def cascade_spec(self, judge: str) -> Spec:
        """What a cascade is fitted to."""
        entry = self.cascade(judge)
        teacher = self.config.datasets[entry.dataset].teacher
        return {"judge": judge, "teacher": teacher, "learners": self.learners(judge), **dump(entry, without={"kind"})}

    def cascades_spec(self) -> Spec:
        """What cascades are measured on."""
        return {**self.standings_spec(), "cascades": self.measured_cascades}

    def scores_spec(self, model: str, task: str) -> Spec:
        return {"model": model, "task": task, "judges": self.config.scorers}

    def standings_spec(self) -> Spec:
        return {
            "judges": self.config.scorers,
            "gold": self.config.gold,
            "trained": [name for name in self.config.scorers if isinstance(self.config.judges[name], TRAINED)],
            "families": {task: self.family(task) for task in sorted(self.config.tasks.test)},
            "styles": self.styles(),
            "cost": self.cost_spec(),
            "tables": [[m, t] for m, t in self.scored],
        }

    def cost_spec(self) -> Spec:
        """Whose tokens and times are counted, and what they cost."""
        judges = self.config.judges
        trained = {n: j.dataset for n in self.config.scorers if isinstance(j := judges[n], BertJudgeConfig) and j.dataset}
        taught: dict[str, list[list[str]]] = {}
        for name in sorted(set(trained.values())):
            for teacher, m, t in self.taught(name):
                taught.setdefault(teacher, []).append([m, t])
        trained_on = sorted({(m, t) for pairs in taught.values() for m, t in pairs})
        # Only what takes part: another judge in the configuration makes nothing stale.
        at_work = sorted({*self.config.scorers, *taught})
        prompted = {name: judge for name in at_work if isinstance(judge := judges[name], LLMJudgeConfig)}
        asked = {n: j.model for n, j in prompted.items() if isinstance(j.model, LocalModel)}
        models = {m: self.models[m] for m, _ in [*self.scored, *trained_on]}
        gpus = {n: getattr(m, "tensor_parallel_size", 1) for n, m in sorted(models.items()) if isinstance(m, LocalModel)}
        judging = {n: 1 for n in at_work if isinstance(judges[n], BertJudgeConfig)}
        judging |= {n: getattr(m, "tensor_parallel_size", 1) for n, m in asked.items()}
        return {
            "tables": [[m, t] for m, t in self.scored],
            "trained_on": [[m, t] for m, t in trained_on],
            "answered_in_batches": [name for name in sorted(models) if models[name].generator == "vllm"],
            "judges": self.config.scorers,
            "taught": taught,
            "trained": trained,
            "prompted": sorted(prompted),
            "prices": {
                "answers": {n: dump(p) for n, m in sorted(models.items()) if (p := getattr(m, "price", None))},
                "verdicts": {n: dump(p) for n, judge in prompted.items() if (p := judge.model.price)},
            },
            "assumed_price": dump(self.config.assumed_price),
            "gpus": {"models": gpus, "judges": judging},
        }

    def audit_spec(self) -> Spec:
        """Which answers people are asked about."""
        assert self.config.audit is not None
        drawn = dump(self.config.audit, only={"judge", "size", "seed"})
        return {**drawn, "tables": [[m, t] for m, t in self.scored]}

    def corrected_spec(self) -> Spec:
        """What people's labels, or gold's on the drawn answers, make of the judges' accuracies."""
        assert self.config.audit is not None
        gold = self.config.gold if self.config.audit.labels_from == "gold" else None
        return {**self.audit_spec(), "judges": [name for name in self.config.scorers if name != gold], "labels_from": gold}

    def attacks_spec(self, task: str) -> Spec:
        """The answers that try to fool judges."""
        assert self.config.attacks is not None
        return {"task": task, **dump(self.config.attacks, only={"rows", "seed"})}

    def attack_rates_spec(self) -> Spec:
        """How often judges are fooled."""
        assert self.config.attacks is not None
        return {"judges": self.config.attacks.judges, "tasks": self.attacked}

    def report_spec(self) -> Spec:
        kinds = {name: self.config.judges[name].kind for name in self.config.scorers}
        simulated = bool(self.generated_by("simulated"))
        spec = {**self.standings_spec(), "kinds": kinds, "simulated": simulated}
        if self.config.attacks:
            spec["attacks"] = self.attack_rates_spec()
        return {**spec, "audit": self.corrected_spec() if self.corrects else self.audit_spec()} if self.config.audit else spec

    def _import(self, name: str) -> Spec:
        # Aspects are part of a verdict, not of questions and answers; pairs have a spec of their own.
        return dump(self.config.imports[name], without={"path", "aspects", "pair_columns"})


def dump(block: Any, without: set[str] | None = None, only: set[str] | None = None) -> Spec:
    """A block of the configuration as plain JSON, whole or in part."""
    return block.model_dump(mode="json", exclude=without, include=only)
