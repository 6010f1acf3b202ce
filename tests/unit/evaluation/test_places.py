"""Places and how judges move them: against scipy and scikit-learn, and by hand."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score, f1_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa
from test_model_pairs import verdicts

from bert_judge.evaluation import ranks, resampling, statistics
from bert_judge.evaluation.matrix import MODEL


def two_judges(first: dict[str, str], second: dict[str, str]) -> pd.DataFrame:
    one, two = verdicts("gold", **first), verdicts("judge", **second)
    return one.assign(judge_verdict=two["judge_verdict"])


def test_places_are_those_of_scipy() -> None:
    shares = np.array([[0.5, 0.9, 0.5, np.nan, 0.1], [0.0, 0.0, 1.0, 0.5, 0.5]])
    expected = stats.rankdata(-shares[1], method="min")
    assert resampling.ranks(shares)[1].tolist() == expected.tolist()
    assert resampling.ranks(shares)[0].tolist() == pytest.approx([2, 1, 2, math.nan, 4], nan_ok=True)


def test_rank_correlations_are_those_of_scipy_line_by_line() -> None:
    random = np.random.default_rng(0)
    a, b = random.integers(0, 6, (40, 9)) / 6, random.integers(0, 6, (40, 9)) / 6
    tau = [stats.kendalltau(x, y).statistic for x, y in zip(a, b, strict=True)]
    found = resampling.rank_correlations(a, b)
    assert found.value == pytest.approx(tau[0])
    low, high = np.quantile(tau[1:], [0.025, 0.975], method="inverted_cdf")
    assert (found.low, found.high) == pytest.approx((min(low, tau[0]), max(high, tau[0])))


def test_a_bootstrap_of_shares_has_the_spread_of_a_proportion() -> None:
    random = np.random.default_rng(2)
    right = (random.random((400, 2)) < [0.3, 0.8]).astype(float)
    shares = resampling.resampled([(right, np.ones_like(right))])[0]
    assert shares[0] == pytest.approx(right.mean(axis=0))
    assert shares[1:].std(axis=0) == pytest.approx(np.sqrt(shares[0] * (1 - shares[0]) / 400), rel=0.1)
    assert np.array_equal(shares, resampling.resampled([(right, np.ones_like(right))])[0])


def test_blocks_of_weights_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    right = np.random.default_rng(3).integers(0, 2, (50, 3)).astype(float)
    whole = resampling.resampled([(right, np.ones_like(right))])[0]
    monkeypatch.setattr(resampling, "BLOCK", 50 * 7)
    assert np.array_equal(resampling.resampled([(right, np.ones_like(right))])[0], whole)


def test_all_models_see_the_same_draw() -> None:
    """ada is right wherever bob is and once more: no draw of questions puts her behind him, however wide their intervals are."""
    found = ranks.ranks(verdicts(ada="cciii" * 4 + "c", bob="cciii" * 4 + "i"), ["judge"])
    assert found["judge", "ada"] == {"rank": 1, "rank_low": 1, "rank_high": 1}
    assert found["judge", "bob"] == {"rank": 2, "rank_low": 1, "rank_high": 2}


def test_who_has_no_verdict_has_no_place() -> None:
    found = ranks.ranks(verdicts(ada="ci", bob="xx"), ["judge"])
    assert found["judge", "ada"]["rank"] == 1
    assert all(math.isnan(value) for value in found["judge", "bob"].values())
    assert ranks.ranks(verdicts(), ["judge"]) == {}


def test_moves_are_counted_on_what_the_reference_decided() -> None:
    frame = two_judges({"ada": "cccx", "bob": "ccii", "cyd": "ciii"}, {"ada": "xxxc", "bob": "ccii", "cyd": "cccc"})
    moves = ranks.rank_shift_table({("all", "all"): frame}, ["gold", "judge"], "gold").set_index("model")
    assert moves["rank_reference"].to_dict() == {"ada": 1, "bob": 2, "cyd": 3}
    # An undecided verdict counts as wrong: ada falls to the last place.
    assert moves["rank_shift"].to_dict() == {"ada": -2, "bob": 0, "cyd": 2}
    assert moves.loc["ada", "n"] == 3
    assert (moves["low"] <= moves["rank_shift"]).all() and (moves["rank_shift"] <= moves["high"]).all()
    assert ranks.rank_shift_table({("all", "all"): frame}, ["gold", "judge"], None).empty


def test_two_judges_beside_each_other() -> None:
    random = np.random.default_rng(5)
    texts = [{name: "".join(random.choice(list("cci" if judge else "cciix"), 60)) for name in "abcd"} for judge in (0, 1)]
    frame = two_judges(*texts)
    found = ranks.judge_pairs_table({("all", "all"): frame}, ["gold", "judge"], None).iloc[0]
    one, two = frame["gold_verdict"], frame["judge_verdict"]
    assert found["n"] == 240 and found["questions"] == 60
    assert found["agreement"] == pytest.approx((one == two).mean())
    assert found["kappa"] == pytest.approx(cohen_kappa_score(one, two))
    classes = ["correct", "incorrect"]
    assert found["macro_f1"] == pytest.approx(f1_score(one, two, labels=classes, average="macro"))
    assert found["macro_f1"] == pytest.approx(f1_score(two, one, labels=classes, average="macro"))
    means = frame.groupby(MODEL)[["gold_verdict", "judge_verdict"]].agg(lambda said: (said == "correct").mean())
    assert found["rank_correlation"] == pytest.approx(stats.kendalltau(*means.to_numpy().T).statistic)
    assert found["rank_correlation_low"] <= found["rank_correlation"] <= found["rank_correlation_high"]


def test_a_pair_with_gold_is_measured_where_gold_decided() -> None:
    frame = two_judges({"ada": "cxi", "bob": "cci"}, {"ada": "cci", "bob": "cxx"}).assign(third_verdict="correct")
    found = ranks.judge_pairs_table({("all", "all"): frame}, ["judge", "gold", "third"], "gold").set_index(["judge", "other"])["n"]
    assert found.to_dict() == {("judge", "gold"): 5, ("gold", "third"): 5, ("judge", "third"): 6}


def test_scotts_pi_by_hand() -> None:
    one = ["correct"] * 4 + ["incorrect"] * 6
    two = ["correct"] * 2 + ["incorrect"] * 2 + ["correct"] * 2 + ["incorrect"] * 4
    # 6 of 10 agree; of the 20 verdicts 8 are correct.
    expected = (8 / 20) ** 2 + (12 / 20) ** 2
    assert statistics.scott_pi(one, two) == pytest.approx((0.6 - expected) / (1 - expected))
    # With equal margins it is Cohen's kappa, else below.
    assert statistics.scott_pi(one, two) == pytest.approx(cohen_kappa_score(one, two))
    assert statistics.scott_pi(one, ["correct"] * 10) < cohen_kappa_score(one, ["correct"] * 10)
    assert math.isnan(statistics.scott_pi(["correct"], ["correct"]))


def test_scotts_pi_is_the_kappa_of_fleiss_for_two_judges() -> None:
    random = np.random.default_rng(8)
    one, two = random.choice(["correct", "incorrect", "invalid"], (2, 200), p=[0.6, 0.3, 0.1])
    counts, _ = aggregate_raters(np.stack([one, two], axis=1))
    assert statistics.scott_pi(one, two) == pytest.approx(fleiss_kappa(counts))
