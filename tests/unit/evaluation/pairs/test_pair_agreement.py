"""Measures of pairwise judges: cases by hand, another program's figures, the properties they must have."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from helpers.pair_files import pair_rows, preference_rows, words, write_set
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from bert_judge import tables
from bert_judge.evaluation.agreement import MAJORITY
from bert_judge.evaluation.pairs import agreement
from bert_judge.evaluation.pairs.agreement import LENGTH_A, LENGTH_B, PEOPLE, load_pairs
from bert_judge.runtime.errors import InputError


def measured(folder: Path, pairs: pd.DataFrame, **said: pd.DataFrame) -> pd.DataFrame:
    paths, judged = write_set(folder, pairs, said)
    measures = pd.DataFrame(agreement.measure_agreement(load_pairs(paths, judged), list(said)))
    return measures.set_index(["level", "task", "judge", "measure"]).sort_index()


def of(measures: pd.DataFrame, measure: str, judge: str = "j") -> tuple[float, int]:
    row = measures.loc[("all", "all", judge, measure)]
    return round(float(row["value"]), 4), int(row["n"])


#            agrees: A = A, B = B, t = t, and 3 of 8; the last has no label
LABELS = "ABtABAA."
FORWARD = "ABtBAAxA"
BACKWARD = "ABtBBAAA"


def test_measures_by_hand(tmp_path: Path) -> None:
    pairs = pair_rows(LABELS)
    measures = measured(tmp_path, pairs, j=preference_rows(pairs, FORWARD, BACKWARD))
    # Verdicts: A B t B ? A x A
    assert of(measures, "agreement") == (round(4 / 7, 4), 7)
    assert of(measures, "agreement_decided") == (round(4 / 5, 4), 5)
    assert of(measures, "agreement_one_order") == (round(4 / 7, 4), 7)
    assert of(measures, "consistency") == (round(6 / 7, 4), 7)
    assert of(measures, "prefers_first") == (round(1 / 7, 4), 7)
    assert of(measures, "prefers_second") == (0.0, 7)
    assert of(measures, "position_bias") == (round(1 / 7, 4), 7)
    assert of(measures, "tie") == (round(1 / 8, 4), 8)
    assert of(measures, "inconsistent") == (round(1 / 8, 4), 8)
    assert of(measures, "invalid") == (round(1 / 8, 4), 8)
    # A is longer everywhere; the verdicts A and B are A B B A A, and where both prefer one, A B B A against A B A A.
    assert of(measures, "prefers_longer") == (round(3 / 5, 4), 5)
    assert of(measures, "length_bias") == (round(2 / 4 - 3 / 4, 4), 4)
    assert of(measures, "prefers_longer", PEOPLE) == (round(4 / 6, 4), 6)
    assert of(measures, "tie", PEOPLE) == (round(1 / 7, 4), 7)
    assert of(measures, "agreement", MAJORITY) == (round(4 / 7, 4), 7)
    assert ("all", "all", MAJORITY, "consistency") not in measures.index


def test_intervals_contain_their_value(tmp_path: Path) -> None:
    pairs = pair_rows(LABELS * 5, votes=[["A", "B", "A"], ["tie", "tie"]] * 20)
    measures = measured(tmp_path, pairs, j=preference_rows(pairs, FORWARD * 5, BACKWARD * 5)).dropna(subset=["value"])
    assert (measures["low"] <= measures["value"] + 1e-9).all()
    assert (measures["value"] <= measures["high"] + 1e-9).all()
    assert set(measures.reset_index()["measure"]) == set(tables.PAIR_MEASURES)
    tables.write(measures.reset_index().assign(set="s"), tmp_path / "made.parquet", tables.PAIR_AGREEMENT, {})


def test_position_preference_counts_half_points() -> None:
    """A tie in one order and a winner in the other move the verdict too, as JudgeLM counts it."""
    pairs = pair_rows("." * 5)
    said = preference_rows(pairs, "AAtBt", "BtBAt").rename(columns=lambda name: name if name.endswith("_id") else f"j_{name}")
    frame = pairs.merge(said.drop(columns="sample_id"), on="pair_id").assign(**{LENGTH_A: 1, LENGTH_B: 1})
    measures = {row["measure"]: row["value"] for row in agreement.measure_agreement(frame, ["j"])}
    assert (measures["prefers_first"], measures["prefers_second"], measures["consistency"]) == (0.6, 0.2, 0.2)


def test_metrics_equal_those_of_scikit_learn(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    labels, said = ("".join(random.choice(list("ABt"), p=share, size=400)) for share in ([0.5, 0.3, 0.2], [0.4, 0.4, 0.2]))
    pairs = pair_rows(labels)
    measures = measured(tmp_path, pairs, j=preference_rows(pairs, said))
    truth, verdicts = words(labels), words(said)
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(truth, verdicts, average="macro")
    for measure, value in (("macro_precision", precision), ("macro_recall", recall), ("macro_f1", f1)):
        assert of(measures, measure)[0] == pytest.approx(value, abs=1e-4)
    assert of(measures, "kappa")[0] == pytest.approx(metrics.cohen_kappa_score(truth, verdicts), abs=1e-4)
    assert of(measures, "agreement")[0] == pytest.approx(metrics.accuracy_score(truth, verdicts), abs=1e-4)


def test_classes_without_labels_are_left_out_of_averages(tmp_path: Path) -> None:
    """LLMBar has no ties: a judge that calls a tie misses the class of the label, and is not penalised a second time."""
    pairs = pair_rows("AABB")
    measures = measured(tmp_path, pairs, j=preference_rows(pairs, "AtBB"))
    assert of(measures, "macro_recall")[0] == (0.5 + 1) / 2
    assert of(measures, "macro_precision")[0] == 1.0


def test_intervals_cluster_by_question(tmp_path: Path) -> None:
    """Fifty pairs of five questions are five observations: the interval is wide, and the number of questions is told."""
    answers = "A" * 30 + "B" * 20
    alone, clustered = pair_rows("A" * 50), pair_rows("A" * 50, sample_id=[f"q{n // 10}" for n in range(50)])
    measures = [
        measured(tmp_path / name, pairs, j=preference_rows(pairs, answers)) for name, pairs in (("a", alone), ("c", clustered))
    ]
    wide, narrow = (frame.loc[("all", "all", "j", "agreement")] for frame in reversed(measures))
    assert (wide["questions"], narrow["questions"]) == (5, 50)
    assert wide["high"] - wide["low"] > 2 * (narrow["high"] - narrow["low"])


def test_several_tasks_are_groups(tmp_path: Path) -> None:
    pairs = pair_rows("AABB", task=["x", "x", "y", "y"])
    measures = measured(tmp_path, pairs, j=preference_rows(pairs, "AAAA"))
    assert measures.loc[("task", "x", "j", "agreement"), "value"] == 1.0
    assert measures.loc[("task", "y", "j", "agreement"), "value"] == 0.0
    assert measures.loc[("all", "all", "j", "agreement"), "value"] == 0.5


def test_unlabelled_pairs_have_biases_only(tmp_path: Path) -> None:
    pairs = pair_rows("....")
    measures = measured(tmp_path, pairs, j=preference_rows(pairs, "ABxA", "AAxA")).reset_index()
    assert set(measures["judge"]) == {"j"}
    assert not {"agreement", "kappa", "panel_agreement", "length_bias"} & set(measures["measure"])
    assert {"consistency", "prefers_longer", "invalid"} <= set(measures["measure"])


def test_no_pairs(tmp_path: Path) -> None:
    pairs = pair_rows("")
    measures = measured(tmp_path, pairs, j=preference_rows(pairs, ""))
    assert (measures["n"] == 0).all()
    assert measures["value"].isna().all()


# --- agreement with annotators ---

ANNOTATOR_CASES = [
    # (verdict, votes, judge's agreement, annotators' agreement), averaged over each person left out
    ("A", ["A", "A", "A"], 1.0, 1.0),
    ("B", ["A", "A", "A"], 0.0, 1.0),
    # Left out the one who says B: A, A agree. Left out an A: A against B, half each; that person says A.
    ("A", ["A", "A", "B"], (1 + 0.5 + 0.5) / 3, (0 + 0.5 + 0.5) / 3),
    ("tie", ["A", "B", "tie"], (0.5 + 0.5 + 0) / 3, 0.0),
    ("inconsistent", ["A", "A"], 0.0, 1.0),
]


@pytest.mark.parametrize(("verdict", "votes", "judge", "people"), ANNOTATOR_CASES)
def test_leave_one_annotator_out_by_hand(verdict: str, votes: list[str], judge: float, people: float) -> None:
    rows = pd.DataFrame({"sample_id": "q", "verdict": verdict, "votes": [votes]})
    intervals = agreement.leave_one_annotator_out(rows)
    assert [interval.value for interval in intervals] == pytest.approx([judge, judge - people, people])


def test_single_votes_are_left_out() -> None:
    votes = pd.Series([["A"], None, ["A", "B"], []])
    assert agreement.has_several_votes(votes).tolist() == [False, False, True, False]


@settings(max_examples=40)
@given(st.lists(st.lists(st.sampled_from(tables.PREFERRED), min_size=2, max_size=5), min_size=1, max_size=8))
def test_the_majority_vote_agrees_at_least_as_much_as_annotators(votes: list[list[str]]) -> None:
    majority = [max(sorted(pair_votes), key=pair_votes.count) for pair_votes in votes]
    rows = pd.DataFrame({"sample_id": range(len(votes)), "verdict": majority, "votes": votes})
    judge, _, annotators = agreement.leave_one_annotator_out(rows)
    assert judge.value >= annotators.value - 1e-9


@settings(max_examples=40)
@given(st.lists(st.tuples(*[st.sampled_from("ABt")] * 3), min_size=1, max_size=12))
def test_measures_are_invariant_to_swapped_answers(told: list[tuple[str, str, str]]) -> None:
    other = str.maketrans("AB", "BA")
    labels, there, back = ("".join(letters) for letters in zip(*told, strict=True))
    tables_of: list[pd.DataFrame] = []
    for label, one, two in ((labels, there, back), (labels.translate(other), back.translate(other), there.translate(other))):
        pairs = pair_rows(label)
        said = preference_rows(pairs, one, two).rename(columns=lambda name: name if name.endswith("_id") else f"j_{name}")
        lengths = {LENGTH_A: 10, LENGTH_B: 5} if label == labels and one == there else {LENGTH_A: 5, LENGTH_B: 10}
        tables_of.append(pairs.merge(said.drop(columns="sample_id"), on="pair_id").assign(**lengths))
    one_way, other_way = (
        {(row["judge"], row["measure"]): row["value"] for row in agreement.measure_agreement(frame, ["j"])} for frame in tables_of
    )
    # Which order counts as the first one is a matter of the pair's letters.
    for key in one_way.keys() - {("j", "agreement_one_order")}:
        assert one_way[key] == pytest.approx(other_way[key], nan_ok=True), key


# --- files ---


def test_missing_verdicts_are_an_error(tmp_path: Path) -> None:
    pairs = pair_rows("AB")
    paths, judged = write_set(tmp_path, pairs, {"j": preference_rows(pairs, "AB").head(1)})
    with pytest.raises(InputError, match=r"j\.parquet: 1 of the 2 pairs have no verdict"):
        load_pairs(paths, judged)


def test_repeated_pairs_are_an_error(tmp_path: Path) -> None:
    pairs = pair_rows("AB")
    paths, judged = write_set(tmp_path, [pairs, pairs.head(1)], {})
    with pytest.raises(InputError, match="the pair 0000000000000000 is in two files"):
        load_pairs(paths, judged)


def test_lengths_of_texts_in_any_script(tmp_path: Path) -> None:
    pairs = pair_rows("AB", answer_a=["שלום", "x" * 100_000], answer_b=["", "é"])
    frame = load_pairs(*write_set(tmp_path, pairs, {}))
    assert frame[LENGTH_A].tolist() == [4, 100_000]
    assert frame[LENGTH_B].tolist() == [0, 1]
