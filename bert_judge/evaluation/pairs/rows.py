"""Pairs with the verdicts of all judges beside them: what everything of this folder is computed from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pandas as pd

from bert_judge import tables
from bert_judge.runtime.errors import InputError

# What stands for people's labels and votes where a judge is named. No judge of a configuration can have this name.
PEOPLE = "(people)"
LENGTH_A, LENGTH_B = "(characters A)", "(characters B)"
KEPT = ("verdict", "consistent", "forward", "backward")
PAIR_COLUMNS = ["pair_id", "sample_id", "task", "model_a", "model_b", "label", "votes", LENGTH_A, LENGTH_B]
# (level, task) → rows.
Group = tuple[tuple[str, str], pd.DataFrame]


def load(pairs: Sequence[Path], preferences: Mapping[str, Path]) -> pd.DataFrame:
    """A set of pairs: identity, models, label and votes, the answers' lengths, and `{judge}_{column}` of `KEPT` for each judge.

    Sorted by task and pair, so that nothing depends on the order of the files.

    Args:
        pairs: the set's parts, tables in the schema `tables.PAIRS`.
        preferences: judge → its table on the set, in the schema `tables.PREFERENCES`.

    Raises:
        InputError: a file is not what it should be, a pair is in two parts, or a judge says nothing of a pair.
    """
    parts = []
    for path in pairs:
        part = tables.read(path, tables.PAIRS)
        lengths = {LENGTH_A: part["answer_a"].str.len(), LENGTH_B: part["answer_b"].str.len()}
        # Lengths are all that is told of texts, so memory does not hold them.
        parts.append(part.assign(**lengths)[PAIR_COLUMNS])
    frame = pd.concat(parts, ignore_index=True).sort_values(["task", "pair_id"], ignore_index=True)
    if (repeated := frame["pair_id"].duplicated()).any():
        raise InputError(
            f"{pairs[0].parent}: the pair {frame.loc[repeated, 'pair_id'].iloc[0]} is in two files; delete them, run again"
        )
    for judge, path in preferences.items():
        said = tables.read(path, tables.PREFERENCES)[["pair_id", *KEPT]]
        said = said.rename(columns={column: f"{judge}_{column}" for column in KEPT})
        frame = frame.merge(said, on="pair_id", how="left", validate="one_to_one")
        if (missing := int(frame[f"{judge}_verdict"].isna().sum())) > 0:
            raise InputError(f"{path}: {missing} of the {len(frame)} pairs have no verdict; delete it and run again")
    return frame


def by_task(frame: pd.DataFrame) -> Iterator[Group]:
    """Everything, then each task; a single task is everything."""
    yield ("all", "all"), frame
    if frame["task"].nunique() > 1:
        for task, part in frame.groupby("task", sort=True):
            yield ("task", str(task)), part
