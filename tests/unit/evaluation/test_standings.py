"""Standings over small score tables whose numbers can be counted by hand."""

import itertools
import math

import pandas as pd
import pytest
from helpers.score_files import write_scores

from bert_judge import tables
from bert_judge.evaluation.standings import SCHEMAS, build_standings
from bert_judge.runtime.errors import InputError
from bert_judge.statistics import intervals

SPEC = {
    "judges": ["gold", "strict"],
    "gold": None,
    "trained": [],
    "families": {"maths": "math", "all": "reading"},
    "tables": [["ada", "all"], ["ada", "maths"], ["bob", "all"], ["bob", "maths"]],
}


def verdicts(gold: str, strict: str) -> dict[str, str]:
    return {"gold": gold, "strict": strict}


@pytest.fixture
def files(tmp_path):
    return [
        write_scores(tmp_path, "ada", "maths", verdicts("ccci", "cixx")),
        write_scores(tmp_path, "bob", "maths", verdicts("ciii", "ccci")),
        write_scores(tmp_path, "ada", "all", verdicts("cc", "xx")),
        write_scores(tmp_path, "bob", "all", verdicts("ii", "ic")),
    ]


def test_attempted_answers_and_their_accuracy(tmp_path):
    files = [write_scores(tmp_path, "ada", "maths", {"gold": "ccni", "strict": "cnnx"})]
    standings = run(files, tmp_path)["standings"].set_index(["level", "judge"])
    columns = ["accuracy", "attempted", "accuracy_attempted", "f_score"]
    assert standings.loc[("task", "gold"), columns].tolist() == pytest.approx([2 / 4, 3 / 4, 2 / 3, 4 / 7])
    assert standings.loc[("task", "strict"), columns].tolist() == pytest.approx([1 / 4, 2 / 4, 1 / 2, 2 / 6])


def test_uncertain_verdicts_open_a_range_of_the_accuracy(tmp_path):
    files = [write_scores(tmp_path, "ada", "maths", {"gold": "cccciiiiii", "strict": "cCiIIixiii"})]
    standings = run(files, tmp_path)["standings"].set_index(["level", "judge"])
    columns = ["accuracy", "certain", "range_low", "range_high"]
    # Two answers are called correct, one of them uncertainly; two of eight others are uncertain.
    assert standings.loc[("task", "strict"), columns].tolist() == pytest.approx([0.2, 0.7, 0.1, 0.4])
    # A judge that makes no claim has no range.
    assert standings.loc[("task", "gold"), columns].isna().tolist() == [False, True, True, True]


def run(files, tmp_path, spec=SPEC) -> dict[str, pd.DataFrame]:
    build_standings(spec, files, tmp_path)
    return {name: tables.read(tmp_path / f"{name}.parquet", schema) for name, schema in SCHEMAS.items()}


def test_invalid_verdicts_count_as_incorrect_and_the_accuracy_without_them_stands_beside(files, tmp_path):
    standings = run(files, tmp_path)["standings"].set_index(["level", "task", "model", "judge"])
    row = standings.loc[("task", "maths", "ada", "strict")]
    assert (row["n"], row["questions"], row["accuracy"], row["invalid"]) == (4, 4, 0.25, 0.5)
    assert (row["accuracy_decided"], row["accuracy_upper"]) == (0.5, 0.75)
    interval = intervals.proportion([True, False, False, False], [1, 2, 3, 4])
    assert (row["low"], row["high"]) == (interval.low, interval.high)
    row = standings.loc[("task", "all", "ada", "strict")]
    assert (row["invalid"], row["accuracy"], row["rank"], row["accuracy_upper"]) == (1, 0, 2, 1)
    assert math.isnan(row["accuracy_decided"])
    row = standings.loc[("all", "all", "ada", "gold")]
    assert (row["n"], row["accuracy"]) == (6, 5 / 6)


def test_row_order_does_not_depend_on_file_order(files, tmp_path):
    first = run(files, tmp_path)["standings"]
    # Four of the 24 orders: each file comes first once.
    for order in list(itertools.permutations(files))[::7]:
        pd.testing.assert_frame_equal(first, run(order, tmp_path)["standings"])
    strict = first[(first["task"] == "maths") & (first["judge"] == "strict")]
    assert strict["model"].tolist() == ["bob", "ada"]
    # A task may be called "all": the level tells it from the sum of all tasks.
    assert first.groupby("level", sort=False)["task"].unique().map(list).to_dict() == {"all": ["all"], "task": ["all", "maths"]}


def test_without_gold_there_is_no_agreement(files, tmp_path):
    result = run(files, tmp_path)
    assert len(result["agreement"]) == len(result["comparisons"]) == 0


def test_several_attempts_share_a_question(tmp_path):
    once = write_scores(tmp_path / "once", "ada", "maths", verdicts("ci" * 20, "ci" * 20))
    path = write_scores(tmp_path / "twice", "ada", "maths", verdicts("ci" * 20, "ci" * 20), attempts=2)
    spec = {**SPEC, "tables": [["ada", "maths"]]}
    (single, double) = (run([p], tmp_path, spec)["standings"].iloc[0] for p in (once, path))
    assert (double["n"], double["questions"]) == (80, 40)
    assert double["low"] == pytest.approx(single["low"], abs=0.01)


@pytest.mark.parametrize("count", [0, 1])
def test_few_rows(tmp_path, count):
    path = write_scores(tmp_path, "ada", "maths", verdicts("c" * count, "x" * count))
    result = run([path], tmp_path, {**SPEC, "gold": "gold", "trained": ["strict"]})
    assert result["standings"]["n"].tolist() == [count] * (4 if count else 0)
    assert result["agreement"]["n"].unique().tolist() == [count]


def test_missing_judge_is_an_error(files, tmp_path):
    with pytest.raises(InputError, match=r"maths\.parquet: a scores table needs the column 'bert'"):
        run(files, tmp_path, {**SPEC, "judges": ["bert"]})
