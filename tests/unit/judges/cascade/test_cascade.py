"""Cascades: decision thresholds, escalation, fitting, and stages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_judge import tables
from bert_judge.judges.cascade import escalation as stage
from bert_judge.judges.cascade.escalation import CascadeJudge, DecisionThresholds, load_thresholds
from bert_judge.judges.cascade.fit import MIN_BIN_ROWS, JudgeOutputs, choose_point, fit_cascade, operating_points
from bert_judge.judges.protocol import Label, Row, decided, invalid
from bert_judge.labels.judge_loading import find_judges
from bert_judge.runtime.errors import InputError
from bert_judge.tables import selections


@pytest.mark.parametrize(
    ("thresholds", "verdict", "score", "confident"),
    [
        (DecisionThresholds(0.2, 0.8), "correct", 0.8, True),
        (DecisionThresholds(0.2, 0.8), "correct", 0.79, False),
        (DecisionThresholds(0.2, 0.8), "incorrect", 0.2, True),
        (DecisionThresholds(0.2, 0.8), "incorrect", 0.9, False),
        (DecisionThresholds(0.2, 0.8), "invalid", None, False),
        (DecisionThresholds(None, 0.0), "incorrect", 0.0, False),
        (DecisionThresholds(1.0, None), "correct", 1.0, False),
    ],
)
def test_decision_thresholds(thresholds: DecisionThresholds, verdict: str, score: float | None, confident: bool) -> None:
    assert thresholds.is_confident([verdict], [score]).tolist() == [confident]


class FixedScore:
    """Gives each answer, a number, as its score, plus a constant; keeps what it was asked."""

    def __init__(self, name: str, more: float = 0.0) -> None:
        self.revisions, self.more = {name: "1"}, more
        self.asked: list[str] = []

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        self.asked += [row.candidate for row in rows]
        return [decided(float(row.candidate) + self.more, reason="fixed") for row in rows]


def test_a_judge_leaves_answers_to_one_that_is_more_often_right() -> None:
    cheap, better, best = FixedScore("cheap"), FixedScore("better", 0.2), FixedScore("best")
    cascade = CascadeJudge({"cheap": cheap, "better": better, "best": best}, [0.8, 0.95])
    rows = [Row(f"s{n}", 0, "m", "Q?", ("r",), text) for n, text in enumerate(["0.9", "0.6", "0.1", "0.75", "nan", "0.8"])]
    labels = cascade.judge(rows)
    assert (better.asked, best.asked) == (["0.6", "0.75", "nan"], ["0.9", "0.6", "0.1", "nan", "0.8"])
    assert [label.decided_by for label in labels] == ["best", "best", "best", "better", "best", "best"]
    assert labels[3].score == pytest.approx(0.95) and labels[4].verdict == "invalid" and labels[0].reason == "best: fixed"
    assert cascade.revisions == {"cheap": "1", "better": "1", "best": "1"} and cascade.judge([]) == []


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("general+contains", "--judge contains: its accuracy, which decides what a cascade leaves to it, is not known"),
        ("general+nobody", "--judge nobody: no such folder"),
    ],
)
def test_a_cascade_needs_to_know_how_often_its_judges_are_right(name: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        find_judges([name])[0].load()


# --- fit ---


def verdicts(scores: Sequence[float]) -> JudgeOutputs:
    array = np.asarray(scores, dtype=float)
    texts = np.where(np.isnan(array), "invalid", np.where(array >= 0.5, "correct", "incorrect")).astype(object)
    return JudgeOutputs(texts, array)


def half_confident() -> tuple[dict[str, JudgeOutputs], np.ndarray]:
    """400 rows: the cheap judge is correct on the 200 that it scores 0 or 1, and random on the 200 that it scores 0.4 or 0.6."""
    correct = np.tile([True, False], 200)
    confident = np.repeat([True, False], 200)
    coin = np.tile([0.6, 0.6, 0.4, 0.4], 100)
    return {"cheap": verdicts(np.where(confident, correct, coin)), "expensive": verdicts(correct.astype(float))}, correct


def test_cheap_judge_decides_its_confident_rows() -> None:
    judges, correct = half_confident()
    point = choose_point(operating_points(judges, correct), accuracy=0.99, budget=None)
    assert point.thresholds == {"cheap": DecisionThresholds(0.0, 1.0)}
    assert point.row_shares == {"cheap": 1.0, "expensive": 0.5}
    assert point.agreement == 1.0


def test_zero_budget_escalates_nothing() -> None:
    judges, correct = half_confident()
    point = choose_point(operating_points(judges, correct), accuracy=None, budget=0.0)
    assert (point.row_shares["expensive"], point.agreement) == (0.0, 0.75)


def test_best_point_within_budget() -> None:
    judges, correct = half_confident()
    points = operating_points(judges, correct)
    assert choose_point(points, None, 0.5).agreement == 1.0
    assert choose_point(points, None, 0.49).agreement == 0.75


def test_few_rows_without_errors_do_not_reach_high_confidence() -> None:
    correct = np.ones(MIN_BIN_ROWS, dtype=bool)
    judges = {"cheap": verdicts([1.0] * MIN_BIN_ROWS), "expensive": verdicts([1.0] * MIN_BIN_ROWS)}
    strict = [point for point in operating_points(judges, correct) if point.confidence == 0.99]
    assert all(point.thresholds["cheap"] == DecisionThresholds(None, None) for point in strict)


def test_confidence_is_fitted_on_escalated_rows() -> None:
    """A second judge that is accurate only on rows that the first decides gets no thresholds."""
    judges, correct = half_confident()
    coin = np.where(np.repeat([True, False], 200), correct, np.tile([1.0, 1.0, 0.0, 0.0], 100))
    three = {"cheap": judges["cheap"], "coin": verdicts(coin), "expensive": judges["expensive"]}
    point = choose_point(operating_points(three, correct), accuracy=0.99, budget=None)
    assert point.thresholds["coin"] == DecisionThresholds(None, None)
    assert point.row_shares == {"cheap": 1.0, "coin": 0.5, "expensive": 0.5}


def test_invalid_verdicts_are_escalated() -> None:
    correct = np.array([True, False] * 50)
    judges = {"cheap": verdicts([np.nan] * 100), "expensive": verdicts(correct.astype(float))}
    assert all(point.row_shares["expensive"] == 1.0 for point in operating_points(judges, correct))


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.booleans()), min_size=1, max_size=200))
@settings(max_examples=40)
def test_operating_points_are_consistent(drawn: list[tuple[float, float, bool]]) -> None:
    first, second, correct = (np.array(values) for values in zip(*drawn, strict=True))
    judges = {"a": verdicts(first), "b": verdicts(second)}
    truth = np.where(correct, "correct", "incorrect")
    for point in operating_points(judges, correct):
        confident = point.thresholds["a"].is_confident(judges["a"].verdicts, judges["a"].scores)
        merged = np.where(confident, judges["a"].verdicts, judges["b"].verdicts)
        assert point.agreement == pytest.approx(np.mean(merged == truth))
        assert point.row_shares["b"] == pytest.approx(np.mean(~confident))


@pytest.mark.parametrize(
    ("accuracy", "budget", "line"),
    [
        (0.999, None, "accuracy: 0.999 is not reached, the maximum is 0.750"),
        (None, 0.5, "budget: 0.5 is exceeded, 'expensive' labels at least 1.000"),
    ],
)
def test_unreachable_requirement_is_an_error(accuracy: float | None, budget: float | None, line: str) -> None:
    judges, correct = half_confident()
    if budget is None:
        judges["expensive"] = judges["cheap"]
    else:
        judges["cheap"] = verdicts([np.nan] * len(correct))
    with pytest.raises(InputError, match=line):
        choose_point(operating_points(judges, correct), accuracy, budget)


def test_no_rows_cannot_be_fitted() -> None:
    with pytest.raises(InputError, match="no rows to fit a cascade on"):
        operating_points({"a": verdicts([]), "b": verdicts([])}, np.array([], dtype=bool))


# --- stages ---

QUESTIONS = 60


def answers(model: str = "m") -> pd.DataFrame:
    frame = pd.DataFrame({"sample_id": [f"{n:016x}" for n in range(QUESTIONS)], "attempt": 0})
    frame = frame.assign(
        question="q é?", references=[["r"]] * QUESTIONS, model=model, candidate="漢字", reasoning=None, status="ok"
    )
    return frame.assign(reason=None, prompt_tokens=None, completion_tokens=None)


def labels(frame: pd.DataFrame, judge: str, scores: Sequence[float]) -> pd.DataFrame:
    outputs = verdicts(scores)
    labelled = frame[["sample_id", "attempt", "model"]].assign(
        judge=judge, verdict=outputs.verdicts, outcome=outputs.verdicts, score=outputs.scores, reason=None, raw=None
    )
    return labelled.assign(
        truncated=False, prompt_tokens=5, completion_tokens=None, aspects=None, decided_by=None, certain=None, flags=None
    )


def write(folder: Path, name: str, frame: pd.DataFrame, schema: tables.Schema) -> Path:
    path = folder / f"{name}.parquet"
    tables.write(frame, path, schema, {"name": name}, revisions={name: "1"})
    return path


@pytest.fixture
def fitted(tmp_path: Path) -> Path:
    path = tmp_path / "judge.json"
    path.write_text(json.dumps({"thresholds": {"cheap": {"low": 0.2, "high": 0.8}}, "last": "expensive"}))
    return path


def test_stages_label_like_the_judge(tmp_path: Path, fitted: Path) -> None:
    frame = answers()
    frame.loc[3, ["status", "candidate", "reason"]] = ["error", "", "out of memory"]
    scores = np.linspace(0, 1, QUESTIONS)
    scores[3] = np.nan
    candidates = write(tmp_path, "answers", frame, tables.CANDIDATES)
    cheap = write(tmp_path, "cheap", labels(frame, "cheap", scores), tables.LABELS)
    stage.select_undecided(candidates, [("cheap", cheap)], fitted, tmp_path / "escalated.parquet")
    escalated = tables.read(tmp_path / "escalated.parquet", tables.CANDIDATES)
    assert escalated["sample_id"].tolist() == frame["sample_id"][(scores > 0.2) & (scores < 0.8)].tolist()
    expensive = write(tmp_path, "expensive", labels(escalated, "expensive", [1.0] * len(escalated)), tables.LABELS)
    stage.label_cascade(SPEC, candidates, [("cheap", cheap), ("expensive", expensive)], fitted, tmp_path / "both.parquet")
    labelled = tables.read(tmp_path / "both.parquet", tables.LABELS)
    assert labelled["sample_id"].tolist() == frame["sample_id"].tolist()
    assert labelled["judge"].unique().tolist() == ["both"]
    assert labelled["score"].tolist()[4:] == [s if s <= 0.2 or s >= 0.8 else 1.0 for s in scores[4:]]
    assert labelled["verdict"][3] == "invalid"
    assert labelled["prompt_tokens"].tolist() == [10 if row in set(escalated["sample_id"]) else 5 for row in frame["sample_id"]]
    assert tables.provenance(tmp_path / "both.parquet")["revisions"] == {"cheap": "1", "expensive": "1"}


class Marked:
    """Returns the labels that it was given, by the answers' ids; keeps the ids that it was asked about."""

    def __init__(self, name: str, labels: Mapping[str, Label]) -> None:
        self.revisions, self.labels = {name: "1"}, labels
        self.asked: list[str] = []

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        self.asked += [row.sample_id for row in rows]
        return [self.labels[row.sample_id] for row in rows]


SURE, UNSURE = Label("correct", 0.7, certain=True), Label("incorrect", 0.02, certain=False)
LIKELY, TORN = Label("incorrect", 0.1), Label("correct", 0.89, "by words")
NONE, REFUSED = invalid("no number"), invalid("the judge's model failed: 400")
# First label, second, third, and the verdict, judge and reason that the cascade must have.
MARKED = [
    (SURE, UNSURE, UNSURE, ("correct", "first", None)),
    (LIKELY, SURE, SURE, ("incorrect", "first", None)),
    (UNSURE, SURE, UNSURE, ("correct", "second", None)),
    (UNSURE, TORN, LIKELY, ("incorrect", "third", None)),
    (TORN, UNSURE, TORN, ("correct", "third", "third: by words")),
    (NONE, LIKELY, SURE, ("incorrect", "second", None)),
    (NONE, NONE, NONE, ("invalid", "third", "third: no number")),
    (TORN, REFUSED, UNSURE, ("incorrect", "third", None)),
    (TORN, REFUSED, REFUSED, ("correct", "first", f"by words; second: {REFUSED.reason}; third: {REFUSED.reason}")),
    (UNSURE, TORN, REFUSED, ("correct", "second", f"second: by words; third: {REFUSED.reason}")),
    (UNSURE, REFUSED, REFUSED, ("incorrect", "first", f"second: {REFUSED.reason}; third: {REFUSED.reason}")),
]


def test_a_cascade_that_is_not_fitted_decides_by_marks_in_stages_and_in_one_process(tmp_path: Path) -> None:
    frame = answers().head(len(MARKED))
    names, ids = ["first", "second", "third"], frame["sample_id"].tolist()
    judges = {name: Marked(name, {i: row[number] for i, row in zip(ids, MARKED, strict=True)}) for number, name in enumerate(names)}
    rows = [Row(sample_id, 0, "m", "q é?", ("r",), "漢字") for sample_id in ids]
    at_once = CascadeJudge(judges, [None, None]).judge(rows)
    expected = [row[3] for row in MARKED]
    assert [(label.verdict, label.decided_by, label.reason) for label in at_once] == expected

    candidates, paths = write(tmp_path, "answers", frame, tables.CANDIDATES), []
    escalated = frame
    for name, judge in judges.items():
        table = labels(escalated, name, [0.5] * len(escalated)).assign(
            **{
                column: [getattr(judge.labels[i], column) for i in escalated["sample_id"]]
                for column in ("verdict", "score", "reason", "certain")
            }
        )
        paths.append((name, write(tmp_path, name, table, tables.LABELS)))
        assert escalated["sample_id"].tolist() == judge.asked
        stage.select_undecided(candidates, paths, None, tmp_path / "escalated.parquet")
        escalated = tables.read(tmp_path / "escalated.parquet", tables.CANDIDATES)
    stage.label_cascade(SPEC, candidates, paths, None, tmp_path / "both.parquet")
    staged = tables.read(tmp_path / "both.parquet", tables.LABELS)
    found = staged[["verdict", "decided_by", "reason"]].astype(object)
    assert list(found.where(found.notna(), None).itertuples(index=False, name=None)) == expected
    assert [None if pd.isna(score) else score for score in staged["score"]] == [label.score for label in at_once]
    assert [None if pd.isna(value) else value for value in staged["certain"]] == [label.certain for label in at_once]
    # Five tokens for each judge that saw the answer.
    times = [sum(sample_id in judge.asked for judge in judges.values()) for sample_id in ids]
    assert staged["prompt_tokens"].tolist() == [5 * count for count in times]


def test_an_answer_that_failed_is_not_escalated_by_marks(tmp_path: Path) -> None:
    frame = answers().head(2)
    frame.loc[0, ["status", "candidate", "reason"]] = ["error", "", "out of memory"]
    candidates = write(tmp_path, "answers", frame, tables.CANDIDATES)
    cheap = write(tmp_path, "cheap", labels(frame, "cheap", [np.nan, np.nan]), tables.LABELS)
    stage.select_undecided(candidates, [("cheap", cheap)], None, tmp_path / "escalated.parquet")
    escalated = tables.read(tmp_path / "escalated.parquet", tables.CANDIDATES)
    assert escalated["sample_id"].tolist() == frame["sample_id"].tolist()[1:]


def test_nothing_escalated_is_an_empty_table(tmp_path: Path, fitted: Path) -> None:
    frame = answers()
    candidates = write(tmp_path, "answers", frame, tables.CANDIDATES)
    cheap = write(tmp_path, "cheap", labels(frame, "cheap", [1.0] * QUESTIONS), tables.LABELS)
    stage.select_undecided(candidates, [("cheap", cheap)], fitted, tmp_path / "escalated.parquet")
    escalated = tables.read(tmp_path / "escalated.parquet", tables.CANDIDATES)
    expensive = write(tmp_path, "expensive", labels(escalated, "expensive", []), tables.LABELS)
    stage.label_cascade(SPEC, candidates, [("cheap", cheap), ("expensive", expensive)], fitted, tmp_path / "both.parquet")
    assert tables.read(tmp_path / "both.parquet", tables.LABELS)["decided_by"].unique().tolist() == ["cheap"]


def test_labels_of_decided_answers_are_ignored(tmp_path: Path, fitted: Path) -> None:
    frame = answers()
    candidates = write(tmp_path, "answers", frame, tables.CANDIDATES)
    cheap = write(tmp_path, "cheap", labels(frame, "cheap", np.linspace(0, 1, QUESTIONS)), tables.LABELS)
    everything = write(tmp_path, "expensive", labels(frame, "expensive", [1.0] * QUESTIONS), tables.LABELS)
    stage.label_cascade(SPEC, candidates, [("cheap", cheap), ("expensive", everything)], fitted, tmp_path / "both.parquet")
    labelled = tables.read(tmp_path / "both.parquet", tables.LABELS)
    assert (labelled["verdict"].tolist()[0], labelled["prompt_tokens"].tolist()[0]) == ("incorrect", 5)


@pytest.mark.parametrize("missing", ["cheap", "expensive"])
def test_missing_label_is_an_error(tmp_path: Path, fitted: Path, missing: str) -> None:
    frame = answers()
    candidates = write(tmp_path, "answers", frame, tables.CANDIDATES)
    tables_by_judge = {"cheap": frame, "expensive": frame, missing: frame.iloc[1:]}
    paths = [(name, write(tmp_path, name, labels(f, name, [0.5] * len(f)), tables.LABELS)) for name, f in tables_by_judge.items()]
    with pytest.raises(InputError, match=f"{missing}.parquet: no label for 0000000000000000"):
        stage.label_cascade(SPEC, candidates, paths, fitted, tmp_path / "both.parquet")
    assert not (tmp_path / "both.parquet").exists()


def test_unknown_judge_is_an_error(tmp_path: Path, fitted: Path) -> None:
    candidates = write(tmp_path, "answers", answers(), tables.CANDIDATES)
    other = write(tmp_path, "other", labels(answers(), "other", [0.5] * QUESTIONS), tables.LABELS)
    with pytest.raises(InputError, match=r"judge\.json: has no thresholds for 'other'"):
        stage.select_undecided(candidates, [("other", other)], fitted, tmp_path / "escalated.parquet")


def dataset(models: Sequence[str]) -> pd.DataFrame:
    frame = pd.concat([answers(model) for model in models], ignore_index=True)
    correct = np.tile([1.0, 0.0], len(frame) // 2)
    return frame.assign(task="t", label=correct, weight=1.0, aspects=None, rationale=None)[tables.DATASET.names]


SPEC = {
    "judge": "both",
    "model": "m",
    "task": "t",
    "judges": ["cheap", "expensive"],
    "dataset": "mix",
    "teacher": "expensive",
    "accuracy": 0.9,
    "budget": None,
}


def test_fit_on_rows_of_several_models(tmp_path: Path) -> None:
    rows_of_two = dataset(["one", "two"])
    validation = write(tmp_path, "validation", rows_of_two, tables.DATASET)
    stage.held_out_answers(validation, tmp_path / "held_out.parquet")
    held_out = tables.read(tmp_path / "held_out.parquet", tables.CANDIDATES)
    assert (len(held_out), held_out["model"].tolist()) == (2 * QUESTIONS, rows_of_two["model"].tolist())
    cheap = write(tmp_path, "cheap", labels(held_out, "cheap", rows_of_two["label"].tolist()), tables.LABELS)
    fit_cascade(SPEC, validation, {"cheap": cheap}, tmp_path / "judge.json")
    assert load_thresholds(tmp_path / "judge.json") == ({"cheap": DecisionThresholds(0.0, 1.0)}, "expensive")
    description = json.loads((tmp_path / "judge.json").read_text())
    assert description["operating_point"]["row_shares"] == {"cheap": 1.0, "expensive": 0.0}
    assert description["single_judges"] == {"cheap": 1.0, "expensive": 1.0}


def test_failed_fit_names_the_configuration_key(tmp_path: Path) -> None:
    frame = dataset(["one"])
    validation = write(tmp_path, "validation", frame, tables.DATASET)
    held_out = stage.with_unique_attempts(frame)
    cheap = write(tmp_path, "cheap", labels(held_out, "cheap", [0.6] * len(frame)), tables.LABELS)
    spec = SPEC | {"accuracy": None, "budget": 0.0, "teacher": "expensive"}
    nobody = write(tmp_path, "nobody", labels(held_out, "cheap", [np.nan] * len(frame)), tables.LABELS)
    fit_cascade(spec, validation, {"cheap": cheap}, tmp_path / "judge.json")
    before = (tmp_path / "judge.json").read_bytes()
    with pytest.raises(InputError, match=r"judges\.both\.budget: 0\.0 is exceeded"):
        fit_cascade(spec, validation, {"cheap": nobody}, tmp_path / "judge.json")
    assert (tmp_path / "judge.json").read_bytes() == before


# --- files and selection names ---


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (None, "cannot be read"),
        ("", "not the file of a fitted cascade"),
        ("[]", "not the file of a fitted cascade"),
        ('{"thresholds": {"cheap": 3}, "last": "expensive"}', "not the file of a fitted cascade"),
        ('{"thresholds": {"cheap": {"low": 0}}}', "not the file of a fitted cascade"),
    ],
)
def test_invalid_file_is_an_error(tmp_path: Path, content: str | None, line: str) -> None:
    path = tmp_path / "judge.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=line):
        load_thresholds(path)


@pytest.mark.parametrize(
    ("name", "labelled"),
    [
        ("gpt-4.1_mini+x", None),
        ("@real_answers", selections.HeldOut("real_answers")),
        ("gpt-4@both@expensive", selections.Escalated("gpt-4", "both", "expensive")),
    ],
)
def test_names_of_selections(name: str, labelled: selections.Escalated | selections.HeldOut | None) -> None:
    assert selections.parse(name) == labelled
    if labelled is not None:
        assert labelled.name == name
