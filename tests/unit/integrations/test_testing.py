"""Judging in a test suite: what a passing and a failing test see, and the judge without weights."""

from __future__ import annotations

import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

from bert_judge.integrations import label_texts
from bert_judge.labels.judge_loading import NamedJudge
from bert_judge.runtime.errors import InputError
from bert_judge.testing import FakeJudge, assert_correct

SUITE = """
from bert_judge.testing import assert_correct

def ask(question):
    return "It is Lyon."

def test_capital():
    assert_correct(ask("Capital?"), references=["Paris", "Paname"], question="Capital of France?", judge="contains")
"""


def test_pytest_shows_what_was_judged(tmp_path: Path) -> None:
    (tmp_path / "test_capital.py").write_text(SUITE, "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_capital.py"]
    output = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout
    assert "1 failed" in output and '>       assert_correct(ask("Capital?")' in output
    shown = ["the answer is incorrect", "question: Capital of France?", "answer: It is Lyon.", "references: Paris | Paname"]
    for line in [*shown, "score: 0.000", "reason: ", "judge: contains"]:
        assert line in output
    # Not the inside of this library.
    assert "raise AssertionError" not in output


def test_a_correct_answer_returns_its_label() -> None:
    label = assert_correct("It is Paris.", references="Paris", judge="contains")
    assert (label.verdict, label.score) == ("correct", 1.0)
    assert assert_correct("Well, Paris.", references=["Paris"], question="Capital of France?").verdict == "correct"


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [("maybe", "incorrect"), ("unclear", "invalid"), ("<think>hm", "invalid"), ("I don't know.", "not attempted")],
)
def test_what_is_not_correct_fails(answer: str, outcome: str) -> None:
    judge = FakeJudge({"yes": True, "maybe": 0.4, "unclear": None, "I don't know.": False})
    with pytest.raises(AssertionError, match=f"^the answer is {outcome}\n"):
        assert_correct(answer, references="yes", judge=judge)


def test_long_texts_are_cut() -> None:
    with pytest.raises(AssertionError) as failed:
        assert_correct("no " * 10_000, references="yes", judge=FakeJudge(defaultdict(bool)))
    assert len(str(failed.value)) < 3000


def test_a_fake_judge_knows_what_it_was_given() -> None:
    judge = NamedJudge("fake", "", FakeJudge({"yes": True, "no": False, "perhaps": 0.7}))
    labels = label_texts(judge, questions=["?"] * 3, references=["yes"] * 3, candidates=["yes", "no", "perhaps"])
    assert [(label.verdict, label.score) for label in labels] == [("correct", 1.0), ("incorrect", 0.0), ("correct", 0.7)]
    with pytest.raises(KeyError, match="other"):
        label_texts(judge, questions=["?"], references=["yes"], candidates=["other"])


def test_an_unknown_judge_is_an_error_of_the_test() -> None:
    with pytest.raises(InputError, match="no_such_judge"):
        assert_correct("yes", references="yes", judge="no_such_judge")
