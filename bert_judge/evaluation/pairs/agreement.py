"""Agreement of pairwise judges with labels, annotators and themselves; position and length bias."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bert_judge import tables
from bert_judge.evaluation.agreement import MAJORITY
from bert_judge.evaluation.pairs.pair_tables import LENGTH_A, LENGTH_B, PEOPLE, POINTS, group_by_task
from bert_judge.statistics import intervals
from bert_judge.statistics.bootstrap import Interval, QuestionBootstrap, classification_resamples, percentile_interval, ratio

# (measure, rows that it is computed on, value).
Measure = tuple[str, pd.DataFrame, Interval]
CLASS_METRICS = ("macro_precision", "macro_recall", "macro_f1", "kappa")
PREFERENCES = ["A", "B"]


def measure_agreement(frame: pd.DataFrame, judges: Sequence[str]) -> list[dict[str, Any]]:
    """Compute the rows of the schema `tables.PAIR_AGREEMENT` without `set`; annotators and the majority class come last.

    `frame`: from `pair_tables.load_pairs`.
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
