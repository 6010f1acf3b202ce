"""Agreement with gold, on numbers that can be counted by hand."""

import math
from pathlib import Path

import pandas as pd
import pytest
from helpers.score_files import write_scores

from bert_judge import tables
from bert_judge.evaluation.agreement import MAJORITY
from bert_judge.evaluation.standings import build_standings

SPEC = {
    "judges": ["gold", "strict", "bert"],
    "gold": "gold",
    "trained": ["bert"],
    "families": {"sums": "math", "proofs": "math", "reading": "reading"},
    "tables": [],
}


def read_results(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    return (
        tables.read(folder / "agreement.parquet", tables.AGREEMENT),
        tables.read(folder / "comparisons.parquet", tables.COMPARISONS),
    )


@pytest.fixture
def result(tmp_path):
    files = [
        write_scores(tmp_path, "ada", "sums", {"gold": "cccc", "strict": "xxxx", "bert": "ccci"}),
        write_scores(tmp_path, "bob", "sums", {"gold": "ciix", "strict": "ciic", "bert": "ciic"}),
        write_scores(tmp_path, "cyd", "proofs", {"gold": "ccii", "strict": "ccii", "bert": "ccii"}),
        write_scores(tmp_path, "cyd", "reading", {"gold": "xx", "strict": "cc", "bert": "cc"}),
    ]
    build_standings(SPEC, files, tmp_path)
    return read_results(tmp_path)


def row(frame: pd.DataFrame, **where: str) -> pd.Series:
    for column, value in where.items():
        frame = frame[frame[column] == value]
    assert len(frame) == 1
    return frame.iloc[0]


def test_invalid_gold_verdicts_are_left_out_and_invalid_never_agrees(result):
    strict = row(result[0], level="task", group="sums", judge="strict")
    assert (strict["n"], strict["questions"]) == (7, 4)
    assert strict["agreement"] == pytest.approx(3 / 7)
    assert strict["invalid"] == pytest.approx(4 / 7)
    assert row(result[0], level="all", judge="bert")["agreement"] == pytest.approx(10 / 11)


def test_groups_are_all_families_and_tasks(result):
    groups = result[0][["level", "group"]].drop_duplicates().values.tolist()
    assert groups[:4] == [["all", "all"], ["family", "math"], ["task", "proofs"], ["task", "sums"]]
    # All answers have the same status, and no style is known: neither divides them.
    assert groups[4:] == [["model", "ada"], ["model", "bob"], ["model", "cyd"]]


def test_majority_class_baseline(result):
    majority = row(result[0], level="all", judge=MAJORITY)
    assert majority["agreement"] == pytest.approx(7 / 11)
    assert majority["kappa"] == pytest.approx(0)
    assert math.isnan(majority["auroc"])


def test_errors_of_accuracies_and_ranks(result):
    strict = row(result[0], level="all", judge="strict")
    # Under gold ada 1, cyd 1/2, bob 1/3; the strict judge cannot read ada at all.
    assert strict["accuracy_error"] == pytest.approx((1 + 0 + 0) / 3)
    assert strict["accuracy_error_decided"] == pytest.approx(0)
    # Of three pairs, ada's two are turned round.
    assert strict["rank_correlation"] == pytest.approx((1 - 2) / 3)
    assert (strict["models"], strict["most_shifted_model"], strict["rank_shift"]) == (3, "ada", -2)
    bert = row(result[0], level="all", judge="bert")
    assert bert["accuracy_error"] == pytest.approx(0.25 / 3)
    assert (bert["rank_correlation"], bert["rank_shift"]) == (1, 0)


def test_one_model_has_no_ranking(result):
    proofs = row(result[0], level="task", group="proofs", judge="strict")
    assert math.isnan(proofs["rank_correlation"])
    assert pd.isna(proofs["most_shifted_model"])
    assert pd.isna(proofs["rank_shift"])


def test_score_metrics_cover_rows_with_scores(result):
    strict = row(result[0], level="task", group="sums", judge="strict")
    # Three scored rows: 0.9 for a right answer, 0.1 and 0.1 for wrong ones.
    assert strict["ece"] == pytest.approx(0.1)
    assert strict["auroc"] == 1


def test_trained_judges_are_compared_with_all_others(result):
    compared = result[1]
    assert set(map(tuple, compared[["judge", "other"]].values)) == {("bert", "strict")}
    whole = row(compared, level="all")
    assert whole["n"] == 11
    assert whole["difference"] == pytest.approx(10 / 11 - 7 / 11)
    assert whole["low"] <= whole["difference"] <= whole["high"]
    # Three rows that only bert gets right, none the other way.
    assert whole["p_value"] == pytest.approx(2 * 0.5**3)


def test_gold_without_any_valid_verdict(tmp_path):
    files = [write_scores(tmp_path, "ada", "sums", {"gold": "xx", "strict": "ci", "bert": "cc"})]
    build_standings(SPEC, files, tmp_path)
    agreed, compared = read_results(tmp_path)
    assert agreed["n"].tolist() == [0, 0, 0]
    assert agreed["agreement"].isna().all()
    assert compared["difference"].isna().all()
