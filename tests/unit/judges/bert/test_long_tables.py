"""Long tables: worker processes prepare the texts ahead of the encoder, with the results of one process."""

import contextlib
import copy
import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import psutil
import pytest

from bert_judge.judges.bert import judge as bert
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.judges.bert.text_steps import Prediction, TextSteps, normalize
from bert_judge.judges.protocol import LazyJudge, Row, judge_shards
from bert_judge.runtime.errors import InputError

ANSWERS = [
    *("Paris", "", "It is Paris, not Lyon.", "東京 and Größe"),
    *("no " * 300, "The town on the Seine is meant", "\ud83d", "\\boxed{7}"),
]
REFERENCES = ["Paris", "7", "the city on the river Seine"]


def make_rows(count: int) -> list[Row]:
    answers = [f"{ANSWERS[i % 8]}{i % 5}" if i % 5 else ANSWERS[i % 8] for i in range(count)]
    return [Row(str(i), 0, "m", f"Which town is {i // 3}?", (REFERENCES[i % 3], "Rome"), text) for i, text in enumerate(answers)]


def columns(rows: list[Row]) -> tuple[list[str], list[list[str]], list[str]]:
    return [row.question for row in rows], [list(row.references) for row in rows], [row.candidate for row in rows]


@pytest.fixture
def always_parallel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use several processes from the first row on, and small batches."""
    for name, value in (("SINGLE_PROCESS_ROWS", 0), ("MIN_PARALLEL_ROWS", 1), ("ROWS_PER_BATCH", 7)):
        monkeypatch.setattr(bert, name, value)


@pytest.fixture
def no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail if a process is started."""

    def refuse(*_: object) -> None:
        raise AssertionError("a process was started")

    monkeypatch.setattr(bert, "Workers", refuse)


def make_judge(processes: int, **settings: Any) -> BERTJudge:
    judge = BERTJudge(backend="torch", precision="float32", **settings)
    judge.processes = processes
    return judge


def assert_equal(actual: Prediction, expected: Prediction) -> None:
    for name, values in vars(expected).items():
        values_seen = getattr(actual, name)
        if values.dtype == object or values.dtype.kind in "bi":
            assert values_seen.tolist() == values.tolist()
        else:
            # Other rows in a batch change the rounding of torch in float32.
            np.testing.assert_allclose(values_seen, values, atol=1e-5)


@pytest.mark.parametrize("settings", [{}, {"early_exit": False}, {"references": "closest"}, {"calibrated": False}])
def test_several_processes_give_the_verdicts_of_one(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, settings: dict[str, Any]
) -> None:
    rows = make_rows(60)
    alone = make_judge(1, **settings)
    expected, expected_labels = alone.explain(*columns(rows)), alone.judge(rows)
    request.getfixturevalue("always_parallel")
    judge = make_judge(2, **settings)
    assert_equal(judge.explain(*columns(rows)), expected)
    labels = judge.judge(rows)
    names = ("verdict", "reason", "truncated", "prompt_tokens", "decided_by", "flags", "certain")
    for name in names:
        assert [getattr(label, name) for label in labels] == [getattr(label, name) for label in expected_labels], name
    assert {label.reason for label in labels} >= {"empty answer"}


def test_a_changed_setting_reaches_the_processes(always_parallel: None) -> None:
    rows, judge = make_rows(20), make_judge(2)
    before = judge.judge(rows)
    judge.threshold = 0.0001
    after = judge.judge(rows)
    assert after == make_judge(1, threshold=0.0001).judge(rows) != before


def test_shards_are_judged_one_after_the_other_with_the_next_prepared_ahead(always_parallel: None) -> None:
    rows, judge = make_rows(50), make_judge(2)
    shards = [rows[:20], [], rows[20:21], rows[21:]]
    assert [len(labels) for labels in judge.judge_shards(shards)] == [20, 0, 1, 29]
    lazy = LazyJudge({"general": "1"}, lambda: judge)
    verdicts = [label.verdict for labels in judge_shards(lazy, shards) for label in labels]
    assert verdicts == [label.verdict for label in make_judge(1).judge(rows)]


def test_features_and_trees_of_long_tables_too(always_parallel: None) -> None:
    texts, judge = normalize(*columns(make_rows(30))), make_judge(2)
    np.testing.assert_array_equal(judge._map_texts("features", texts), judge.text_steps.features(texts))
    assert judge._map_texts("predict_trees", texts).shape == (30,)


def test_columns_of_a_data_frame_are_split_by_position(always_parallel: None) -> None:
    texts = columns(make_rows(30))
    shuffled = pd.DataFrame(dict(zip("qrc", texts, strict=True)), index=np.arange(30)[::-1], dtype=object)
    scores = make_judge(2).predict(shuffled["q"], shuffled["r"], shuffled["c"])
    np.testing.assert_allclose(scores, make_judge(1).predict(*texts), atol=1e-5)


def test_an_error_names_the_row_of_the_table(always_parallel: None) -> None:
    questions, references, candidates = columns(make_rows(30))
    references[25] = []
    with pytest.raises(InputError, match="row 25 has no reference"):
        make_judge(2).predict(questions, references, candidates)
    rows = make_rows(30)
    rows[26] = replace(rows[26], references=())
    with pytest.raises(InputError, match="the question 'Which town is 8\\?' has no reference"):
        make_judge(2).judge(rows)
    with pytest.raises(InputError, match="29 candidates"):
        make_judge(2).predict(questions, references, candidates[1:])


@pytest.mark.parametrize(("count", "processes"), [(600, 2), (20, 1)])
def test_a_short_table_and_one_core_start_no_process(
    monkeypatch: pytest.MonkeyPatch, no_processes: None, count: int, processes: int
) -> None:
    if processes == 1:
        monkeypatch.setattr(bert, "SINGLE_PROCESS_ROWS", 0)
    assert len(make_judge(processes).predict(*columns(make_rows(count)))) == count


def test_many_short_tables_count_as_a_long_one(monkeypatch: pytest.MonkeyPatch, no_processes: None) -> None:
    monkeypatch.setattr(bert, "SINGLE_PROCESS_ROWS", 100)
    monkeypatch.setattr(bert, "MIN_PARALLEL_ROWS", 40)
    judge = make_judge(2)
    for count in (50, 50, 39):
        judge.predict(*columns(make_rows(count)))
    with pytest.raises(AssertionError, match="a process was started"):
        judge.predict(*columns(make_rows(40)))


def test_the_number_of_processes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bert.hardware, "num_threads", lambda: 200)
    assert BERTJudge().processes == bert.MAX_PROCESSES


def test_in_one_process_rows_are_prepared_when_their_labels_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared, judge = [], make_judge(1)
    original = TextSteps.prepare_rows
    monkeypatch.setattr(TextSteps, "prepare_rows", lambda self, rows: (prepared.append(len(rows)), original(self, rows))[1])
    labels = judge.judge_shards([make_rows(10)] * 3)
    next(labels)
    assert prepared == [10]


def test_a_judge_goes_on_after_a_process_was_killed(always_parallel: None) -> None:
    rows, judge = make_rows(30), make_judge(2)
    expected = judge.judge(rows)
    assert judge._workers is not None
    for process in psutil.Process().children(recursive=True):
        if "LokyProcess" in " ".join(process.cmdline()):
            process.kill()
    with contextlib.suppress(InputError):
        judge.judge(rows)
    assert judge.judge(rows) == expected


def test_a_copy_starts_its_own_processes(always_parallel: None) -> None:
    rows, judge = make_rows(30), make_judge(2)
    expected = judge.judge(rows)
    assert copy.deepcopy(judge).judge(rows) == expected == judge.judge(rows)
    assert judge._exact()._workers is None


def test_progress_is_logged_for_long_work_only(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        make_judge(1).judge(make_rows(3))
    assert "rows" not in caplog.text


def test_a_judge_with_a_tokenizer_of_transformers_needs_no_transformers_in_a_process() -> None:
    steps = pickle.loads(pickle.dumps(make_judge(1).text_steps))
    rows = make_rows(9)
    assert steps.prepare_rows(rows).encoded == make_judge(1).text_steps.prepare_rows(rows).encoded
