"""Judges inside other programs' loops; with the program itself where it is installed."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers import tiny_models

from bert_judge import integrations
from bert_judge.config import Training
from bert_judge.integrations import lm_eval_metric
from bert_judge.integrations.reward import JudgeReward, judge_reward
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.runtime.errors import InputError

ROOT = Path(__file__).parents[3]


@pytest.fixture(autouse=True)
def nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trained judges are looked for in the current folder, and none is kept from another test."""
    monkeypatch.chdir(tmp_path)
    integrations.load_judge.cache_clear()


@pytest.fixture
def judge(tmp_path: Path) -> BERTJudge:
    judge = BERTJudge(tiny_models.encoder(tmp_path / "backbone"))
    judge.fit(
        ["q", "q"], ["a", "a"], ["a", "b"], [1.0, 0.0], training=Training(epochs=1), features=False, work_folder=tmp_path / "w"
    )
    judge.save(tmp_path / "judge")
    return judge


# --- as a metric and a classifier ---


def test_probabilities_of_wrong_and_right(judge: BERTJudge) -> None:
    rows = ["q"] * 3, [["a"], "b", ["c", "d"]], ["a", "b", "e"]
    found = judge.predict_proba(*rows)
    assert found.shape == (3, 2) and (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)
    np.testing.assert_allclose(found[:, 1], judge.predict(*rows))


def test_the_example_of_a_metric_runs(judge: BERTJudge, tmp_path: Path) -> None:
    done = run(ROOT / "examples" / "as_metric.py", tmp_path / "judge")
    assert done.stdout.startswith("[") and done.stdout.count("[") >= 4


def run(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    settings = os.environ | {"HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)} | variables
    done = subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, env=settings, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done


# --- labels, rewards, the harness' metric ---


def test_labels_of_plain_texts() -> None:
    said = ["Paris!", "<think>Lyon</think> Rome", "<think>Paris"]
    found = integrations.label_texts(
        integrations.load_judge("contains"), questions=["q"] * 3, references=["Paris", ["Rome", "Roma"], "Paris"], candidates=said
    )
    assert [label.verdict for label in found] == ["correct", "correct", "invalid"]
    assert integrations.load_judge() is integrations.load_judge() and integrations.load_judge().name == "general"


def test_the_reward_by_import_path_is_that_of_the_general_judge() -> None:
    assert judge_reward.judge is None
    good, bad = judge_reward(["Capital of France?"] * 2, ["It is Paris.", "It is Lyon."], references=["Paris"] * 2)
    assert good is not None and bad is not None and good > 0.5 > bad


def test_rewards_of_texts_and_of_conversations() -> None:
    reward = JudgeReward("contains")
    assert reward.__name__ == "bert_judge"
    assert reward(["q"] * 3, ["Paris", "Lyon", "<think>"], references=["Paris"] * 3, step=1) == [1.0, 0.0, None]
    talk = [{"role": "system", "content": "be brief"}, {"role": "user", "content": "Which?\n(A) Paris\n(B) Rome"}]
    answers = [[{"role": "assistant", "content": "b"}], [{"role": "assistant", "content": "(A)"}]]
    assert reward([talk, talk], answers, references=[["B"], ["B"]]) == [1.0, 0.0]
    named = JudgeReward("contains", references="gold", question="asked")
    assert named(["x"], ["ü"], gold=["ü"], asked=["q"]) == [1.0]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"question": "2 + 2?", "answer": "2+2=4\n#### 4"}, ("2 + 2?", ["4"])),
        ({"question": "Who?", "answer": ["Bell", "A. G. Bell"]}, ("Who?", ["Bell", "A. G. Bell"])),
        ({"problem": "1/2?", "solution": "It is $\\boxed{0.5}$.", "level": "1"}, ("1/2?", ["0.5"])),
        (
            {"question": "Who?", "question_id": "t", "answer": {"value": "Sun", "aliases": ["the Sun"]}},
            ("Who?", ["Sun", "the Sun"]),
        ),
    ],
)
def test_a_document_of_the_harness_is_read_by_usual_names(document: dict[str, object], expected: tuple[str, list[str]]) -> None:
    judged = lm_eval_metric.process_results(document, [["It is so."]])[lm_eval_metric.METRIC]
    assert (judged.question, judged.references, judged.candidate) == (*expected, "It is so.")


def test_a_document_without_references_is_refused() -> None:
    with pytest.raises(InputError, match="record_answer"):
        lm_eval_metric.process_results({"text": "a", "url": "b"}, ["c"])


def test_the_harness_metric_takes_its_judge_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    items = [lm_eval_metric.JudgedDoc("q", ["Paris"], "In Paris, I think")]
    monkeypatch.setenv(lm_eval_metric.JUDGE_VARIABLE, "contains")
    assert lm_eval_metric.accuracy(items) == 1 and lm_eval_metric.accuracy(items, "exact_match") == 0


def test_the_metric_of_the_harness_judges_all_documents_at_once() -> None:
    items = [
        lm_eval_metric.record_answer("q", "Paris", [["It is Paris", "Rome"]])[lm_eval_metric.METRIC],
        lm_eval_metric.record_answer("q", ["Rome"], ["Lyon"])[lm_eval_metric.METRIC],
        lm_eval_metric.record_answer("q", "x", ["<think>"])[lm_eval_metric.METRIC],
    ]
    assert items[0] == ("q", ["Paris"], "It is Paris")
    # The unfinished answer is invalid and counts as incorrect.
    assert lm_eval_metric.accuracy(items, "contains") == pytest.approx(1 / 3)
    assert math.isnan(lm_eval_metric.accuracy([], "contains")) and lm_eval_metric.accuracy(items[2:], "contains") == 0
