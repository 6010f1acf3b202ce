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

from bert_judge.evaluation import resampling
from bert_judge.evaluation.pairs import bootstrap
from bert_judge.evaluation.pairs.strengths import PRIOR, Contests, expected, scaled, strengths, win_rates, win_rates_by

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


def contests(rows: list[tuple[str, str, float]], longer: list[float] | None = None) -> Contests:
    a, b, points = zip(*rows, strict=True)
    return Contests.of(a, b, points, [0] * len(rows) if longer is None else longer)


def every_row_a_question(found: Contests, resamples: int = 200) -> bootstrap.Draws:
    return bootstrap.over(range(len(found.cell)), resamples=resamples)


def league() -> Contests:
    return contests([(TEAMS[i], TEAMS[j], 1.0) for i in range(7) for j in range(7) for _ in range(WON[i, j])])


def test_the_published_example() -> None:
    found = league()
    strength = strengths(found, every_row_a_question(found))[0]
    by_team = dict(zip(found.models, strength - strength[found.models.index("Baltimore")], strict=True))
    assert [by_team[team] for team in TEAMS] == pytest.approx(PUBLISHED, abs=0.002)


def test_two_models_have_the_log_odds_of_their_wins() -> None:
    found = contests([("a", "b", 1.0)] * 30 + [("b", "a", 1.0)] * 10)
    one, two = strengths(found, every_row_a_question(found))[0]
    assert one - two == pytest.approx(math.log(3), abs=1e-3)
    assert one == pytest.approx(-two)


def test_a_tie_is_half_a_win() -> None:
    ties = contests([("a", "b", 1.0)] * 20 + [("a", "b", 0.5)] * 10 + [("b", "a", 1.0)] * 10)
    halves = contests([("a", "b", 1.0)] * 25 + [("a", "b", 0.0)] * 15)
    assert strengths(ties, every_row_a_question(ties))[0] == pytest.approx(strengths(halves, every_row_a_question(halves))[0])


def test_who_stands_first_in_a_pair_does_not_matter() -> None:
    rows = [("a", "b", 1.0), ("b", "c", 0.5), ("c", "a", 0.0), ("a", "b", 0.0), ("b", "c", 1.0)]
    longer = [3.0, -1.0, 2.0, 0.0, 5.0]
    turned = contests([(b, a, 1 - points) for a, b, points in rows], [-value for value in longer])
    found = contests(rows, longer)
    one, two = (strengths(made, every_row_a_question(made, 20), controlled=True) for made in (found, turned))
    assert one == pytest.approx(two)


def test_as_another_program_fits_it_with_and_without_lengths() -> None:
    random = np.random.default_rng(1)
    names, truth = list("abcd"), np.array([0.9, 0.3, -0.2, -1.0])
    i = random.integers(4, size=3000)
    j = (i + random.integers(1, 4, size=3000)) % 4
    longer = random.normal(0, 200, size=3000)
    points = (random.random(3000) < expit(truth[i] - truth[j] + 0.8 * scaled(longer))).astype(float)
    found = contests([(names[x], names[y], p) for x, y, p in zip(i, j, points, strict=True)], list(longer))
    versus = np.eye(4)[i] - np.eye(4)[j]
    for controlled in (False, True):
        design = np.column_stack([versus[:, :3], scaled(longer)]) if controlled else versus[:, :3]
        other = np.append(sm.GLM(points, design, family=sm.families.Binomial()).fit().params[:3], 0.0)
        strength = strengths(found, every_row_a_question(found, 2), controlled)[0]
        assert strength == pytest.approx(other - other.mean(), abs=2e-3)
        # Without the lengths, differences of strengths are squeezed together.
        assert (abs(strength - truth).max() < 0.12) or not controlled


def test_the_interval_is_that_of_full_refits() -> None:
    found, rows = league(), len(league().cell)
    drawn = every_row_a_question(found, 300)
    refitted = []
    for line in range(1, 61):
        times = np.repeat(np.arange(rows), drawn.weights[line].astype(int))
        again = Contests(found.models, found.cells, found.cell[times], found.points[times], found.length[times])
        refitted.append(strengths(again, every_row_a_question(again, 1))[0])
    one_step = strengths(found, drawn)[1:61]
    assert np.std(one_step, axis=0) == pytest.approx(np.std(refitted, axis=0), rel=0.1)
    assert np.abs(one_step - np.array(refitted)).max() < 0.15


def test_its_spread_is_the_sandwich_of_another_program() -> None:
    random = np.random.default_rng(2)
    questions = np.repeat(np.arange(300), 3)
    mood = np.repeat(random.normal(0, 1.5, 300), 3)
    points = (random.random(900) < expit(0.4 + mood)).astype(float)
    found = contests([("a", "b", p) for p in points])
    lines = strengths(found, bootstrap.over(questions, resamples=2000))
    fit = sm.GLM(points, np.ones((900, 1)), family=sm.families.Binomial()).fit(cov_type="cluster", cov_kwds={"groups": questions})
    assert np.std(lines[1:, 0] - lines[1:, 1]) == pytest.approx(fit.bse[0], rel=0.1)


def test_a_model_that_always_wins_is_first_and_finite() -> None:
    found = contests([("a", "b", 1.0)] * 20 + [("b", "c", 1.0), ("c", "b", 1.0)] * 5)
    lines = strengths(found, every_row_a_question(found))
    assert found.models[int(np.argmax(lines[0]))] == "a"
    assert np.isfinite(lines).all()
    assert 0.9 < expected(lines)[0].max() < 1.0
    assert lines[0].max() < 2 * PRIOR


def test_models_that_never_met_are_told() -> None:
    apart = contests([("a", "b", 1.0), ("d", "c", 0.0), ("c", "d", 0.5)])
    assert apart.unconnected == "never compared with each other: a, b | c, d; ask for pairs between them"
    assert contests([("a", "b", 1.0), ("b", "c", 1.0)]).unconnected is None


def test_shares_by_hand() -> None:
    found = contests([("a", "b", 1.0), ("b", "a", 0.5), ("c", "a", 1.0)])
    drawn = every_row_a_question(found)
    assert win_rates(found, drawn)[0] == pytest.approx([0.5, 0.25, 1.0])
    level = np.zeros((len(drawn.weights), 3))
    assert win_rates_by(level, found, drawn)[0] == pytest.approx([0.5, 0.5, 0.5])
    assert expected(np.array([[math.log(3), 0.0]]))[0] == pytest.approx([0.75, 0.25])


def test_length_control_takes_away_what_length_gave() -> None:
    """Two equal models; the one with the longer answers wins more, because the judge likes them."""
    random = np.random.default_rng(3)
    longer = random.normal(150, 200, size=4000)
    points = (random.random(4000) < expit(2.0 * scaled(longer))).astype(float)
    found = contests([("long", "short", p) for p in points], list(longer))
    drawn = every_row_a_question(found)
    assert win_rates(found, drawn)[0, 0] > 0.65
    controlled = win_rates_by(strengths(found, drawn, controlled=True), found, drawn)
    low, high = resampling.span(controlled)
    assert low[0] < 0.5 < high[0]
    assert high[0] - low[0] < 0.1


def test_lengths_that_are_all_alike_control_nothing() -> None:
    found = league()
    plain, controlled = (strengths(found, every_row_a_question(found, 5), flag) for flag in (False, True))
    assert plain == pytest.approx(controlled)
    assert scaled([]).shape == (0,)
    assert scaled([3, -3]).tolist() == pytest.approx([math.tanh(1), -math.tanh(1)])


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abc"), st.sampled_from([0.0, 0.5, 1.0])), min_size=3, max_size=20)
)
def test_strengths_give_the_points_that_were_won(rows: list[tuple[str, str, float]]) -> None:
    """At the maximum, every model's expected points are its real ones, but for the prior's pull."""
    rows = [row for row in rows if row[0] != row[1]] + [("a", "b", 0.5), ("b", "c", 0.5)]
    found = contests(rows)
    drawn = every_row_a_question(found, 3)
    lines = strengths(found, drawn)
    games = pd.Series([name for a, b, _ in rows for name in (a, b)]).value_counts()
    pull = np.abs(lines[0]).max() / PRIOR**2
    gap = (win_rates_by(lines, found, drawn)[0] - win_rates(found, drawn)[0]) * [games[m] for m in found.models]
    assert np.abs(gap).max() <= pull + 1e-4
    assert lines.sum(axis=1) == pytest.approx(0, abs=1e-6)
