"""Ranks of models, rank shifts and agreement of judges: against scipy, scikit-learn and statsmodels, and by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score, f1_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa
from test_model_pairs import verdicts

from bert_judge.evaluation.agreement import judge_pairs_table
from bert_judge.evaluation.model_comparison import AnswerMatrix, rank_models, rank_shifts_table, resample_accuracies
from bert_judge.evaluation.score_tables import MODEL
from bert_judge.statistics import intervals


def two_judges(first: dict[str, str], second: dict[str, str]) -> pd.DataFrame:
    return verdicts("gold", **first).assign(judge_verdict=verdicts("judge", **second)["judge_verdict"])


def test_ranks_equal_those_of_scipy() -> None:
    shares = np.array([[0.5, 0.9, 0.5, np.nan, 0.1], [0.0, 0.0, 1.0, 0.5, 0.5]])
    expected = stats.rankdata(-shares[1], method="min")
    assert intervals.rank_lines(shares)[1].tolist() == expected.tolist()
    assert intervals.rank_lines(shares)[0].tolist() == pytest.approx([2, 1, 2, math.nan, 4], nan_ok=True)


def test_rank_correlations_equal_those_of_scipy_in_every_resample() -> None:
    random = np.random.default_rng(0)
    a, b = random.integers(0, 6, (40, 9)) / 6, random.integers(0, 6, (40, 9)) / 6
    tau = [stats.kendalltau(x, y).statistic for x, y in zip(a, b, strict=True)]
    interval = intervals.rank_correlation_interval(a, b)
    assert interval.value == pytest.approx(tau[0])
    low, high = np.quantile(tau[1:], [0.025, 0.975], method="inverted_cdf")
    assert (interval.low, interval.high) == pytest.approx((min(low, tau[0]), max(high, tau[0])))


def test_resampled_accuracies_have_the_standard_error_of_a_proportion() -> None:
    letters = {name: "".join(np.random.default_rng(2 + at).choice(list("ci"), 400)) for at, name in enumerate("ab")}
    frame = verdicts(**letters)
    accuracies = resample_accuracies(AnswerMatrix.from_frame(frame), frame, ["judge"])["judge"]
    assert accuracies[0] == pytest.approx([text.count("c") / 400 for text in letters.values()])
    assert accuracies[1:].std(axis=0) == pytest.approx(np.sqrt(accuracies[0] * (1 - accuracies[0]) / 400), rel=0.1)


def test_all_models_are_ranked_on_the_same_resamples() -> None:
    """ada is correct wherever bob is and once more: she never ranks below him, however wide the intervals of accuracy are."""
    ranks = rank_models(verdicts(ada="cciii" * 4 + "c", bob="cciii" * 4 + "i"), ["judge"])
    assert ranks["judge", "ada"] == {"rank": 1, "rank_low": 1, "rank_high": 1}
    assert ranks["judge", "bob"] == {"rank": 2, "rank_low": 1, "rank_high": 2}


def test_invalid_verdicts_lower_the_rank() -> None:
    ranks = rank_models(verdicts(ada="ciiii" * 4, bob="ccxxx" * 4, cyd="xxxxx" * 4), ["judge"])
    assert [ranks["judge", model]["rank"] for model in ("bob", "ada", "cyd")] == [1, 2, 3]
    assert rank_models(verdicts(), ["judge"]) == {}


def test_rank_shifts_cover_the_answers_that_the_reference_decided() -> None:
    frame = two_judges({"ada": "cccx", "bob": "ccii", "cyd": "ciii"}, {"ada": "xxxc", "bob": "ccii", "cyd": "cccc"})
    shifts = rank_shifts_table({("all", "all"): frame}, ["gold", "judge"], "gold").set_index("model")
    assert shifts["rank_reference"].to_dict() == {"ada": 1, "bob": 2, "cyd": 3}
    # An invalid verdict counts as incorrect: ada drops to the last rank.
    assert shifts["rank_shift"].to_dict() == {"ada": -2, "bob": 0, "cyd": 2}
    assert shifts.loc["ada", "n"] == 3
    assert (shifts["low"] <= shifts["rank_shift"]).all() and (shifts["rank_shift"] <= shifts["high"]).all()
    assert rank_shifts_table({("all", "all"): frame}, ["gold", "judge"], None).empty


def test_judge_pairs_agree_with_other_libraries() -> None:
    random = np.random.default_rng(5)
    texts = [{name: "".join(random.choice(list("cci" if judge else "cciix"), 60)) for name in "abcd"} for judge in (0, 1)]
    frame = two_judges(*texts)
    row = judge_pairs_table({("all", "all"): frame}, ["gold", "judge"], None).iloc[0]
    one, two = frame["gold_verdict"], frame["judge_verdict"]
    assert row["n"] == 240 and row["questions"] == 60
    assert row["agreement"] == pytest.approx((one == two).mean())
    assert row["kappa"] == pytest.approx(cohen_kappa_score(one, two))
    counts, _ = aggregate_raters(np.stack([one, two], axis=1))
    # Scott's pi is the kappa of Fleiss for two judges.
    assert row["scott_pi"] == pytest.approx(fleiss_kappa(counts))
    classes = ["correct", "incorrect"]
    assert row["macro_f1"] == pytest.approx(f1_score(one, two, labels=classes, average="macro"))
    assert row["macro_f1"] == pytest.approx(f1_score(two, one, labels=classes, average="macro"))
    means = frame.groupby(MODEL)[["gold_verdict", "judge_verdict"]].agg(lambda column: (column == "correct").mean())
    assert row["rank_correlation"] == pytest.approx(stats.kendalltau(*means.to_numpy().T).statistic)
    assert row["rank_correlation_low"] <= row["rank_correlation"] <= row["rank_correlation_high"]


def test_judge_pairs_with_gold_cover_the_answers_that_gold_decided() -> None:
    frame = two_judges({"ada": "cxi", "bob": "cci"}, {"ada": "cci", "bob": "cxx"}).assign(third_verdict="correct")
    table = judge_pairs_table({("all", "all"): frame}, ["judge", "gold", "third"], "gold")
    assert table.set_index(["judge", "other"])["n"].to_dict() == {("judge", "gold"): 5, ("gold", "third"): 5, ("judge", "third"): 6}


def test_agreement_of_constant_verdicts_is_undefined() -> None:
    row = judge_pairs_table({("all", "all"): two_judges({"ada": "cc"}, {"ada": "cc"})}, ["gold", "judge"], None).iloc[0]
    assert row["agreement"] == 1 and math.isnan(row["kappa"]) and math.isnan(row["scott_pi"])


def test_an_invalid_verdict_is_a_miss_and_not_a_class_of_macro_f1() -> None:
    row = judge_pairs_table({("all", "all"): two_judges({"ada": "ccii"}, {"ada": "cxii"})}, ["gold", "judge"], "gold").iloc[0]
    # correct: precision 1, recall 1/2 → 2/3; incorrect: 1.
    assert row["macro_f1"] == pytest.approx((2 / 3 + 1) / 2)
    # observed 3/4; expected 1/2·1/4 + 1/2·1/2 = 3/8.
    assert row["kappa"] == pytest.approx((3 / 4 - 3 / 8) / (1 - 3 / 8))
