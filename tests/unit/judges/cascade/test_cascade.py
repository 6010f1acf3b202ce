"""Several judges in a row: where each is sure, what is left to the next, and what all of them cost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_judge import tables
from bert_judge.judges.cascade import stage
from bert_judge.judges.cascade.fit import LEAST_ROWS, Verdicts, choose, trade_off
from bert_judge.judges.cascade.fit_stage import fit_cascade
from bert_judge.judges.cascade.judge import CascadeJudge, Cuts, described, fitted_judges, load_cuts
from bert_judge.judges.protocol import Label, Row, decided, invalid
from bert_judge.plan import selections
from bert_judge.runtime.errors import InputError


class Scripted:
    """A judge that reads its score off the candidate, and remembers what it was asked."""

    def __init__(self, name: str, place: int) -> None:
        self.revisions = {name: "1"}
        self.place = place
        self.asked: list[str] = []

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        self.asked += [row.sample_id for row in rows]
        said = [row.candidate.split()[self.place] for row in rows]
        return [invalid("no idea") if s == "-" else replace(decided(float(s)), prompt_tokens=10, completion_tokens=1) for s in said]


def rows(*candidates: str) -> list[Row]:
    return [Row(f"{n:016x}", 0, "m", "q?", ("r",), candidate) for n, candidate in enumerate(candidates)]


def cascade(**cuts: Cuts) -> tuple[CascadeJudge, dict[str, Scripted]]:
    judges = {name: Scripted(name, place) for place, name in enumerate(["cheap", "middle", "dear"])}
    return CascadeJudge(judges, {"cheap": Cuts(0.1, 0.9), "middle": Cuts(0.3, 0.7), **cuts}), judges


# --- who decides ---


def test_each_judge_sees_only_what_those_before_it_left() -> None:
    judge, members = cascade()
    labels = judge.judge(rows("0.95 0 0", "0.05 1 1", "0.5 0.8 0", "0.5 0.5 1", "- - 0"))
    assert [label.verdict for label in labels] == ["correct", "incorrect", "correct", "correct", "incorrect"]
    assert [len(member.asked) for member in members.values()] == [5, 3, 2]
    assert [label.reason for label in labels] == [f"decided by {name}" for name in ("cheap", "cheap", "middle", "dear", "dear")]


def test_the_tokens_are_those_of_all_who_looked() -> None:
    labels = cascade()[0].judge(rows("0.95 0 0", "0.5 0.5 1", "- 0.5 0"))
    assert [label.prompt_tokens for label in labels] == [10, 30, 20]


def test_what_the_last_one_cannot_decide_is_invalid() -> None:
    (label,) = cascade()[0].judge(rows("0.5 - -"))
    assert (label.verdict, label.score, label.reason) == ("invalid", None, "decided by dear: no idea")


def test_no_rows_ask_nobody() -> None:
    judge, members = cascade()
    assert judge.judge([]) == []
    assert not any(member.asked for member in members.values())


@given(st.lists(st.tuples(*[st.one_of(st.just("-"), st.floats(0, 1).map(str))] * 3), max_size=12), st.randoms())
@settings(max_examples=60)
def test_a_verdict_does_not_depend_on_the_other_rows(texts: list[tuple[str, ...]], random: Any) -> None:
    whole = rows(*(" ".join(text) for text in texts))
    judge = cascade()[0]
    alone = [judge.judge([row])[0] for row in whole]
    order = random.sample(range(len(whole)), len(whole))
    assert [judge.judge([whole[place] for place in order])[order.index(n)] for n in range(len(whole))] == alone


@pytest.mark.parametrize(
    ("cuts", "verdict", "score", "sure"),
    [
        (Cuts(0.2, 0.8), "correct", 0.8, True),
        (Cuts(0.2, 0.8), "correct", 0.79, False),
        (Cuts(0.2, 0.8), "incorrect", 0.2, True),
        (Cuts(0.2, 0.8), "incorrect", 0.9, False),
        (Cuts(0.2, 0.8), "invalid", None, False),
        (Cuts(None, 0.0), "incorrect", 0.0, False),
        (Cuts(1.0, None), "correct", 1.0, False),
    ],
)
def test_cuts(cuts: Cuts, verdict: str, score: float | None, sure: bool) -> None:
    assert cuts.sure([verdict], [score]).tolist() == [sure]


# --- how it is fitted ---


def verdicts(scores: Sequence[float]) -> Verdicts:
    array = np.asarray(scores, dtype=float)
    said = np.where(np.isnan(array), "invalid", np.where(array >= 0.5, "correct", "incorrect")).astype(object)
    return Verdicts(said, array)


def half_sure() -> tuple[dict[str, Verdicts], np.ndarray]:
    """400 rows: the cheap judge is right on the 200 that it scores 0 or 1, and a coin on the 200 that it scores 0.4 or 0.6."""
    right = np.tile([True, False], 200)
    sure = np.repeat([True, False], 200)
    coin = np.tile([0.6, 0.6, 0.4, 0.4], 100)
    return {"cheap": verdicts(np.where(sure, right, coin)), "dear": verdicts(right.astype(float))}, right


def test_the_cheap_one_keeps_what_it_is_sure_of_and_no_more() -> None:
    judges, right = half_sure()
    point = choose(trade_off(judges, right), accuracy=0.99, budget=None)
    assert point.cuts == {"cheap": Cuts(0.0, 1.0)}
    assert point.seen == {"cheap": 1.0, "dear": 0.5}
    assert point.agreement == 1.0


def test_a_budget_of_nothing_leaves_everything_to_the_cheap_one() -> None:
    judges, right = half_sure()
    point = choose(trade_off(judges, right), accuracy=None, budget=0.0)
    assert (point.seen["dear"], point.agreement) == (0.0, 0.75)


def test_the_best_within_the_budget() -> None:
    judges, right = half_sure()
    points = trade_off(judges, right)
    assert choose(points, None, 0.5).agreement == 1.0
    assert choose(points, None, 0.49).agreement == 0.75


def test_a_few_rows_without_a_fault_are_no_proof() -> None:
    right = np.ones(LEAST_ROWS, dtype=bool)
    judges = {"cheap": verdicts([1.0] * LEAST_ROWS), "dear": verdicts([1.0] * LEAST_ROWS)}
    strict = [point for point in trade_off(judges, right) if point.trust == 0.99]
    assert all(point.cuts["cheap"] == Cuts(None, None) for point in strict)


def test_trust_is_learnt_on_what_is_left() -> None:
    """The second judge is right on what the first decides and a coin on the rest: it gets no cut where that is not enough."""
    judges, right = half_sure()
    coin = np.where(np.repeat([True, False], 200), right, np.tile([1.0, 1.0, 0.0, 0.0], 100))
    three = {"cheap": judges["cheap"], "coin": verdicts(coin), "dear": judges["dear"]}
    point = choose(trade_off(three, right), accuracy=0.99, budget=None)
    assert point.cuts["coin"] == Cuts(None, None)
    assert point.seen == {"cheap": 1.0, "coin": 0.5, "dear": 0.5}


def test_invalid_verdicts_go_on() -> None:
    right = np.array([True, False] * 50)
    judges = {"cheap": verdicts([np.nan] * 100), "dear": verdicts(right.astype(float))}
    assert all(point.seen["dear"] == 1.0 for point in trade_off(judges, right))


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.booleans()), min_size=1, max_size=200))
@settings(max_examples=40)
def test_the_curve_holds_what_it_says(drawn: list[tuple[float, float, bool]]) -> None:
    first, second, right = (np.array(values) for values in zip(*drawn, strict=True))
    judges = {"a": verdicts(first), "b": verdicts(second)}
    truth = np.where(right, "correct", "incorrect")
    for point in trade_off(judges, right):
        sure = point.cuts["a"].sure(judges["a"].said, judges["a"].scores)
        said = np.where(sure, judges["a"].said, judges["b"].said)
        assert point.agreement == pytest.approx(np.mean(said == truth))
        assert point.seen["b"] == pytest.approx(np.mean(~sure))


@pytest.mark.parametrize(
    ("accuracy", "budget", "line"),
    [
        (0.999, None, "accuracy: 0.999 is not reached, the most is 0.750"),
        (None, 0.5, "budget: 0.5 is not kept, 'dear' sees at least 1.000"),
    ],
)
def test_what_cannot_be_had_is_one_line(accuracy: float | None, budget: float | None, line: str) -> None:
    judges, right = half_sure()
    if budget is None:
        judges["dear"] = judges["cheap"]
    else:
        judges["cheap"] = verdicts([np.nan] * len(right))
    with pytest.raises(InputError, match=line):
        choose(trade_off(judges, right), accuracy, budget)


def test_no_rows_cannot_be_fitted() -> None:
    with pytest.raises(InputError, match="no rows to fit a cascade on"):
        trade_off({"a": verdicts([]), "b": verdicts([])}, np.array([], dtype=bool))


# --- the stages ---

QUESTIONS = 60


def answers(model: str = "m") -> pd.DataFrame:
    frame = pd.DataFrame({"sample_id": [f"{n:016x}" for n in range(QUESTIONS)], "attempt": 0})
    frame = frame.assign(
        question="q é?", references=[["r"]] * QUESTIONS, model=model, candidate="漢字", reasoning=None, status="ok"
    )
    return frame.assign(reason=None, prompt_tokens=None, completion_tokens=None)


def labels(frame: pd.DataFrame, judge: str, scores: Sequence[float]) -> pd.DataFrame:
    read = verdicts(scores)
    found = frame[["sample_id", "attempt", "model"]].assign(
        judge=judge, verdict=read.said, score=read.scores, reason=None, raw=None
    )
    return found.assign(truncated=False, prompt_tokens=5, completion_tokens=None)


def write(folder: Path, name: str, frame: pd.DataFrame, schema: tables.Schema) -> Path:
    path = folder / f"{name}.parquet"
    tables.write(frame, path, schema, {"name": name}, {name: "1"})
    return path


@pytest.fixture
def fitted(tmp_path: Path) -> Path:
    path = tmp_path / "cascade.json"
    path.write_text(json.dumps(described({"cheap": Cuts(0.2, 0.8)}, "dear")))
    return path


def test_the_stages_say_what_the_judge_says(tmp_path: Path, fitted: Path) -> None:
    frame = answers()
    frame.loc[3, ["status", "candidate", "reason"]] = ["error", "", "out of memory"]
    scores = np.linspace(0, 1, QUESTIONS)
    scores[3] = np.nan
    given = write(tmp_path, "answers", frame, tables.CANDIDATES)
    cheap = write(tmp_path, "cheap", labels(frame, "cheap", scores), tables.LABELS)
    stage.leave_rows(given, [("cheap", cheap)], fitted, tmp_path / "left.parquet")
    left = tables.read(tmp_path / "left.parquet", tables.CANDIDATES)
    assert left["sample_id"].tolist() == frame["sample_id"][(scores > 0.2) & (scores < 0.8)].tolist()
    dear = write(tmp_path, "dear", labels(left, "dear", [1.0] * len(left)), tables.LABELS)
    stage.label_cascade(SPEC, given, [("cheap", cheap), ("dear", dear)], fitted, tmp_path / "both.parquet")
    found = tables.read(tmp_path / "both.parquet", tables.LABELS)
    assert found["sample_id"].tolist() == frame["sample_id"].tolist()
    assert found["judge"].unique().tolist() == ["both"]
    assert found["score"].tolist()[4:] == [s if s <= 0.2 or s >= 0.8 else 1.0 for s in scores[4:]]
    assert found["verdict"][3] == "invalid"
    assert found["prompt_tokens"].tolist() == [10 if row in set(left["sample_id"]) else 5 for row in frame["sample_id"]]
    assert tables.provenance(tmp_path / "both.parquet")["revisions"] == {"cheap": "1", "dear": "1"}


def test_nothing_left_is_an_empty_table(tmp_path: Path, fitted: Path) -> None:
    frame = answers()
    given = write(tmp_path, "answers", frame, tables.CANDIDATES)
    cheap = write(tmp_path, "cheap", labels(frame, "cheap", [1.0] * QUESTIONS), tables.LABELS)
    stage.leave_rows(given, [("cheap", cheap)], fitted, tmp_path / "left.parquet")
    left = tables.read(tmp_path / "left.parquet", tables.CANDIDATES)
    dear = write(tmp_path, "dear", labels(left, "dear", []), tables.LABELS)
    stage.label_cascade(SPEC, given, [("cheap", cheap), ("dear", dear)], fitted, tmp_path / "both.parquet")
    assert tables.read(tmp_path / "both.parquet", tables.LABELS)["reason"].unique().tolist() == ["decided by cheap"]


def test_verdicts_on_more_than_was_left_change_nothing(tmp_path: Path, fitted: Path) -> None:
    frame = answers()
    given = write(tmp_path, "answers", frame, tables.CANDIDATES)
    cheap = write(tmp_path, "cheap", labels(frame, "cheap", np.linspace(0, 1, QUESTIONS)), tables.LABELS)
    everything = write(tmp_path, "dear", labels(frame, "dear", [1.0] * QUESTIONS), tables.LABELS)
    stage.label_cascade(SPEC, given, [("cheap", cheap), ("dear", everything)], fitted, tmp_path / "both.parquet")
    found = tables.read(tmp_path / "both.parquet", tables.LABELS)
    assert (found["verdict"].tolist()[0], found["prompt_tokens"].tolist()[0]) == ("incorrect", 5)


@pytest.mark.parametrize("lost", ["cheap", "dear"])
def test_an_answer_without_a_verdict_is_refused(tmp_path: Path, fitted: Path, lost: str) -> None:
    frame = answers()
    given = write(tmp_path, "answers", frame, tables.CANDIDATES)
    kept = {"cheap": frame, "dear": frame, lost: frame.iloc[1:]}
    paths = [(name, write(tmp_path, name, labels(f, name, [0.5] * len(f)), tables.LABELS)) for name, f in kept.items()]
    with pytest.raises(InputError, match=f"{lost}.parquet: no verdict on 0000000000000000"):
        stage.label_cascade(SPEC, given, paths, fitted, tmp_path / "both.parquet")
    assert not (tmp_path / "both.parquet").exists()


def test_a_cascade_fitted_on_other_judges_is_refused(tmp_path: Path, fitted: Path) -> None:
    given = write(tmp_path, "answers", answers(), tables.CANDIDATES)
    other = write(tmp_path, "other", labels(answers(), "other", [0.5] * QUESTIONS), tables.LABELS)
    with pytest.raises(InputError, match=r"cascade\.json: says nothing of 'other'"):
        stage.leave_rows(given, [("other", other)], fitted, tmp_path / "left.parquet")


def dataset(models: Sequence[str]) -> pd.DataFrame:
    frame = pd.concat([answers(model) for model in models], ignore_index=True)
    right = np.tile([1.0, 0.0], len(frame) // 2)
    return frame.assign(task="t", label=right, weight=1.0, aspects=None)[tables.DATASET.names]


SPEC = {
    "judge": "both",
    "model": "m",
    "task": "t",
    "judges": ["cheap", "dear"],
    "dataset": "mix",
    "teacher": "dear",
    "accuracy": 0.9,
    "budget": None,
}


def test_a_fit_on_the_rows_of_several_models(tmp_path: Path) -> None:
    rows_of_two = dataset(["one", "two"])
    validation = write(tmp_path, "validation", rows_of_two, tables.DATASET)
    stage.held_out_answers(validation, tmp_path / "held_out.parquet")
    held_out = tables.read(tmp_path / "held_out.parquet", tables.CANDIDATES)
    assert (len(held_out), held_out["model"].tolist()) == (2 * QUESTIONS, rows_of_two["model"].tolist())
    cheap = write(tmp_path, "cheap", labels(held_out, "cheap", rows_of_two["label"].tolist()), tables.LABELS)
    fit_cascade(SPEC, validation, {"cheap": cheap}, tmp_path / "cascade.json", tmp_path / "curve.png")
    assert load_cuts(tmp_path / "cascade.json") == {"cheap": Cuts(0.0, 1.0)}
    assert fitted_judges(tmp_path / "cascade.json") == ["cheap", "dear"]
    found = json.loads((tmp_path / "cascade.json").read_text())
    assert found["chosen"]["seen"] == {"cheap": 1.0, "dear": 0.0}
    assert found["alone"] == {"cheap": 1.0, "dear": 1.0}
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")


def test_a_fit_that_cannot_be_had_names_the_key(tmp_path: Path) -> None:
    frame = dataset(["one"])
    validation = write(tmp_path, "validation", frame, tables.DATASET)
    held_out = stage.numbered(frame)
    cheap = write(tmp_path, "cheap", labels(held_out, "cheap", [0.6] * len(frame)), tables.LABELS)
    spec = SPEC | {"accuracy": None, "budget": 0.0, "teacher": "dear"}
    nobody = write(tmp_path, "nobody", labels(held_out, "cheap", [np.nan] * len(frame)), tables.LABELS)
    fit_cascade(spec, validation, {"cheap": cheap}, tmp_path / "cascade.json", tmp_path / "curve.png")
    before = (tmp_path / "cascade.json").read_bytes()
    with pytest.raises(InputError, match=r"judges\.both\.budget: 0\.0 is not kept"):
        fit_cascade(spec, validation, {"cheap": nobody}, tmp_path / "cascade.json", tmp_path / "curve.png")
    assert (tmp_path / "cascade.json").read_bytes() == before


# --- files and names ---


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (None, "cannot be read"),
        ("", "not the file of a fitted cascade"),
        ("[]", "not the file of a fitted cascade"),
        ('{"cuts": {"cheap": 3}, "last": "dear"}', "not the file of a fitted cascade"),
        ('{"cuts": {"cheap": {"low": 0}}}', "not the file of a fitted cascade"),
    ],
)
def test_a_bad_file_is_one_line(tmp_path: Path, content: str | None, line: str) -> None:
    path = tmp_path / "cascade.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=line):
        fitted_judges(path)


def test_a_fitted_cascade_in_python(fitted: Path) -> None:
    judge = CascadeJudge.load(fitted, {"cheap": Scripted("cheap", 0), "dear": Scripted("dear", 1)})
    assert [label.score for label in judge.judge(rows("0.1 1", "0.5 1"))] == [0.1, 1.0]
    with pytest.raises(InputError, match="its judges are cheap, dear"):
        CascadeJudge.load(fitted, {"dear": Scripted("dear", 1), "cheap": Scripted("cheap", 0)})
    with pytest.raises(InputError, match="no cuts for 'cheap'"):
        CascadeJudge({"cheap": Scripted("cheap", 0), "dear": Scripted("dear", 1)}, {})


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("gpt-4.1_mini+x", None),
        ("@real_answers", selections.HeldOut("real_answers")),
        ("gpt-4@both@dear", selections.Left("gpt-4", "both", "dear")),
    ],
)
def test_names_of_selections(name: str, found: selections.Left | selections.HeldOut | None) -> None:
    assert selections.parse(name) == found
    if found is not None:
        assert found.name == name
