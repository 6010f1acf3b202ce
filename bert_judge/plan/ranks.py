"""Build the spec of pair rankings: agreement of judges and ranks of models."""

from __future__ import annotations

from bert_judge.judges.registry import Spec
from bert_judge.plan.pairs import PairSpecs


class RankSpecs(PairSpecs):
    """Names and spec of the tables computed from all compared pair sets."""

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
