"""Paired comparison of models: against other libraries, and by hand."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from helpers.score_files import VERDICT
from scipy.stats import norm
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import NormalIndPower

from bert_judge.evaluation.model_comparison import AnswerMatrix, model_pairs_table
from bert_judge.evaluation.score_tables import MODEL, TASK
from bert_judge.statistics import intervals


def verdicts(judge: str = "judge", **letters: str) -> pd.DataFrame:
    """Build a frame of verdicts: model → one letter per question, a space for no answer; `/` separates attempts, and capitals are
    uncertain verdicts."""
    rows = [
        {
            MODEL: model,
            TASK: "sums",
            "sample_id": f"s{question:05}",
            "attempt": attempt,
            f"{judge}_verdict": VERDICT[letter.lower()],
            f"{judge}_certain": letter.islower(),
        }
        for model, texts in letters.items()
        for attempt, text in enumerate(texts.split("/"))
        for question, letter in enumerate(text)
        if letter != " "
    ]
    return pd.DataFrame(rows, columns=[MODEL, TASK, "sample_id", "attempt", f"{judge}_verdict", f"{judge}_certain"])


def table(frame: pd.DataFrame) -> pd.DataFrame:
    return model_pairs_table({("all", "all"): frame}, ["judge"])


def random_verdicts(models: int, questions: int, seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    difficulty = random.random(questions)
    return verdicts(
        **{
            f"m{i}": "".join("ci"[int(h > (i + 2) / (models + 3))] for h in difficulty + random.normal(0, 0.3, questions))
            for i in range(models)
        }
    )


def test_one_answer_per_question_gives_mcnemar_of_statsmodels_and_holm() -> None:
    frame = random_verdicts(5, 300, 1)
    pairs = table(frame)
    right = frame.pivot(index="sample_id", columns=MODEL, values="judge_verdict") == "correct"
    assert len(pairs) == 10
    for row in pairs.itertuples():
        a, b = right[row.model], right[row.other]
        counts = [[int((a & b).sum()), int((a & ~b).sum())], [int((~a & b).sum()), int((~a & ~b).sum())]]
        assert row.p_value == pytest.approx(float(mcnemar(counts, exact=True).pvalue))
        assert row.difference == pytest.approx(a.mean() - b.mean()) and row.difference >= 0
        expected = intervals.paired_difference(a, b, right.index)
        assert (row.low, row.high) == (expected.low, expected.high)
    assert pairs["p_holm"].tolist() == pytest.approx(multipletests(pairs["p_value"], method="holm")[1])
    assert pairs["significant"].tolist() == ((pairs["p_holm"] < 0.05) & (pairs["low"] > 0)).tolist()


def test_significance_needs_the_adjusted_test_and_the_interval() -> None:
    p, low, high = [0.001, 0.001, 0.04, 0.06, math.nan], [0.1, -0.3, -0.01, 0.05, math.nan], [0.3, -0.1, 0.3, 0.2, math.nan]
    assert intervals.is_significant(p, low, high).tolist() == [True, True, False, False, False]


def test_a_reversed_order_of_uncertain_verdicts_is_not_significant() -> None:
    """The judge calls 20 of 100 answers of `worse` correct and 10 of `better`, and is uncertain of most of the others."""
    worse, better = "c" * 20 + "i" * 80, "c" * 10 + "I" * 70 + "i" * 20
    [row] = table(verdicts(worse=worse, better=better)).itertuples()
    assert (row.model, row.p_holm < 0.05, row.significant) == ("worse", True, False)
    # 20 to 20% and 10 to 80%: the difference is between -60 and 10 points.
    assert (row.range_low, row.range_high) == pytest.approx((-0.6, 0.1))
    [certain] = table(verdicts(worse=worse, better=better.lower())).itertuples()
    assert certain.significant and (certain.range_low, certain.range_high) == pytest.approx((0.1, 0.1))


def test_a_difference_that_holds_over_the_range_is_significant() -> None:
    """90 certainly correct answers against at most 60."""
    [row] = table(verdicts(a="c" * 90 + "i" * 10, b="c" * 30 + "I" * 30 + "i" * 40)).itertuples()
    assert (row.range_low, row.range_high) == pytest.approx((0.3, 0.6)) and row.significant


def test_the_range_counts_the_answers_that_both_gave() -> None:
    """Of 50 shared answers `b` has 20 uncertain ones; 50 others are not compared."""
    [row] = table(verdicts(a="c" * 50, b="I" * 20 + "i" * 30 + "C" * 50)).itertuples()
    assert (row.n, row.range_low, row.range_high) == (50, pytest.approx(0.6), 1)
    [few] = table(verdicts(a="c" * 50, b="I" * 10 + "i" * 40)).itertuples()
    assert (few.range_low, few.range_high) == (pytest.approx(0.8), 1) and few.significant


def test_few_uncertain_verdicts_may_reverse_a_small_lead() -> None:
    """11 points ahead in 100 answers, with 6 uncertain verdicts on each model."""
    ahead, behind = "c" * 54 + "C" * 6 + "i" * 40, "c" * 49 + "I" * 6 + "i" * 45
    [row] = table(verdicts(ahead=ahead, behind=behind)).itertuples()
    assert row.p_holm < 0.05 and (row.range_low, row.range_high) == (pytest.approx(-0.01), pytest.approx(0.11))
    assert not row.significant


def test_holm_adjustment_by_hand() -> None:
    # Holm 1979, by hand: the smallest of four times four, the next times three, never smaller than the one before.
    assert intervals.adjust_holm([0.01, 0.04, math.nan, 0.03, 0.005]).tolist() == pytest.approx(
        [0.03, 0.06, math.nan, 0.06, 0.02], nan_ok=True
    )
    assert np.isnan(intervals.adjust_holm([math.nan])).all() and len(intervals.adjust_holm([])) == 0


def test_only_shared_answers_count() -> None:
    pairs = table(verdicts(ada="ccccxc", bob="ciii c")).iloc[0]
    # Question 4 is not answered by bob.
    assert (pairs["model"], pairs["n"], pairs["questions"]) == ("ada", 5, 5)
    assert pairs["difference"] == pytest.approx(3 / 5)
    assert pairs["p_value"] == pytest.approx(2 * 0.5**3)


def test_an_invalid_verdict_counts_as_incorrect() -> None:
    pd.testing.assert_frame_equal(table(verdicts(ada="ccxx", bob="cxci")), table(verdicts(ada="ccii", bob="cici")))


def test_several_answers_to_a_question_count_as_one_observation() -> None:
    once, thrice = (table(verdicts(ada="/".join(["cccci"] * k), bob="/".join(["ciiic"] * k))).iloc[0] for k in (1, 3))
    assert (thrice["n"], thrice["questions"]) == (15, 5)
    for column in ("difference", "low", "high", "p_value", "min_detectable_effect"):
        assert thrice[column] == pytest.approx(once[column])


def test_attempts_are_paired_by_their_number() -> None:
    pairs = table(verdicts(ada="c/i", bob="i/c")).iloc[0]
    assert (pairs["n"], pairs["difference"], pairs["p_value"]) == (2, 0, 1)


def test_pairs_without_shared_answers_are_undefined() -> None:
    pairs = table(verdicts(ada="cc  ", bob="  ci"))
    assert [(row.model, row.other) for row in pairs.itertuples()] == [("ada", "bob")]
    assert pairs["n"].tolist() == [0]
    assert pairs[["difference", "low", "high", "p_value", "p_holm", "min_detectable_effect"]].isna().all(axis=None)
    assert pairs["significant"].tolist() == [False]


@pytest.mark.parametrize("frame", [verdicts(), verdicts(ada="cci")])
def test_fewer_than_two_models_give_no_pair(frame: pd.DataFrame) -> None:
    assert table(frame).empty


def test_min_detectable_effect_has_the_power_of_statsmodels() -> None:
    """A one-sample z test of the differences has the power that statsmodels gives its effect."""
    difference = np.array([1] * 30 + [0] * 300 + [-1] * 20)
    detectable = intervals.min_detectable_effect(difference, np.ones(350))
    effect = detectable / difference.std(ddof=1)
    # ratio=0: one sample; the power of the side that matters.
    power = NormalIndPower().power(effect, 350, 0.05, ratio=0, alternative="two-sided")
    assert power == pytest.approx(0.8, abs=1e-6)
    # Connor 1987: of 0.8 power at 5% with 50 of 350 discordant questions.
    assert detectable == pytest.approx((norm.ppf(0.975) + norm.ppf(0.8)) * np.sqrt((50 / 350 - (10 / 350) ** 2) / 349), rel=1e-9)


def test_min_detectable_effect_is_undefined_without_variance() -> None:
    assert math.isnan(intervals.min_detectable_effect([1, 1], [1, 1])) and math.isnan(intervals.min_detectable_effect([1], [1]))


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_order_of_rows_does_not_matter(order: tuple[int, ...]) -> None:
    frame = verdicts(ada="ccic/iicc", bob="ciix/ cic", cyd="ccc /iiii")
    parts = [part for _, part in frame.groupby(MODEL)]
    pd.testing.assert_frame_equal(table(pd.concat([parts[i] for i in order]).sort_values(["sample_id", MODEL])), table(frame))


def test_answer_matrix_aligns_answers_by_question_and_attempt() -> None:
    matrix = AnswerMatrix.from_frame(verdicts(ada="cc/cc", bob="c "))
    assert matrix.models == ["ada", "bob"]
    answers = matrix.fill(np.ones(5))
    assert answers.sum(axis=0).tolist() == [4, 1]
    assert sorted(map(tuple, matrix.sum_by_question(answers).tolist())) == [(2, 0), (2, 1)]
