"""Reliability, thresholds and traits of answers: against scikit-learn, and by hand."""

import numpy as np
import pandas as pd
import pytest
from helpers.score_files import write_scores
from sklearn.calibration import calibration_curve
from sklearn.metrics import accuracy_score, f1_score

from bert_judge import tables
from bert_judge.evaluation import score_tables
from bert_judge.evaluation.agreement import reliability_table, thresholds_table
from bert_judge.evaluation.standings import build_standings
from bert_judge.statistics.metrics import BINS, THRESHOLDS, bin_index, expected_calibration_error, reliability_bins, threshold_curve


def scored(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    right = random.random(n) < 0.6
    return np.clip(right * 0.4 + random.random(n) * 0.6, 0, 1), right


def test_reliability_bins_equal_those_of_scikit_learn() -> None:
    scores, right = scored(500)
    rows, mean, share = reliability_bins(right, scores)
    expected_share, expected_mean = calibration_curve(right, scores, n_bins=BINS)
    assert rows.sum() == 500
    assert mean[rows > 0] == pytest.approx(expected_mean) and share[rows > 0] == pytest.approx(expected_share)
    assert expected_calibration_error(right, scores) == pytest.approx((rows * np.abs(mean - share))[rows > 0].sum() / 500)


@pytest.mark.parametrize(("score", "expected"), [(0, 0), (0.0999, 0), (0.1, 1), (0.55, 5), (0.999, 9), (1, 9)])
def test_edges_belong_to_the_upper_bin(score: float, expected: int) -> None:
    assert bin_index([score]).tolist() == [expected]


def test_threshold_curve_equals_scikit_learn() -> None:
    scores, right = scored(300)
    curve = threshold_curve(right, scores.round(2))
    for at, threshold in enumerate(THRESHOLDS):
        predicted = scores.round(2) >= threshold
        assert curve["agreement"][at] == pytest.approx(accuracy_score(right, predicted))
        assert curve["macro_f1"][at] == pytest.approx(f1_score(right, predicted, average="macro"))
        assert curve["predicted_positive_rate"][at] == pytest.approx(predicted.mean())


def test_tables_cover_rows_with_scores() -> None:
    frame = pd.DataFrame({"sample_id": list("abcd"), "gold_verdict": ["correct", "incorrect", "correct", "correct"]})
    frame = frame.assign(judge=[0.95, 0.05, 0.91, np.nan], silent=np.nan)
    result = reliability_table(frame, ["judge", "silent"], "gold")
    assert result[["judge", "bin", "n", "fraction_correct"]].values.tolist() == [["judge", 0, 1, 0], ["judge", 9, 2, 1]]
    assert result["score"].tolist() == pytest.approx([0.05, 0.93])
    curve = thresholds_table(frame, ["judge", "silent"], "gold")
    assert len(curve) == len(THRESHOLDS) and set(curve["judge"]) == {"judge"}
    assert curve[curve["threshold"] == 0.5][["n", "agreement", "predicted_positive_rate"]].values.tolist() == [
        [3, 1, pytest.approx(2 / 3)]
    ]
    assert thresholds_table(frame, ["silent"], "gold").empty and reliability_table(frame, ["silent"], "gold").empty


def test_length_classes_cover_all_lengths_in_order() -> None:
    lengths = pd.Series([0, 1, 20, 21, 100, 101, 2000, 2001, 10**7])
    names = score_tables.length_class(lengths)
    assert names.tolist() == ["0", "1–20", "1–20", "21–100", "21–100", "101–500", "501–2,000", "over 2,000", "over 2,000"]


def test_agreement_by_answer_features(tmp_path) -> None:
    files = [
        write_scores(tmp_path, "ada", "sums", {"gold": "cci", "judge": "cic"}, candidates=["", "é" * 20, "x" * 300]),
        write_scores(tmp_path, "bob", "sums", {"gold": "cci", "judge": "cci"}, status="truncated", candidates=["ja"] * 3),
    ]
    spec = {"judges": ["gold", "judge"], "gold": "gold", "trained": [], "families": {"sums": "math"}, "tables": []}
    build_standings({**spec, "styles": {"ada": "wordy", "bob": "terse"}}, files, tmp_path)
    result = tables.read(tmp_path / "agreement.parquet", tables.AGREEMENT)
    result = result[result["judge"] == "judge"].set_index(["level", "group"])
    assert result["agreement"].to_dict() == {
        ("all", "all"): pytest.approx(4 / 6),
        ("family", "math"): pytest.approx(4 / 6),
        ("task", "sums"): pytest.approx(4 / 6),
        ("model", "ada"): pytest.approx(1 / 3),
        ("model", "bob"): 1,
        ("length", "0"): 1,
        ("length", "1–20"): pytest.approx(3 / 4),
        ("length", "101–500"): 0,
        ("style", "terse"): 1,
        ("style", "wordy"): pytest.approx(1 / 3),
        ("status", "ok"): pytest.approx(1 / 3),
        ("status", "truncated"): 1,
    }
    assert result["n"].sum() == 6 * 7
