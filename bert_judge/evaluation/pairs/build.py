"""From pairs and the verdicts on them to three tables: how good judges are, in which order models come, whose orders agree."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.evaluation.intervals import share
from bert_judge.evaluation.matrix import MODEL, TASK
from bert_judge.evaluation.pairs import agreement, bootstrap, ranks, rows
from bert_judge.evaluation.pairs.bootstrap import Draws, Floats
from bert_judge.evaluation.standings import load_verdicts

# What `build_ranks` writes, each as {name}.parquet.
MADE = {schema.name: schema for schema in (tables.PAIR_AGREEMENT, tables.RANKS, tables.RANK_CORRELATIONS)}
WHOLE = ["n", "questions", "won", "tied", "rank", "rank_low", "rank_high"]
log = logging.getLogger(__name__)


def build_ranks(
    spec: Mapping[str, Any],
    pairs: Mapping[str, Sequence[Path]],
    preferences: Mapping[str, Mapping[str, Path]],
    scores: Sequence[Path],
    folder: Path,
) -> None:
    """Write the tables of `MADE`.

    Args:
        spec: as `Plan.ranks_spec` makes it: `sets` with the judges of each, and `judges` of single answers.
        pairs: set → its parts.
        preferences: set → judge → its verdicts on the set.
        scores: score tables; those that share questions with a set are compared with it.
        folder: where the tables go.

    Raises:
        InputError: a file is not what it should be.
    """
    made: dict[str, list[dict[str, Any]]] = {name: [] for name in MADE}
    answers = load_verdicts(scores, spec["judges"])
    for name, judges in spec["sets"].items():
        frame = rows.load(pairs[name], preferences[name])
        for row in agreement.measures(frame, judges):
            made["pair_agreement"].append({"set": name, **row})
        for (level, task), part in rows.by_task(frame):
            where = {"set": name, "level": level, "task": task}
            compared = answers[answers[TASK].isin(part["task"].unique())]
            drawn = bootstrap.over([*part["sample_id"], *compared["sample_id"]])
            found = ranks.orders(part, judges, Draws(drawn.code[: len(part)], drawn.weights))
            made["ranks"] += [{**where, "judge": judge, **row} for judge, order in found.items() for row in order.rows]
            accuracies = _accuracies(compared, spec["judges"], Draws(drawn.code[len(part) :], drawn.weights))
            for row in ranks.correlations(found, accuracies):
                made["rank_correlations"].append({**where, **row, "questions": drawn.questions})
        log.info("%s: %d pairs, %d judges", name, len(frame), len(judges))
    for name, schema in MADE.items():
        table = pd.DataFrame(made[name], columns=schema.names)
        whole = {column: "Int64" for column in WHOLE if column in schema.names}
        tables.write(table.astype(whole), folder / f"{name}.parquet", schema, spec)


def _accuracies(frame: pd.DataFrame, judges: Sequence[str], drawn: Draws) -> dict[str, tuple[list[str], Floats]]:
    """Judge → models and the share of their answers that it calls correct among its valid verdicts, in each line."""
    if frame.empty:
        return {}
    model, models = pd.factorize(frame[MODEL], sort=True)
    cell = model.astype(np.intp)
    found = {}
    for judge in judges:
        said = frame[f"{judge}_verdict"]
        right, valid = (
            drawn.totals(hits.to_numpy(dtype=float), cell, len(models)) for hits in (said == "correct", said != "invalid")
        )
        found[judge] = (list(models), share(right, valid))
    return found
