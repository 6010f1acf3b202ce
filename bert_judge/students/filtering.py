"""The stage that filters answers for a student: the best by a judge's score, a random draw, or all."""

import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from bert_judge import tables
from bert_judge.config.datasets import CONTROLS
from bert_judge.judges.protocol import join_labels
from bert_judge.runtime import keyed_random
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

# Finished answers: a truncated one would teach the student to stop in the middle.
FINISHED = ("ok", "imported")
IDENTITY = ["task", "sample_id", "model", "attempt"]


def build_filtered(
    spec: Mapping[str, Any], candidates: Sequence[str | Path], labels: Sequence[str | Path], output: str | Path
) -> None:
    """Write the answers that a filter keeps, the best first.

    All filters of the same answers keep the same number at the same percentage, unless a judge decided too few. A larger percentage
    keeps everything that a smaller one does.

    Args:
        spec: of `Plan.filtered_spec`; its `tables` name model and task of each candidate table, in the order of the paths.

    Raises:
        InputError: a candidate has no label, or no answer can be kept.
    """
    where = f"filters.{spec['filter']}"
    is_control = spec["judge"] in CONTROLS
    label_paths: Sequence[str | Path | None] = [None] * len(candidates) if is_control else labels
    inputs = zip(spec["tables"], candidates, label_paths, strict=True)
    rows = pd.concat([_read_scored(task, answers, scores) for (_, task), answers, scores in inputs], ignore_index=True)
    finished = rows[rows["status"].isin(FINISHED) & (rows["candidate"].str.strip() != "")]
    distinct = _deduplicate(finished)
    ranked = _rank(distinct, spec["seed"], spec["per_question"])
    target = math.ceil(len(ranked) * spec["keep"] / 100)
    decided = ranked if is_control else ranked[ranked["score"].notna()]
    selected = decided.head(target)
    counts = f"{len(rows)} answers, {len(finished)} finished, {len(distinct)} distinct, {len(ranked)} after the limit per question"
    if selected.empty:
        raise InputError(f"{where}: no answer can be kept ({counts}, {len(decided)} with a verdict); name other tasks or models")
    if len(selected) < target:
        log.warning("%s: %d answers requested, but %s decided only %d", where, target, spec["judge"], len(selected))
    tables.write(selected, output, tables.FILTERED, spec)
    log.info("%s: %s; %d kept", where, counts, len(selected))


def _read_scored(task: str, candidates: str | Path, labels: str | Path | None) -> pd.DataFrame:
    answers = tables.read(candidates, tables.CANDIDATES).assign(task=task)
    return answers.assign(score=math.nan if labels is None else join_labels(answers, labels)["score"])


def _deduplicate(rows: pd.DataFrame) -> pd.DataFrame:
    """Keep one row per task, question and answer, with the mean score; independent of the order of the rows."""
    rows = rows.sort_values(IDENTITY, ignore_index=True)
    key = ["task", "sample_id", "candidate"]
    mean = rows.groupby(key, sort=False)["score"].transform("mean")
    return rows.assign(score=mean)[~rows.duplicated(key)]


def _rank(rows: pd.DataFrame, seed: int, per_question: int | None) -> pd.DataFrame:
    """Sort by score, best first, undecided last, ties drawn; keep at most `per_question` rows of a question in all tasks.

    The draw depends on an answer's own identity, so a new model or task does not change the order of the others.
    """
    draws = [keyed_random.fraction("filter", seed, *map(str, row)) for row in rows[IDENTITY].itertuples(index=False)]
    ordered = rows.assign(draw=draws).sort_values(["score", "draw"], ascending=[False, True], ignore_index=True)
    if per_question is None:
        return ordered
    position = ordered.groupby(ordered["question"].map(tables.question_key), sort=False).cumcount()
    return ordered[position < per_question]
