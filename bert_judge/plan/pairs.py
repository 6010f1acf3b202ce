"""Sets of pairs, the judges that compare them, and what makes their tables what they are."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from bert_judge.config import LocalModel, PairSet
from bert_judge.judges.pairwise.config import PairwiseJudgeConfig
from bert_judge.judges.registry import Spec
from bert_judge.plan import launches, matchups
from bert_judge.plan.resolved_config import ResolvedConfig
from bert_judge.plan.specs import ASKED, dump

# The one part of a set that comes from a file. Parts of models have a `@` in their names.
IMPORTED = "imported"


class PairSpecs(ResolvedConfig):
    """ResolvedConfig and specs of all that is about two answers."""

    @property
    def pair_judges(self) -> list[str]:
        """ResolvedConfig of the judges of kind pairwise."""
        return self.judges("pairwise")

    def pair_judge(self, name: str) -> PairwiseJudgeConfig:
        entry = self.config.judges[name]
        assert isinstance(entry, PairwiseJudgeConfig)
        return entry

    @property
    def trained_pair_judges(self) -> list[str]:
        """Those that are trained here."""
        return [name for name in self.pair_judges if self.pair_judge(name).pairs]

    @property
    def tuned_pair_judges(self) -> list[str]:
        """Of those that are trained here, the language models."""
        return [name for name in self.trained_pair_judges if self.pair_judge(name).tuned]

    @property
    def trained_pair_encoders(self) -> list[str]:
        """Of those that are trained here, the encoders."""
        return [name for name in self.trained_pair_judges if not self.pair_judge(name).tuned]

    @property
    def compared(self) -> list[tuple[str, str]]:
        """(judge, set) of every table of preferences, sorted."""
        return sorted((judge, name) for name, entry in self.config.pairs.items() for judge in entry.judges)

    def pair_parts(self, name: str) -> list[str]:
        """ResolvedConfig of the tables of a set, sorted: one per two models, or the one of a file."""
        return [IMPORTED] if self.config.pairs[name].source else sorted(self._meetings[name])

    @cached_property
    def _meetings(self) -> dict[str, dict[str, matchups.Meeting]]:
        """Set → part → the two models."""
        made = {name: entry for name, entry in self.config.pairs.items() if not entry.source}
        return {name: {f"{one}@{other}": (one, other) for one, other in self._met(entry)} for name, entry in made.items()}

    def _met(self, entry: PairSet) -> set[matchups.Meeting]:
        models = self.pair_models(entry)
        if entry.schedule == "sampled":
            return matchups.sampled(models, entry.opponents, lambda *two: bool(self._shared(entry, two)), entry.seed)
        met = matchups.between_all(models) if entry.baseline is None else matchups.with_baseline(models, entry.baseline)
        return {two for two in met if self._shared(entry, two)}

    def pair_models(self, entry: PairSet) -> list[str]:
        """The models of a set in the order of the configuration."""
        return list(self.models) if entry.models == "all" else entry.models

    def _shared(self, entry: PairSet, two: matchups.Meeting) -> list[str]:
        """The set's tasks that both models have answers to."""
        return sorted(task for task in entry.tasks if all(self.answers(model, task) for model in two))

    def pair_tables(self, name: str, part: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """(model, task) of the answers that a part is made of: those of the first model, and those of the other."""
        two = self._meetings[name][part]
        tasks = self._shared(self.config.pairs[name], two)
        return [(two[0], task) for task in tasks], [(two[1], task) for task in tasks]

    def pair_answers(self, name: str) -> list[tuple[str, str]]:
        """(model, task) of all answers that a set is made of; none for the set of a file."""
        if self.config.pairs[name].source:
            return []
        return sorted({table for part in self.pair_parts(name) for tables in self.pair_tables(name, part) for table in tables})

    def pair_file(self, name: str) -> Path:
        """The file that a set comes from."""
        source = self.config.pairs[name].source
        assert source is not None
        return self.import_path(source)

    def pairs_spec(self, pair_set: str, part: str) -> Spec:
        """Of one table of a set."""
        entry = self.config.pairs[pair_set]
        if entry.source:
            imported = dump(self.config.imports[entry.source], only={"format", "where"})
            columns = dump(self.config.imports[entry.source].pair_columns)
            return {"set": pair_set, "import": {**imported, "columns": columns}, **dump(entry, only={"where", "question_split"})}
        two = self._meetings[pair_set][part]
        return {
            "set": pair_set,
            "models": list(two),
            "tasks": self._shared(entry, two),
            **dump(entry, only={"rows", "gold", "seed"}),
        }

    def pair_judge_spec(self, judge: str) -> Spec:
        """What makes a trained judge."""
        entry = self.pair_judge(judge)
        made = dump(
            entry, only={"kind", "revision", "backbone", "compare", "max_length", "training", "augment", "validation_fraction"}
        )
        training = dump(entry.training, without={*entry.training.run_time})
        return {"judge": judge, "pairs": sorted(entry.pairs or []), **made, "training": training}

    def tuned_judge_spec(self, judge: str) -> Spec:
        """What makes a tuned judge: nothing of how much it writes when it is asked."""
        entry = self.pair_judge(judge)
        assert isinstance(entry.model, LocalModel)
        return {
            "judge": judge,
            "definition": self.kind_of(judge).definition(),
            "pairs": sorted(entry.pairs or []),
            **dump(entry, only={"kind", "augment", "validation_fraction", "seed", "max_answer_chars"}),
            "base": dump(entry.model, only={"model", "revision"}),
            "settings": dump(entry.model, only=ASKED),
            "tuning": dump(entry.tuning, without={*entry.tuning.run_time}),
        }

    def preferences_spec(self, judge: str, pair_set: str) -> Spec:
        """Of a judge's verdicts on a set. Which models met is no part of it: a verdict on two answers stays when others come."""
        kind = self.kind_of(judge)
        return {
            "judge": judge,
            "set": pair_set,
            "settings": kind.settings(self.config.judges[judge]),
            "definition": kind.definition(),
        }

    def gpus_to_tune(self, judge: str) -> int:
        """GPUs that fit a tuned judge together."""
        return launches.processes_of(self.pair_judge(judge).tuning)
