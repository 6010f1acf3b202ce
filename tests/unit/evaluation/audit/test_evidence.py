"""Designs, corrected differences, confidence sequences and what follows from them."""

from typing import get_args

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_judge import tables
from bert_judge.evaluation.audit import corrected, ppi, sampling
from bert_judge.evaluation.audit.sampling import LABEL, UNLABELLED
from bert_judge.evaluation.score_tables import MODEL, TASK

SPEC = {"judge": "judge", "judges": ["judge"]}
DESIGNS = get_args(sampling.Design)


def answers(accuracies: dict[str, float], questions: int, labels: int, *, design="uniform", seed=0, quality=0.9) -> pd.DataFrame:
    """Answers of models to the same questions, with a judge of this sensitivity and specificity, and labels."""
    random = np.random.default_rng(seed)
    frames = []
    for name, accuracy in accuracies.items():
        right = random.random(questions) < accuracy
        agrees = random.random(questions) < quality
        called = right == agrees
        confidence = np.where(agrees, random.beta(6, 1, questions), random.beta(2, 2, questions)) / 2
        frames.append(
            pd.DataFrame(
                {
                    **{MODEL: name, TASK: "t", "sample_id": np.arange(questions).astype(str), "attempt": 0},
                    **{"judge": np.where(called, 0.5 + confidence, 0.5 - confidence), "right": right.astype(float)},
                    "judge_verdict": np.where(called, "correct", "incorrect"),
                }
            )
        )
    ordered = sampling.order_answers(pd.concat(frames, ignore_index=True), "judge", design, seed)
    drawn = ordered.index.isin(sampling.draw_sample(ordered, labels).index)
    return ordered.assign(**{LABEL: np.where(drawn, ordered["right"], UNLABELLED)})


@pytest.mark.parametrize("design", DESIGNS)
def test_rates_have_mean_one_and_a_floor(design):
    frame = answers({"a": 0.6, "b": 0.9}, 400, 50)
    rates = pd.Series(sampling.sampling_rates(frame[MODEL], frame["judge"], design))
    assert rates.groupby(frame[MODEL].to_numpy()).mean().tolist() == pytest.approx([1, 1])
    assert rates.min() > 0.25
    assert (rates.nunique() == 1) == (design == "uniform")


@settings(max_examples=50)
@given(st.lists(st.floats(0.3, 3), min_size=2, max_size=40), st.data())
def test_inclusion_probabilities_make_the_labels_stand_for_all(rates, data):
    labelled = np.array(data.draw(st.lists(st.booleans(), min_size=len(rates), max_size=len(rates))))
    probabilities = sampling.inclusion_probabilities(["m"] * len(rates), rates, labelled)
    assert (probabilities <= 1).all()
    if labelled.any():
        assert (1 / probabilities[labelled]).sum() == pytest.approx(len(rates))


@pytest.mark.parametrize("design", DESIGNS)
def test_every_design_is_unbiased(design):
    errors = []
    for seed in range(60):
        frame = answers({"a": 0.7}, 500, 60, design=design, seed=seed)
        estimates = corrected.estimate_methods(frame, "judge", "judge")
        errors.append([estimates[method].value - frame["right"].mean() for method in corrected.METHODS])
    errors = np.array(errors)
    assert (np.abs(errors.mean(axis=0)) < 4 * errors.std(axis=0) / len(errors) ** 0.5).all()


def test_with_all_labels_every_design_gives_the_truth():
    for design in DESIGNS:
        frame = answers({"a": 0.7}, 200, 200, design=design)
        for method in ("human_labels", "ppi"):
            assert corrected.estimate_methods(frame, "judge", "judge")[method].value == pytest.approx(frame["right"].mean())


def test_difference_of_labels_is_the_paired_one():
    """With all labels and weight 0 the influences are those of the paired mean, so its standard error is the textbook one."""
    frame = answers({"a": 0.7, "b": 0.5}, 300, 300)
    a, b = (frame[frame[MODEL] == name].sort_values("sample_id")["right"].to_numpy() for name in "ab")
    question = np.arange(300)
    first, second = (ppi.prediction_powered(np.zeros(300), y, clusters=question, strata=np.zeros(300), weight=0.0) for y in (a, b))
    difference = first - second
    assert difference.value == pytest.approx((a - b).mean())
    influence = difference.influence.to_numpy() * 300
    assert influence.std(ddof=1) == pytest.approx((a - b).std(ddof=1), rel=0.03)
    assert difference.standard_error() > 0


def test_pairs_table():
    frame = answers({"good": 0.9, "fair": 0.6, "twin": 0.6}, 600, 150)
    table = corrected.corrected_pairs_table(frame, SPEC)
    assert list(table.columns) == list(tables.CORRECTED_PAIRS.names)
    rows = table[table["method"] == "ppi"].set_index(["model", "other"])
    assert len(rows) == 3
    for other in ("fair", "twin"):
        row = rows.loc[("good", other)]
        assert row["state"] == "settled"
        assert row["sequence_low"] < row["low"] < 0.3 < row["high"] < row["sequence_high"]
        assert row["p_holm"] < 0.001 and row["significant"]
    [close] = [row for key, row in rows.iterrows() if "good" not in key]
    assert close["state"] in ("open", "tie")
    assert close["low"] < 0 < close["high"]
    steps = corrected.next_steps(table)
    assert steps[0].startswith("good > ")
    assert steps[0].endswith("is settled: stop.")
    assert corrected.next_steps(table[table["state"] == "settled"]) == [
        "Stop: every difference between models is settled (2 of 2)."
    ]


def test_forecast_of_labels():
    frame = answers({"a": 0.75, "b": 0.65}, 3000, 60, quality=0.85)
    row = corrected.compare_models(*(frame[frame[MODEL] == name] for name in "ab"), judge="judge", sampling_judge="judge")["ppi"]
    assert row["state"] == "open"
    more = answers({"a": 0.75, "b": 0.65}, 3000, 60 + 2 * row["labels_needed"], quality=0.85)
    later = corrected.compare_models(*(more[more[MODEL] == name] for name in "ab"), judge="judge", sampling_judge="judge")["ppi"]
    assert later["state"] == "settled"
    assert corrected.next_steps(pd.DataFrame([{**row, "method": "ppi", "significant": False}])) == [
        f"{row['labels_needed']:,} more labels per model are expected to settle a > b."
    ]


def test_a_forecast_that_is_passed_is_not_repeated():
    """Of 17 labels the difference is 65 points, and its sequence still has 0, though 10 were expected to settle it."""
    values = np.repeat([1.0, 0.0, -1.0], [12, 4, 1])
    assert ppi.expected_labels(values, values.mean(), 0.05) <= len(values)
    forecast = corrected._forecast(values.mean(), low=-0.18, values=values, max_labels=100, alpha=0.05)
    assert forecast == {"state": "open", "labels_needed": None}


@pytest.mark.parametrize(("questions", "unclear"), [(6, 0), (12, 0), (60, 0), (60, 1)])
def test_no_more_labels_are_asked_for_where_every_answer_has_one(questions, unclear):
    """Small differences on few answers, all labelled; with an answer that people cannot decide, too."""
    frame = answers({"a": 0.75, "b": 0.65}, questions, questions, quality=0.85)
    frame.loc[frame.index[:unclear], LABEL] = np.nan
    table = corrected.corrected_pairs_table(frame, SPEC)
    [row] = table[table["method"] == "ppi"].to_dict("records")
    assert row["state"] == "tie" and pd.isna(row["labels_needed"]) and row["sequence_low"] < 0
    [sentence] = corrected.next_steps(table)
    sign, why = (">", "too few to settle it") if row["difference"] else ("=", "there is no difference on them")
    sure = f"all {questions} answers are labelled, and {why}; use more questions."
    asked = f"labels on all {questions} answers are not expected to settle it; use more questions."
    assert sentence == f"{row['model']} {sign} {row['other']}: {asked if unclear else sure}"


@pytest.mark.parametrize(
    ("difference", "low", "significant", "says"),
    [
        (0.333, 0.04, True, "a > b: all 26 answers are labelled, and the difference is significant if their number was fixed in "
         "advance, but not at any time; use more questions."),
        (0.333, 0.04, False, "a > b: all 26 answers are labelled, and the interval of the difference excludes 0, but not after "
         "the correction for several comparisons (Holm); use more questions."),
        (0.1, -0.04, False, "a > b: all 26 answers are labelled, and too few to settle it; use more questions."),
        (0.0, -0.1, False, "a = b: all 26 answers are labelled, and there is no difference on them; use more questions."),
    ],
)  # fmt: skip
def test_a_tie_on_all_answers_in_words(difference, low, significant, says):
    row = {"method": "ppi", "model": "a", "other": "b", "state": "tie", "n": 26, "labels": 26}
    assert corrected.next_steps(pd.DataFrame([{**row, "difference": difference, "low": low, "significant": significant}])) == [says]


@pytest.mark.parametrize(("count", "labels"), [(1, "1 more label per model is"), (2, "2 more labels per model are")])
def test_number_of_labels_in_words(count, labels):
    row = {"method": "ppi", "model": "a", "other": "b", "state": "open", "difference": 0.1, "labels_needed": count}
    row["significant"] = False
    assert corrected.next_steps(pd.DataFrame([row])) == [f"{labels} expected to settle a > b."]


def test_models_without_a_shared_question_are_not_compared():
    frame = answers({"a": 0.75, "b": 0.65}, 200, 60)
    frame.loc[frame[MODEL] == "b", "sample_id"] = "other " + frame["sample_id"].astype(str)
    table = corrected.corrected_pairs_table(frame, SPEC)
    assert (table["n"] == 0).all() and table["difference"].isna().all()
    assert set(table.loc[table["method"] == "ppi", "state"]) == {"unknown"} and not table["significant"].any()


@pytest.mark.parametrize("design", ["uniform", "neyman"])
def test_sequences_hold_at_every_label(design):
    held = 0
    for seed in range(60):
        frame = answers({"a": 0.7}, 400, 120, design=design, seed=seed)
        values, low, high = corrected.label_values_of(frame, "judge")
        assert low <= values.min() <= values.max() <= high
        lows, highs = ppi.confidence_sequence(values, value_bounds=(low, high), mean_bounds=(0, 1))
        assert (np.diff(lows) >= 0).all()
        assert (np.diff(highs) <= 0).all()
        held += ((lows <= frame["right"].mean()) & (frame["right"].mean() <= highs)).all()
    assert held >= 54
    assert highs[-1] - lows[-1] < 0.35


def test_sequence_excludes_a_wrong_mean():
    lows, highs = ppi.confidence_sequence(np.tile([0.0, 1.0], 500), value_bounds=(0, 1), mean_bounds=(0, 1))
    assert lows[0] == 0
    assert 0.42 < lows[-1] < 0.5 < highs[-1] < 0.58
