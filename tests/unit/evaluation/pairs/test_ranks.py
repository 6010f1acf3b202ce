"""The tables of ranks: from files of pairs, preferences and scores to orders of models."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from helpers.pair_files import pair_rows, preference_rows, write_set
from helpers.score_files import write_scores

from bert_judge import tables
from bert_judge.evaluation.pairs.agreement import PEOPLE
from bert_judge.evaluation.pairs.ranks import SCHEMAS, build_ranks
from bert_judge.runtime.errors import InputError

MODELS = ("ann", "bob", "cyd")
MEETINGS = [("ann", "bob"), ("bob", "cyd"), ("ann", "cyd")]


def pairs_of(meetings: list[tuple[str, str]], labels: str, **columns: Any) -> pd.DataFrame:
    """As many pairs of each meeting as fit into the labels, one question for each round of meetings."""
    rounds = len(labels) // len(meetings)
    names = {"model_a": [a for a, _ in meetings] * rounds, "model_b": [b for _, b in meetings] * rounds}
    questions = [f"q{n // len(meetings):03d}" for n in range(len(labels))]
    return pair_rows(labels, sample_id=questions, **names, **columns)


def run(
    folder: Path,
    pairs: pd.DataFrame,
    said: dict[str, pd.DataFrame],
    scores: list[Path] | None = None,
    judges: list[str] | None = None,
) -> dict[str, pd.DataFrame]:
    paths, judged = write_set(folder, pairs, said)
    build_ranks(
        {"sets": {"s": list(said)}, "judges": judges or []},
        pairs={"s": paths},
        preferences={"s": judged},
        scores=scores or [],
        folder=folder / "made",
    )
    return {name: tables.read(folder / "made" / f"{name}.parquet", schema) for name, schema in SCHEMAS.items()}


def test_best_model_is_first_with_its_interval(tmp_path: Path) -> None:
    labels = "ABA" * 30 + "BAB" * 5 + "ttt" * 5
    pairs = pairs_of(MEETINGS, labels)
    result = run(tmp_path, pairs, {"j": preference_rows(pairs, labels)})["ranks"].set_index(["judge", "model"])
    own = result.loc["j"]
    # ann beats bob and cyd, cyd beats bob.
    assert list(own.index) == ["ann", "cyd", "bob"]
    assert own["rank"].tolist() == [1, 2, 3]
    assert own.loc["ann", ["n", "questions", "won", "tied"]].tolist() == [80, 40, 60, 10]
    assert own.loc["ann", "win_rate"] == pytest.approx(65 / 80)
    for name in ("win_rate", "strength", "expected_win_rate", "lc_win_rate", "rank"):
        assert (own[f"{name}_low"] <= own[name]).all()
        assert (own[name] <= own[f"{name}_high"]).all()
    assert own["strength"].sum() == pytest.approx(0, abs=1e-6)
    assert own["expected_win_rate"].mean() == pytest.approx(0.5)
    # Every two met equally often, so what is expected is what was seen.
    assert own["expected_win_rate"].tolist() == pytest.approx(own["win_rate"].tolist(), abs=0.005)
    assert own["reason"].isna().all()
    # The labels are those verdicts.
    pd.testing.assert_frame_equal(own, result.loc[PEOPLE])


def test_inconsistent_verdicts_are_ties_and_invalid_ones_left_out(tmp_path: Path) -> None:
    pairs = pairs_of([("ann", "bob")], "....")
    own = run(tmp_path, pairs, {"j": preference_rows(pairs, "AABx", "AABA")})["ranks"].set_index("model")
    assert own.loc["ann", ["n", "won", "tied"]].tolist() == [3, 2, 0]
    pairs = pairs_of([("ann", "bob")], "....")
    own = run(tmp_path / "b", pairs, {"j": preference_rows(pairs, "AABx", "ABBA")})["ranks"].set_index("model")
    assert own.loc["ann", ["n", "won", "tied"]].tolist() == [3, 1, 1]
    assert own.loc["ann", "win_rate"] == 0.5


def test_disconnected_models_have_a_reason_and_no_rank(tmp_path: Path) -> None:
    pairs = pairs_of([("ann", "bob"), ("cyd", "dan")], "ABAB")
    made = run(tmp_path, pairs, {"j": preference_rows(pairs, "ABAB")})
    result = made["ranks"]
    assert set(result["reason"]) == {"never compared with each other: ann, bob | cyd, dan; ask for pairs between them"}
    for name in ("strength", "expected_win_rate", "lc_win_rate", "rank"):
        assert result[name].isna().all()
    assert result["win_rate"].notna().all()
    assert made["rank_correlations"].empty


def test_unnamed_models_have_no_ranks(tmp_path: Path) -> None:
    pairs = pair_rows("AB", model_a=None, model_b=None)
    made = run(tmp_path, pairs, {"j": preference_rows(pairs, "AB")})
    assert made["ranks"].empty
    assert not made["pair_agreement"].empty


def test_rankings_are_correlated_with_annotators_and_accuracies(tmp_path: Path) -> None:
    labels = "ABA" * 20
    pairs = pairs_of(MEETINGS, labels)
    turned = labels.translate(str.maketrans("AB", "BA"))
    right = {"ann": "c" * 20, "cyd": "ci" * 10, "bob": "i" * 20}
    scores = [write_scores(tmp_path / "scores", model, "t", {"gold": said}) for model, said in right.items()]
    ids = pd.read_parquet(scores[0])["sample_id"]
    pairs["sample_id"] = [ids[n // 3] for n in range(len(pairs))]
    said = {"good": preference_rows(pairs, labels, judge="good"), "bad": preference_rows(pairs, turned, judge="bad")}
    result = run(tmp_path, pairs, said, scores, ["gold"])["rank_correlations"].set_index(["judge", "other"])
    assert result.loc[("good", PEOPLE), ["by", "models", "rank_correlation"]].tolist() == ["pairs", 3, 1.0]
    assert result.loc[("good", "gold"), ["by", "models", "rank_correlation"]].tolist() == ["answers", 3, 1.0]
    assert result.loc[("bad", "gold"), "rank_correlation"] == -1.0
    assert result.loc[(PEOPLE, "gold"), "rank_correlation"] == 1.0
    # Pairs and answers are about the same twenty questions.
    assert set(result["questions"]) == {20}


def test_accuracies_of_other_tasks_are_ignored(tmp_path: Path) -> None:
    pairs = pairs_of(MEETINGS, "ABA" * 4)
    scores = [write_scores(tmp_path / "scores", model, "other", {"gold": "ci"}) for model in MODELS]
    result = run(tmp_path, pairs, {"j": preference_rows(pairs, "ABA" * 4)}, scores, ["gold"])["rank_correlations"]
    assert set(result["other"]) == {PEOPLE}


def test_the_order_of_files_and_rows_does_not_matter(tmp_path: Path) -> None:
    labels = "".join(np.random.default_rng(0).choice(list("ABt"), size=90))
    pairs = pairs_of(MEETINGS, labels)
    said = preference_rows(pairs, labels[::-1])
    one = run(tmp_path / "one", pairs, {"j": said})
    shuffled, turned = pairs.sample(frac=1, random_state=1), said.sample(frac=1, random_state=2)
    paths, judged = write_set(tmp_path / "two", [shuffled.tail(40), shuffled.head(50)], {"j": turned})
    build_ranks(
        {"sets": {"s": ["j"]}, "judges": []},
        pairs={"s": paths},
        preferences={"s": judged},
        scores=[],
        folder=tmp_path / "two" / "made",
    )
    for name, schema in SCHEMAS.items():
        pd.testing.assert_frame_equal(one[name], tables.read(tmp_path / "two" / "made" / f"{name}.parquet", schema))


def test_empty_set_gives_empty_ranks(tmp_path: Path) -> None:
    pairs = pair_rows("")
    made = run(tmp_path, pairs, {"j": preference_rows(pairs, "")})
    assert made["ranks"].empty
    assert made["pair_agreement"]["value"].isna().all()


def test_other_tables_are_an_error(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.parquet"
    pd.DataFrame({"a": [1]}).to_parquet(wrong)
    with pytest.raises(InputError, match=r"wrong\.parquet: a pairs table needs the column"):
        build_ranks({"sets": {"s": []}, "judges": []}, pairs={"s": [wrong]}, preferences={"s": {}}, scores=[], folder=tmp_path)
