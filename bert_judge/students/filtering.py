"""The stage that chooses what a student learns from: the best answers by a judge's score, or a draw, or all."""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.config.students import CONTROLS
from bert_judge.runtime import keyed_random
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

# Answers that ended by themselves: one that was cut off would teach to stop in the middle.
WHOLE = ("ok", "imported")
IDENTITY = ["task", "sample_id", "model", "attempt"]


def build_filtered(
    spec: Mapping[str, Any], candidates: Sequence[str | Path], labels: Sequence[str | Path], output: str | Path
) -> None:
    """Write the answers that a filter keeps, the best first.

    All filters of the same answers keep the same number at the same percentage, unless a judge decided too few. A larger percentage
    holds all that a smaller one does.

    Args:
        spec: of `Plan.filtered_spec`; its `tables` name model and task of each candidate table, in the order of the paths.
        candidates: one path per table.
        labels: the judge's verdicts, one path per table; none for a control.

    Raises:
        InputError: a label without its answer, or nothing that can be kept.
    """
    where = f"filters.{spec['filter']}"
    judged = spec["judge"] not in CONTROLS
    verdicts: Sequence[str | Path | None] = labels if judged else [None] * len(candidates)
    paths = zip(spec["tables"], candidates, verdicts, strict=True)
    rows = pd.concat([_scored(task, answers, scores) for (_, task), answers, scores in paths], ignore_index=True)
    whole = rows[rows["status"].isin(WHOLE) & (rows["candidate"].str.strip() != "")]
    different = _without_copies(whole)
    ranked = _ranked(different, spec["seed"], spec["per_question"])
    wanted = math.ceil(len(ranked) * spec["keep"] / 100)
    decided = ranked[ranked["score"].notna()] if judged else ranked
    kept = decided.head(wanted)
    counts = f"{len(rows)} answers, {len(whole)} whole, {len(different)} different, {len(ranked)} to choose from"
    if kept.empty:
        raise InputError(f"{where}: no answer can be kept ({counts}, {len(decided)} with a verdict); name other tasks or models")
    if len(kept) < wanted:
        log.warning("%s: %d answers are wanted, and %s decided on %d only", where, wanted, spec["judge"], len(kept))
    tables.write(kept, output, tables.FILTERED, spec)
    log.info("%s: %s; %d kept", where, counts, len(kept))


def _scored(task: str, candidates: str | Path, labels: str | Path | None) -> pd.DataFrame:
    """The answers of a table with a judge's scores; null where it has none."""
    answers = tables.read(candidates, tables.CANDIDATES).assign(task=task)
    if labels is None:
        return answers.assign(score=float("nan"))
    scores = tables.read(labels, tables.LABELS)[["sample_id", "attempt", "score"]]
    merged = answers.merge(scores, on=["sample_id", "attempt"], how="left", validate="one_to_one", indicator=True)
    if (lost := merged["_merge"] != "both").any():
        raise InputError(f"{labels}: no label for sample {merged.loc[lost, 'sample_id'].iloc[0]} of {candidates}")
    return merged.drop(columns="_merge")


def _without_copies(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per task, question and answer, with the mean of the scores; which of them stays does not depend on their order."""
    rows = rows.sort_values(IDENTITY, ignore_index=True)
    key = ["task", "sample_id", "candidate"]
    mean = rows.groupby(key, sort=False)["score"].transform("mean")
    return rows.assign(score=mean)[~rows.duplicated(key)]


def _ranked(rows: pd.DataFrame, seed: int, per_question: int | None) -> pd.DataFrame:
    """The best first, undecided ones last, equal ones in a drawn order; at most so many to a question, whatever tasks ask it.

    The draw depends on an answer's own identity, so a new model or task leaves the order of the others as it was.
    """
    drawn = [keyed_random.fraction("filter", seed, *map(str, row)) for row in rows[IDENTITY].itertuples(index=False)]
    ordered = rows.assign(drawn=drawn).sort_values(["score", "drawn"], ascending=[False, True], ignore_index=True)
    if per_question is None:
        return ordered
    place = ordered.groupby(ordered["question"].map(tables.question_key), sort=False).cumcount()
    return ordered[place < per_question]
