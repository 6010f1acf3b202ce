"""Tables of pairs: built from two models' answers to the same questions or from an imported file, and read with verdicts."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bert_judge import tables
from bert_judge.importers import files
from bert_judge.runtime import keyed_random
from bert_judge.runtime.errors import InputError

log = logging.getLogger(__name__)

KEY = ["sample_id", "attempt"]
# A's points; an inconsistent judge has found no difference.
POINTS = {"A": 1.0, "B": 0.0, "tie": 0.5, "inconsistent": 0.5}
# Used in place of a judge's name for the labels and votes of annotators; judges cannot have this name.
PEOPLE = "(people)"
LENGTH_A, LENGTH_B = "(characters A)", "(characters B)"
PAIR_COLUMNS = ["pair_id", "sample_id", "task", "model_a", "model_b", "label", "votes", LENGTH_A, LENGTH_B]
PREFERENCE_COLUMNS = ["verdict", "consistent", "forward", "backward"]


def import_pairs(spec: Mapping[str, Any], source: str | Path, output: str | Path) -> None:
    """Write the table of a set of pairs that comes from a file.

    Args:
        spec: `Plan.pairs_spec`.

    Raises:
        InputError: the file cannot be read, or contains no pair in the set's share of the questions.
    """
    frame = files.read_pairs(spec, source)
    if frame.empty:
        raise InputError(f"{source}: no pair falls between {spec['question_split']}; widen pairs.{spec['set']}.question_split")
    tables.write(frame, output, tables.PAIRS, spec)
    log.info("%s: %d pairs, %d with a label", spec["set"], len(frame), int(frame["label"].notna().sum()))


def build_pairs(
    spec: Mapping[str, Any],
    answers: Sequence[Sequence[str | Path]],
    gold: Sequence[Sequence[str | Path]],
    output: str | Path,
) -> None:
    """Write the pairs of two models: their answers to the same question and attempt, in random order.

    Args:
        spec: `Plan.pairs_spec`.
        answers: per model, its candidate tables in the order of the spec's tasks.
        gold: per model, the gold judge's label tables in the same order; empty without a gold judge.
    """
    first, second = (_read_answers(spec["tasks"], paths, gold[side] if gold else ()) for side, paths in enumerate(answers))
    second = second.drop(columns=["task", "question", "references"])
    both = first.merge(second, on=KEY, suffixes=("_1", "_2"), validate="one_to_one")
    seed = (spec["seed"], *spec["models"])
    if spec["rows"] is not None:
        sample = sorted(set(both["sample_id"]), key=lambda sample_id: keyed_random.fraction("rows", *seed, sample_id))
        both = both[both["sample_id"].isin(sample[: spec["rows"]])]
    first_is_a = np.array([keyed_random.fraction("place", *seed, sample_id) >= 0.5 for sample_id in both["sample_id"]], bool)
    for name, source in {"answer": "candidate", "model": "model", "status": "status", "verdict": "verdict"}.items():
        one, two = both[f"{source}_1"], both[f"{source}_2"]
        both = both.assign(**{f"{name}_a": one.where(first_is_a, two), f"{name}_b": two.where(first_is_a, one)})
    keys = both[["sample_id", "model_a", "model_b", "answer_a", "answer_b"]].itertuples(index=False, name=None)
    labels: list[Any] = [prefer(*verdicts) for verdicts in zip(both["verdict_a"], both["verdict_b"], strict=True)]
    both = both.assign(pair_id=[tables.pair_id(*key) for key in keys], label=labels, votes=None)
    both = both.assign(grade_a=None, grade_b=None, rationale=None)
    # Several attempts may have given the same two answers.
    frame = both[tables.PAIRS.names].drop_duplicates("pair_id")
    tables.write(frame, output, tables.PAIRS, spec)
    log.info("%s: %d pairs of %s and %s", spec["set"], len(frame), *spec["models"])


def _read_answers(tasks: Iterable[str], paths: Sequence[str | Path], gold: Sequence[str | Path]) -> pd.DataFrame:
    """Read a model's answers to all tasks, with gold's verdicts (None without gold)."""
    frames = []
    for index, (task, path) in enumerate(zip(tasks, paths, strict=True)):
        frame = tables.read(path, tables.CANDIDATES).assign(task=task)
        if gold:
            verdicts = tables.read(gold[index], tables.LABELS)[[*KEY, "verdict"]]
            frame = frame.merge(verdicts, on=KEY, how="left", validate="one_to_one")
        else:
            frame["verdict"] = None
        frames.append(frame)
    columns = [*KEY, "task", "question", "references", "model", "candidate", "status", "verdict"]
    return pd.concat(frames, ignore_index=True)[columns]


def prefer(verdict_a: str | None, verdict_b: str | None) -> str | None:
    """Derive a preference from the verdicts on both answers; None unless both are decided."""
    if verdict_a not in ("correct", "incorrect") or verdict_b not in ("correct", "incorrect"):
        return None
    if verdict_a == verdict_b:
        return "tie"
    return "A" if verdict_a == "correct" else "B"


def load_pairs(pairs: Sequence[Path], preferences: Mapping[str, Path]) -> pd.DataFrame:
    """Read a set of pairs: `PAIR_COLUMNS`, and `{judge}_{column}` of `PREFERENCE_COLUMNS` for each judge.

    Rows are sorted by task and pair, so that the order of the files does not matter.

    Args:
        pairs: the set's tables in the schema `tables.PAIRS`.
        preferences: judge → its table on the set, in the schema `tables.PREFERENCES`.

    Raises:
        InputError: a file cannot be read, a pair is in two tables, or a judge has no verdict on a pair.
    """
    frames = []
    for path in pairs:
        frame = tables.read(path, tables.PAIRS)
        # Only the lengths of texts are kept in memory.
        lengths = {LENGTH_A: frame["answer_a"].str.len(), LENGTH_B: frame["answer_b"].str.len()}
        frames.append(frame.assign(**lengths)[PAIR_COLUMNS])
    frame = pd.concat(frames, ignore_index=True).sort_values(["task", "pair_id"], ignore_index=True)
    if (repeated := frame["pair_id"].duplicated()).any():
        pair = frame.loc[repeated, "pair_id"].iloc[0]
        raise InputError(f"{pairs[0].parent}: the pair {pair} is in two files; delete them, run again")
    for judge, path in preferences.items():
        verdicts = tables.read(path, tables.PREFERENCES)[["pair_id", *PREFERENCE_COLUMNS]]
        verdicts = verdicts.rename(columns={column: f"{judge}_{column}" for column in PREFERENCE_COLUMNS})
        frame = frame.merge(verdicts, on="pair_id", how="left", validate="one_to_one")
        if (missing := int(frame[f"{judge}_verdict"].isna().sum())) > 0:
            raise InputError(f"{path}: {missing} of the {len(frame)} pairs have no verdict; delete it and run again")
    return frame


def group_by_task(frame: pd.DataFrame) -> Iterator[tuple[tuple[str, str], pd.DataFrame]]:
    """Yield ((level, task), pairs): all pairs, then each task if there are several."""
    yield ("all", "all"), frame
    if frame["task"].nunique() > 1:
        for task, subset in frame.groupby("task", sort=True):
            yield ("task", str(task)), subset
