"""Pairs of answers and pairwise judges: tables of pairs, agreement with labels and annotators, position and length bias.

A table of pairs is built from two models' answers to the same questions or from an imported file.
"""

import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bert_judge import tables
from bert_judge.evaluation.agreement import MAJORITY
from bert_judge.importers import files
from bert_judge.runtime import keyed_random
from bert_judge.runtime.errors import InputError
from bert_judge.statistics import intervals
from bert_judge.statistics.bootstrap import Interval, QuestionBootstrap, classification_resamples, percentile_interval, ratio

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


# --- agreement ---

# (measure, rows that it is computed on, value).
Measure = tuple[str, pd.DataFrame, Interval]
CLASS_METRICS = ("macro_precision", "macro_recall", "macro_f1", "kappa")
PREFERENCES = ["A", "B"]


def measure_agreement(frame: pd.DataFrame, judges: Sequence[str]) -> list[dict[str, Any]]:
    """Compute the rows of the schema `tables.PAIR_AGREEMENT` without `set`; annotators and the majority class come last.

    `frame`: from `load_pairs`.
    """
    rows: list[dict[str, Any]] = []
    for (level, task), subset in group_by_task(frame):
        measures = [(judge, _judge_measures(subset, judge)) for judge in judges]
        measures += [(PEOPLE, _annotator_measures(subset)), (MAJORITY, _majority_measures(subset))]
        for judge, judge_measures in measures:
            for measure, measured_rows, interval in judge_measures:
                row = {"level": level, "task": task, "judge": judge, "measure": measure, "n": len(measured_rows)}
                rows.append(row | {"questions": measured_rows["sample_id"].nunique(), **interval.columns("value")})
    return rows


def _judge_measures(frame: pd.DataFrame, judge: str) -> Iterator[Measure]:
    rows = frame.rename(columns={f"{judge}_{name}": name for name in ("verdict", "consistent", "forward", "backward")})
    yield from _label_agreement(rows)
    yield from _position_bias(rows)
    yield from _length_bias(rows)
    if len(voted := rows[has_several_votes(rows["votes"])]):
        judge_agreement, excess, _ = leave_one_annotator_out(voted)
        yield "panel_agreement", voted, judge_agreement
        yield "panel_agreement_excess", voted, excess
    for verdict in ("tie", "inconsistent", "invalid"):
        yield verdict, rows, _proportion(rows, rows["verdict"] == verdict)


def _annotator_measures(frame: pd.DataFrame) -> Iterator[Measure]:
    """Compute the annotators' agreement with each other, and length bias and ties of the labels."""
    if len(voted := frame[has_several_votes(frame["votes"])]):
        yield "panel_agreement", voted, leave_one_annotator_out(voted.assign(verdict=""))[2]
    if len(labelled := frame[frame["label"].notna()]):
        clear = labelled[labelled["label"].isin(PREFERENCES) & (labelled[LENGTH_A] != labelled[LENGTH_B])]
        yield "prefers_longer", clear, _proportion(clear, _prefers_longer(clear, clear["label"]))
        yield "tie", labelled, _proportion(labelled, labelled["label"] == "tie")


def _majority_measures(frame: pd.DataFrame) -> Iterator[Measure]:
    """Evaluate the baseline judge that always gives the most common label."""
    if len(labelled := frame[frame["label"].notna()]):
        majority = str(labelled["label"].value_counts().sort_index().idxmax())
        measures = _label_agreement(labelled.assign(verdict=majority, forward=majority))
        yield from (measure for measure in measures if measure[0] in ("agreement", *CLASS_METRICS))


def _label_agreement(rows: pd.DataFrame) -> Iterator[Measure]:
    labelled = rows[rows["label"].notna()]
    if labelled.empty:
        return
    yield "agreement", labelled, _proportion(labelled, labelled["verdict"] == labelled["label"])
    decided = labelled[labelled["verdict"].isin(tables.PREFERRED)]
    yield "agreement_decided", decided, _proportion(decided, decided["verdict"] == decided["label"])
    yield "agreement_one_order", labelled, _proportion(labelled, labelled["forward"] == labelled["label"])
    # Averages are over the classes of the labels, so all judges are compared on the same classes.
    resampled = classification_resamples(
        QuestionBootstrap.over(labelled["sample_id"]), labelled["label"], labelled["verdict"], labelled["label"].unique().tolist()
    )
    for measure in CLASS_METRICS:
        yield measure, labelled, percentile_interval(resampled[measure])


def _position_bias(rows: pd.DataFrame) -> Iterator[Measure]:
    """Measure position bias as JudgeLM does: the first position is preferred if A gains half a point or more by being first."""
    both = rows[rows["consistent"].notna()]
    forward, backward = (both[order].map(POINTS).to_numpy(dtype=float) for order in ("forward", "backward"))
    prefers_first, prefers_second = forward > backward, forward < backward
    yield "consistency", both, _proportion(both, both["consistent"])
    yield "prefers_first", both, _proportion(both, prefers_first)
    yield "prefers_second", both, _proportion(both, prefers_second)
    yield "position_bias", both, intervals.paired_difference(prefers_first, prefers_second, both["sample_id"].to_numpy())


def _length_bias(rows: pd.DataFrame) -> Iterator[Measure]:
    clear = rows[rows["verdict"].isin(PREFERENCES) & (rows[LENGTH_A] != rows[LENGTH_B])]
    judge_prefers_longer = _prefers_longer(clear, clear["verdict"])
    yield "prefers_longer", clear, _proportion(clear, judge_prefers_longer)
    labelled = clear["label"].isin(PREFERENCES).to_numpy(dtype=bool)
    if len(both := clear[labelled]):
        label_prefers_longer = _prefers_longer(both, both["label"])
        difference = intervals.paired_difference(judge_prefers_longer[labelled], label_prefers_longer, both["sample_id"].to_numpy())
        yield "length_bias", both, difference


def _prefers_longer(rows: pd.DataFrame, preferred: pd.Series) -> NDArray[np.bool_]:
    return ((preferred == "A") == (rows[LENGTH_A] > rows[LENGTH_B])).to_numpy(dtype=bool)


def _proportion(rows: pd.DataFrame, hits: pd.Series | NDArray[np.bool_]) -> Interval:
    return intervals.proportion(np.asarray(hits, dtype=bool), rows["sample_id"].to_numpy())


def has_several_votes(votes: pd.Series) -> pd.Series:
    """Return which pairs have two votes or more."""
    return votes.map(lambda pair_votes: pair_votes is not None and len(pair_votes) > 1).astype(bool)


def leave_one_annotator_out(rows: pd.DataFrame) -> tuple[Interval, Interval, Interval]:
    """Compare a judge with annotators, leaving out each annotator in turn and comparing with the majority of the others.

    The judge replaces the annotator left out. Where the others are split, each of their most common
    votes is the majority in equal parts, so no pair is left out.

    Args:
        rows: with the columns sample_id, verdict and votes, at least two per pair.

    Returns:
        The judge's agreement, its difference to the annotators', and the annotators' agreement with each other.
    """
    credits = np.array([_agreement_credits(verdict, votes) for verdict, votes in zip(rows["verdict"], rows["votes"], strict=True)])
    judge, annotators, comparisons = QuestionBootstrap.over(rows["sample_id"]).totals(credits).T
    resampled = (ratio(judge, comparisons), ratio(judge - annotators, comparisons), ratio(annotators, comparisons))
    judge_interval, excess, annotator_interval = map(percentile_interval, resampled)
    return judge_interval, excess, annotator_interval


def _agreement_credits(verdict: str, votes: Sequence[str]) -> tuple[float, float, float]:
    """Return the judge's and the annotators' agreement with the other annotators, and the number of comparisons, of one pair."""
    judge = annotators = 0.0
    for index, vote in enumerate(votes):
        majority = _majority([*votes[:index], *votes[index + 1 :]])
        judge += majority.get(verdict, 0.0)
        annotators += majority.get(vote, 0.0)
    return judge, annotators, float(len(votes))


def _majority(votes: Sequence[str]) -> dict[str, float]:
    """Return the most common votes, with equal weights that sum to 1."""
    counts = Counter(votes)
    most_common = [vote for vote, count in counts.items() if count == max(counts.values())]
    return dict.fromkeys(most_common, 1 / len(most_common))
