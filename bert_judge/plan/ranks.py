"""What is told of verdicts on pairs: agreement of the judges, ranks of the models."""

from __future__ import annotations

from bert_judge.judges.registry import Spec
from bert_judge.plan.pairs import PairSpecs


class RankSpecs(PairSpecs):
    """Specs of what is made of all sets of pairs that a judge compares."""

    @property
    def ranked_sets(self) -> dict[str, list[str]]:
        """Set → its judges as configured, sets sorted."""
        return {name: list(entry.judges) for name, entry in sorted(self.config.pairs.items()) if entry.judges}

    @property
    def beside_ranks(self) -> list[tuple[str, str]]:
        """(model, task) of the score tables whose order of models stands beside one in pairs: those of the pairs' tasks."""
        tasks = {task for name in self.ranked_sets for task in self.config.pairs[name].tasks}
        return [(model, task) for model, task in self.score_tables if task in tasks]

    def ranks_spec(self) -> Spec:
        """Of agreement, ranks and correlations."""
        tables = [[model, task] for model, task in self.beside_ranks]
        return {"sets": self.ranked_sets, "judges": self.config.scorers, "tables": tables}
