"""Bradley-Terry strengths: against closed forms, a published example, another program's fit and full refits."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from bert_judge.evaluation.pairs.ranks import (
    PRIOR_SD,
    Comparisons,
    expected_win_rates,
    fit_strengths,
    predicted_win_rates,
    scale_length,
    win_rates,
)
from bert_judge.statistics.bootstrap import QuestionBootstrap, percentile_bounds

# Games of the American League in 1987, as Agresti (Categorical Data Analysis, 2002, table 10.10) has them: row beat column.
TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
WON = np.array(
    [
        [0, 7, 9, 7, 7, 9, 11],
        [6, 0, 7, 5, 11, 9, 9],
        [4, 6, 0, 7, 7, 8, 12],
        [6, 8, 6, 0, 6, 7, 10],
        [6, 2, 6, 7, 0, 7, 12],
        [4, 4, 5, 6, 6, 0, 6],
        [2, 4, 1, 3, 1, 7, 0],
    ]
)
# Strengths against Baltimore's, as the same book and BradleyTerry2 (Turner and Firth 2012) have them.
PUBLISHED = [1.581, 1.436, 1.294, 1.248, 1.108, 0.684, 0.0]


def compare(rows: list[tuple[str, str, float]], longer: list[float] | None = None) -> Comparisons:
    a, b, points = zip(*rows, strict=True)
    return Comparisons.build(a, b, points, [0] * len(rows) if longer is None else longer)


def question_per_row(comparisons: Comparisons, resamples: int = 200) -> QuestionBootstrap:
    return QuestionBootstrap.over(range(len(comparisons.pair)), resamples=resamples)


def league() -> Comparisons:
    return compare([(TEAMS[i], TEAMS[j], 1.0) for i in range(7) for j in range(7) for _ in range(WON[i, j])])


def test_published_example() -> None:
    found = league()
    strength = fit_strengths(found, question_per_row(found))[0]
    by_team = dict(zip(found.models, strength - strength[found.models.index("Baltimore")], strict=True))
    assert [by_team[team] for team in TEAMS] == pytest.approx(PUBLISHED, abs=0.002)


def test_two_models_have_the_log_odds_of_their_wins() -> None:
    found = compare([("a", "b", 1.0)] * 30 + [("b", "a", 1.0)] * 10)
    one, two = fit_strengths(found, question_per_row(found))[0]
    assert one - two == pytest.approx(math.log(3), abs=1e-3)
    assert one == pytest.approx(-two)


def test_a_tie_is_half_a_win() -> None:
    ties = compare([("a", "b", 1.0)] * 20 + [("a", "b", 0.5)] * 10 + [("b", "a", 1.0)] * 10)
    halves = compare([("a", "b", 1.0)] * 25 + [("a", "b", 0.0)] * 15)
    assert fit_strengths(ties, question_per_row(ties))[0] == pytest.approx(fit_strengths(halves, question_per_row(halves))[0])


def test_the_order_within_pairs_does_not_matter() -> None:
    rows = [("a", "b", 1.0), ("b", "c", 0.5), ("c", "a", 0.0), ("a", "b", 0.0), ("b", "c", 1.0)]
    longer = [3.0, -1.0, 2.0, 0.0, 5.0]
    turned = compare([(b, a, 1 - points) for a, b, points in rows], [-value for value in longer])
    found = compare(rows, longer)
    one, two = (fit_strengths(made, question_per_row(made, 20), length_controlled=True) for made in (found, turned))
    assert one == pytest.approx(two)


def test_strengths_equal_those_of_statsmodels_with_and_without_lengths() -> None:
    random = np.random.default_rng(1)
    names, truth = list("abcd"), np.array([0.9, 0.3, -0.2, -1.0])
    i = random.integers(4, size=3000)
    j = (i + random.integers(1, 4, size=3000)) % 4
    longer = random.normal(0, 200, size=3000)
    points = (random.random(3000) < expit(truth[i] - truth[j] + 0.8 * scale_length(longer))).astype(float)
    found = compare([(names[x], names[y], p) for x, y, p in zip(i, j, points, strict=True)], list(longer))
    versus = np.eye(4)[i] - np.eye(4)[j]
    for controlled in (False, True):
        design = np.column_stack([versus[:, :3], scale_length(longer)]) if controlled else versus[:, :3]
        other = np.append(sm.GLM(points, design, family=sm.families.Binomial()).fit().params[:3], 0.0)
        strength = fit_strengths(found, question_per_row(found, 2), controlled)[0]
        assert strength == pytest.approx(other - other.mean(), abs=2e-3)
        # Without the lengths, differences of strengths are squeezed together.
        assert (abs(strength - truth).max() < 0.12) or not controlled


def test_one_step_bootstrap_approximates_full_refits() -> None:
    found, rows = league(), len(league().pair)
    drawn = question_per_row(found, 300)
    weights = np.random.default_rng(0).multinomial(rows, np.full(rows, 1 / rows), size=300)
    refitted = []
    for line in range(60):
        times = np.repeat(np.arange(rows), weights[line])
        again = Comparisons(
            models=found.models,
            pairs=found.pairs,
            pair=found.pair[times],
            points=found.points[times],
            length_difference=found.length_difference[times],
        )
        refitted.append(fit_strengths(again, question_per_row(again, 1))[0])
    one_step = fit_strengths(found, drawn)[1:61]
    assert np.std(one_step, axis=0) == pytest.approx(np.std(refitted, axis=0), rel=0.1)
    assert np.abs(one_step - np.array(refitted)).max() < 0.15


def test_standard_error_equals_the_cluster_robust_one_of_statsmodels() -> None:
    random = np.random.default_rng(2)
    questions = np.repeat(np.arange(300), 3)
    effect = np.repeat(random.normal(0, 1.5, 300), 3)
    points = (random.random(900) < expit(0.4 + effect)).astype(float)
    found = compare([("a", "b", p) for p in points])
    lines = fit_strengths(found, QuestionBootstrap.over(questions, resamples=2000))
    fit = sm.GLM(points, np.ones((900, 1)), family=sm.families.Binomial()).fit(cov_type="cluster", cov_kwds={"groups": questions})
    assert np.std(lines[1:, 0] - lines[1:, 1]) == pytest.approx(fit.bse[0], rel=0.1)


def test_a_model_that_always_wins_is_first_and_finite() -> None:
    found = compare([("a", "b", 1.0)] * 20 + [("b", "c", 1.0), ("c", "b", 1.0)] * 5)
    lines = fit_strengths(found, question_per_row(found))
    assert found.models[int(np.argmax(lines[0]))] == "a"
    assert np.isfinite(lines).all()
    assert 0.9 < expected_win_rates(lines)[0].max() < 1.0
    assert lines[0].max() < 2 * PRIOR_SD


def test_disconnected_models_are_reported() -> None:
    apart = compare([("a", "b", 1.0), ("d", "c", 0.0), ("c", "d", 0.5)])
    assert apart.disconnected == "never compared with each other: a, b | c, d; ask for pairs between them"
    assert compare([("a", "b", 1.0), ("b", "c", 1.0)]).disconnected is None


def test_win_rates_by_hand() -> None:
    found = compare([("a", "b", 1.0), ("b", "a", 0.5), ("c", "a", 1.0)])
    drawn = question_per_row(found)
    assert win_rates(found, drawn)[0] == pytest.approx([0.5, 0.25, 1.0])
    level = np.zeros((1 + drawn.resamples, 3))
    assert predicted_win_rates(level, found, drawn)[0] == pytest.approx([0.5, 0.5, 0.5])
    assert expected_win_rates(np.array([[math.log(3), 0.0]]))[0] == pytest.approx([0.75, 0.25])


def test_length_control_removes_length_bias() -> None:
    """Two equal models; the one with the longer answers wins more, because the judge likes them."""
    random = np.random.default_rng(3)
    longer = random.normal(150, 200, size=4000)
    points = (random.random(4000) < expit(2.0 * scale_length(longer))).astype(float)
    found = compare([("long", "short", p) for p in points], list(longer))
    drawn = question_per_row(found)
    assert win_rates(found, drawn)[0, 0] > 0.65
    controlled = predicted_win_rates(fit_strengths(found, drawn, length_controlled=True), found, drawn)
    low, high = percentile_bounds(controlled)
    assert low[0] < 0.5 < high[0]
    assert high[0] - low[0] < 0.1


def test_equal_lengths_change_no_strength() -> None:
    found = league()
    plain, controlled = (fit_strengths(found, question_per_row(found, 5), flag) for flag in (False, True))
    assert plain == pytest.approx(controlled)
    assert scale_length([]).shape == (0,)
    assert scale_length([3, -3]).tolist() == pytest.approx([math.tanh(1), -math.tanh(1)])


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc"), st.sampled_from([0.0, 0.5, 1.0])), min_size=3, max_size=20)
)
def test_predicted_points_equal_actual_points(rows: list[tuple[str, str, float]]) -> None:
    """At the maximum, every model's expected points are its actual ones, except for the shrinkage of the prior."""
    rows = [row for row in rows if row[0] != row[1]] + [("a", "b", 0.5), ("b", "c", 0.5)]
    found = compare(rows)
    drawn = question_per_row(found, 3)
    lines = fit_strengths(found, drawn)
    games = pd.Series([name for a, b, _ in rows for name in (a, b)]).value_counts()
    shrinkage = np.abs(lines[0]).max() / PRIOR_SD**2
    gap = (predicted_win_rates(lines, found, drawn)[0] - win_rates(found, drawn)[0]) * [games[m] for m in found.models]
    assert np.abs(gap).max() <= shrinkage + 1e-4
    assert lines.sum(axis=1) == pytest.approx(0, abs=1e-6)
