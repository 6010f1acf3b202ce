"""Lexical features, in one process and in several."""

import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_judge.text import features
from bert_judge.text.features import FEATURE_NAMES, FeatureExtractor, extract_features, feature_table

CHOICE = "Which planet is the largest?\n(A) Mars\n(B) Jupiter\n(C) Venus"


def named_features(question: str, references: list[str], candidate: str) -> dict[str, float]:
    return dict(zip(FEATURE_NAMES, extract_features(question, references, candidate), strict=True))


@pytest.mark.parametrize(
    ("question", "references", "candidate", "name", "expected"),
    [
        ("Capital?", ["Paris"], "It is Paris.", "contained", 1),
        ("Capital?", ["Paris"], "It is Parisian.", "contained", 0),
        ("Capital?", ["Paris"], "Paris", "same", 1),
        ("Who?", ["Beyoncé Knowles"], "beyonce", "contained_in", 1),
        ("Who?", ["Mac Donald"], "MacDonald", "run_together", 1),
        ("Who?", ["Tchaikovsky"], "It was Tchaikovski", "recall", pytest.approx(0.9)),
        ("Who?", ["Brahms"], "It was Liszt", "recall", 0),
        ("When?", ["12 May 1999"], "in May 1999, the 12th", "years", 1),
        ("When?", ["1999"], "in 1998", "years", -1),
        ("When?", ["1999"], "long ago", "years", -0.5),
        ("How many?", ["12"], "There are twelve.", "numbers", 1),
        ("How many?", ["12"], "Final answer: 13", "last_number", -1),
        ("How many?", ["1,200"], "so 3 * 400 = 1200", "last_number", 1),
        ("Who?", ["Brahms"], "7", "last_number", 0),
        ("Capital?", ["Paris"], "Lyon? No.\nFinal answer: Paris", "final_answer", 1),
        ("Capital?", ["Paris"], "Paris? No.\nFinal answer: Lyon", "final_answer", -1),
        ("Capital?", ["Paris"], "Paris", "final_answer", 0),
        (CHOICE, ["B", "Jupiter"], "The answer is (B).", "choice", 1),
        (CHOICE, ["B", "Jupiter"], "The answer is (C).", "choice", -1),
        (CHOICE, ["B", "Jupiter"], "Mars, Jupiter and Venus", "options_mentioned", 1),
        ("Capital?", ["Paris"], "It is not Paris, perhaps.", "negations", 1),
        ("Capital?", ["Paris"], "It is not Paris, perhaps.", "hedges", 1),
        ("Capital?", ["Paris", "City of Light"], "x", "references", pytest.approx(np.log(2))),
        ("Capital?", ["Paris"], "Paris or Rome", "alternative_near", 1),
        ("Capital?", ["Paris"], "Paris it is", "alternative_near", 0),
        ("Capital?", ["Paris"], "It is not Paris", "denied_before", 1),
        ("Capital?", ["Paris"], "Paris? That is wrong.", "denied_behind", 1),
        ("Capital?", ["Paris"], "Paris. No, sorry, it is Rome.", "retractions_behind", 2),
        ("Capital?", ["Paris"], "Rome? No, that is wrong. Paris.", "retractions_before", 2),
        ("Capital?", ["Paris"], "Rome", "words_before", 0),
        ("Capital?", ["Paris"], "It is surely Paris", "words_before", pytest.approx(np.log(4))),
        ("Capital?", ["Paris"], "Paris, not Rome", "rejected_behind", 1),
        ("Capital?", ["Paris"], "Paris. In Rome there is not one.", "rejected_behind", 0),
        ("Capital?", ["Paris"], "Paris – no, sorry, Rome", "corrected_behind", 2),
        ("Capital?", ["Paris"], "Some say Paris, others Rome", "divided", 2),
        ("Capital?", ["Paris"], "Rome, Oslo, Paris or Bonn", "parts_beside", 3),
        ("Capital?", ["Paris"], "Rome/Paris", "parts_beside", 1),
        ("Capital?", ["Paris"], "Paris", "parts_beside", 0),
        ("Capital?", ["Paris"], "Paris\n" + "Rome\n" * 40, "parts_beside", 6),
        ("Capital?", ["Paris"], "Let us see whether Paris is the", "unfinished", 1),
        ("Capital?", ["Paris"], "I see that it is Paris.", "unfinished", 0),
        ("Capital?", ["Paris"], "Rome, Oslo, or the", "unfinished", 0),
        ("Capital?", ["Paris"], "Paris" + " and so on" * 600, "contained", 1),
        ("Language?", ["C++"], "C", "contained_in", 0),
        ("Language?", ["C++"], "C", "identical", 0),
        ("Language?", ["C++"], "**C++**", "identical", 1),
        ("Value?", ["x+1"], "x-1", "symbols", -1),
        ("Value?", ["x+1"], "So we get \\boxed{x+1}", "symbols", 1),
        ("Value?", ["\\frac{1}{2}"], "\\boxed{-\\frac{1}{2}}", "final_answer", -1),
        ("Value?", ["-\\infty"], "\\boxed{\\infty}", "contained", 0),
        ("Value?", ["(2,5)"], "The answer is [2,5].", "symbols", -1),
        ("Value?", ["1/2"], "\\boxed{0.5}", "last_number", 1),
        ("Value?", ["\\frac{1}{2}"], "-0.5", "last_number", -1),
        ("Value?", ["3 + 4 = 7\n#### 7"], "It is 7.", "last_number", 1),
        ("Capital?", ["The answer is Paris."], "Paris", "identical", 1),
        ("Capital?", ["Paris"], "Paris!", "symbols", 0),
        ("首都は?", ["東京"], "答えは東京です", "contained", 1),
        ("Capital?", ["Paris"], "<think>Paris</think>Lyon", "contained", 0),
    ],
)
def test_features(question: str, references: list[str], candidate: str, name: str, expected: float) -> None:
    assert named_features(question, references, candidate)[name] == expected


@given(st.text(max_size=60), st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=3), st.text(max_size=80))
def test_any_text_has_finite_features(question: str, references: list[str], candidate: str) -> None:
    row = extract_features(question, references, candidate)
    assert len(row) == len(FEATURE_NAMES) and np.isfinite(row).all()


def test_a_long_answer_keeps_its_end() -> None:
    assert named_features("Capital?", ["Paris"], "x " * 500_000 + "Paris")["contained"] == 1


def test_feature_table_of_no_rows() -> None:
    assert feature_table([], [], []).shape == (0, len(FEATURE_NAMES))


ANSWERS = ["Paris", "", "東京 and Größe", "no " * 3_000, "It is Paris, not Lyon.", "\ud83d"]
# Without `if __name__ == "__main__"`, as in a notebook or a script of Snakemake.
SCRIPT = """
from bert_judge.text import features
features.SINGLE_PROCESS_ROWS, features.MIN_PARALLEL_ROWS = 0, 1
print("begun")
table = features.FeatureExtractor(2).extract(["Capital?"] * 40, [["Paris"]] * 40, ["Paris", "Rome"] * 20)
print(table.shape[0], "rows")
"""


def answer_rows(count: int) -> tuple[list[str], list[list[str]], list[str]]:
    candidates = [f"{ANSWERS[i % len(ANSWERS)]} {i}" for i in range(count)]
    return [f"Which town is number {i}?" for i in range(count)], [["Paris", str(i)] for i in range(count)], candidates


@pytest.fixture
def always_parallel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use several processes from the first row on."""
    monkeypatch.setattr(features, "SINGLE_PROCESS_ROWS", 0)
    monkeypatch.setattr(features, "MIN_PARALLEL_ROWS", 1)


@pytest.fixture
def no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if a process is started."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(joblib, "Parallel", refuse)


@pytest.mark.parametrize("count", [0, 1, 5, 203])
def test_several_processes_compute_the_same_features(always_parallel: None, count: int) -> None:
    columns = answer_rows(count)
    table = FeatureExtractor(3).extract(*columns)
    assert table.shape == (count, len(FEATURE_NAMES))
    np.testing.assert_array_equal(table, feature_table(*columns))


def test_columns_of_a_data_frame_are_split_by_position(always_parallel: None) -> None:
    columns = answer_rows(30)
    shuffled = pd.DataFrame(dict(zip("qrc", columns, strict=True)), index=np.arange(30)[::-1], dtype=object)
    table = FeatureExtractor(2).extract(shuffled["q"], shuffled["r"], shuffled["c"])
    np.testing.assert_array_equal(table, feature_table(*columns))


def test_a_small_table_starts_no_process(no_processes: None) -> None:
    columns = answer_rows(600)
    np.testing.assert_array_equal(FeatureExtractor(2).extract(*columns), feature_table(*columns))


def test_one_core_starts_no_process(always_parallel: None, no_processes: None) -> None:
    columns = answer_rows(20)
    np.testing.assert_array_equal(FeatureExtractor(1).extract(*columns), feature_table(*columns))


def test_many_small_tables_count_as_a_long_one(monkeypatch: pytest.MonkeyPatch, no_processes: None) -> None:
    monkeypatch.setattr(features, "SINGLE_PROCESS_ROWS", 100)
    monkeypatch.setattr(features, "MIN_PARALLEL_ROWS", 40)
    extractor = FeatureExtractor(2)
    for count in (50, 50, 39):
        extractor.extract(*answer_rows(count))
    with pytest.raises(AssertionError, match="a process was started"):
        extractor.extract(*answer_rows(40))


def test_the_number_of_processes_is_bounded() -> None:
    assert FeatureExtractor(200).processes == features.MAX_PROCESSES


def test_a_script_is_not_run_twice(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    completed = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=False)
    assert (completed.returncode, completed.stdout, completed.stderr) == (0, "begun\n40 rows\n", "")
