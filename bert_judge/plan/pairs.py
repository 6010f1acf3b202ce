"""Resolve pair sets and pairwise judges, schedule which models are compared, and build the specs of their tables.

Appending a model to the configuration keeps the other comparisons.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import combinations
from pathlib import Path

from bert_judge import tables
from bert_judge.config import PairSet
from bert_judge.judges.registry import RESULTS, Spec
from bert_judge.plan.resolved_config import ResolvedConfig, dump
from bert_judge.runtime import keyed_random

# The only part of an imported set. Names of generated parts contain a `@`.
IMPORTED = "imported"
# Names of two models, sorted.
ModelPair = tuple[str, str]


class PairSpecs(ResolvedConfig):
    """Names and specs of pair sets, pairwise judges and their tables."""

    @property
    def compared_sets(self) -> list[tuple[str, str]]:
        """Return (judge, set) of every table of preferences, sorted."""
        return sorted((judge, name) for name, entry in self.config.pairs.items() for judge in entry.judges)

    def pair_parts(self, name: str) -> list[str]:
        """Return the names of the tables of a set, sorted: one per two models, or one for an imported set."""
        return [IMPORTED] if self.config.pairs[name].source else sorted(self._model_pairs[name])

    def pair_files(self, name: str) -> list[str]:
        """Return the paths of the tables of a set."""
        return [str(RESULTS / "pairs" / name / f"{part}.parquet") for part in self.pair_parts(name)]

    @cached_property
    def _model_pairs(self) -> dict[str, dict[str, ModelPair]]:
        """Return set → part → the two models."""
        generated = {name: entry for name, entry in self.config.pairs.items() if not entry.source}
        return {name: {"@".join(pair): pair for pair in self._schedule(entry)} for name, entry in generated.items()}

    def _schedule(self, entry: PairSet) -> set[ModelPair]:
        # In the order of the configuration.
        models = list(self.models) if entry.models == "all" else entry.models
        if entry.schedule == "sampled":
            return sample_pairs(models, entry.opponents, lambda *models: bool(self._shared_tasks(entry, models)), entry.seed)
        everyone = combinations(models, 2)
        pairs = everyone if entry.baseline is None else ((m, entry.baseline) for m in models if m != entry.baseline)
        return {pair for first, second in pairs if self._shared_tasks(entry, pair := _sorted(first, second))}

    def _shared_tasks(self, entry: PairSet, pair: ModelPair) -> list[str]:
        """Return the tasks of the set that both models have answers to."""
        return sorted(task for task in entry.tasks if all(self.answers(model, task) for model in pair))

    def pair_tables(self, name: str, part: str) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
        """Return (model, task) of the answer tables of a part: those of the first model, and those of the second."""
        pair = self._model_pairs[name][part]
        tasks = self._shared_tasks(self.config.pairs[name], pair)
        return [(pair[0], task) for task in tasks], [(pair[1], task) for task in tasks]

    def pair_answers(self, name: str) -> list[tuple[str, str]]:
        """Return (model, task) of all answer tables of a set; empty for an imported set."""
        if self.config.pairs[name].source:
            return []
        return sorted({table for part in self.pair_parts(name) for tables in self.pair_tables(name, part) for table in tables})

    def pair_file(self, pair_set: str) -> Path:
        source = self.config.pairs[pair_set].source
        assert source is not None
        return self.import_path(source)

    def pairs_spec(self, pair_set: str, part: str) -> Spec:
        """Return the spec of one table of a set."""
        entry = self.config.pairs[pair_set]
        if entry.source:
            imported = dump(self.config.imports[entry.source], only={"format", "where"})
            columns = dump(self.config.imports[entry.source].pair_columns)
            content = tables.file_content(self.pair_file(pair_set))
            return {
                "set": pair_set,
                "import": {**imported, "columns": columns, "content": content},
                **dump(entry, only={"where", "question_split"}),
            }
        pair = self._model_pairs[pair_set][part]
        return {
            "set": pair_set,
            "models": list(pair),
            "tasks": self._shared_tasks(entry, pair),
            **dump(entry, only={"rows", "gold", "seed"}),
        }

    def preferences_spec(self, judge: str, pair_set: str) -> Spec:
        """Return the spec of a judge's verdicts on a set. The models are not part of it, so adding a model keeps the verdicts."""
        kind = self.kind_of(judge)
        return {
            "judge": judge,
            "set": pair_set,
            **kind.verdict_spec(self.config.judges[judge]),
            **kind.content_spec(self.config.judges[judge]),
        }

    @property
    def ranked_sets(self) -> dict[str, list[str]]:
        """Return set → its judges in the order of the configuration; sets are sorted."""
        return {name: list(entry.judges) for name, entry in sorted(self.config.pairs.items()) if entry.judges}

    @property
    def rank_score_tables(self) -> list[tuple[str, str]]:
        """Return (model, task) of the score tables whose model order is compared with the pairwise ranks."""
        tasks = {task for name in self.ranked_sets for task in self.config.pairs[name].tasks}
        return [(model, task) for model, task in self.score_tables if task in tasks]

    def ranks_spec(self) -> Spec:
        """Return the spec of agreement, ranks and rank correlations."""
        tables = [[model, task] for model, task in self.rank_score_tables]
        return {"sets": self.ranked_sets, "judges": self.config.scorers, "tables": tables}


def sample_pairs(
    models: Sequence[str], opponents: int, are_comparable: Callable[[str, str], bool], *seed: int | str
) -> set[ModelPair]:
    """Pair each model with some of the models before it: those with the fewest opponents so far, ties broken at random.

    The comparison graph is connected as far as models are comparable, opponents are spread evenly, and the models after a model
    do not influence its opponents among the models before it.

    Args:
        models: in the order of the configuration.
        opponents: maximum number of earlier models that a model is paired with.
        are_comparable: whether two models share a task.
        seed: seed of the random tie-breaks.
    """
    num_opponents: Counter[str] = Counter()
    pairs: set[ModelPair] = set()
    for index, model in enumerate(models):
        previous = [second for second in models[:index] if are_comparable(model, second)]
        previous.sort(key=lambda second: (num_opponents[second], keyed_random.fraction("opponents", *seed, model, second)))
        for second in previous[:opponents]:
            pairs.add(_sorted(model, second))
            num_opponents.update((model, second))
    return pairs


def _sorted(first: str, second: str) -> ModelPair:
    return (first, second) if first < second else (second, first)
