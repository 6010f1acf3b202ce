"""Ranking of several answers, grading against references, and conversations as questions."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_pair_training import Longer

from bert_judge.judges.pairwise.protocol import conversation
from bert_judge.judges.pairwise.ranking import grade, rank
from bert_judge.runtime.errors import InputError


@given(st.lists(st.text("ab", max_size=6), min_size=2, max_size=6))
def test_round_robin_of_a_transitive_judge_is_its_order(answers: list[str]) -> None:
    ranking = rank(Longer(), "q", answers)
    lengths = [len(answers[i]) for i in ranking.order]
    assert lengths == sorted(lengths, reverse=True)
    assert sum(ranking.points) == pytest.approx(len(answers) / 2)
    assert len(ranking.comparisons) == len(answers) * (len(answers) - 1) // 2
    for i, one in enumerate(answers):
        assert all((ranking.ranks[i] < ranking.ranks[j]) == (len(one) > len(other)) for j, other in enumerate(answers))


def test_grade_uses_the_most_favourable_reference() -> None:
    assert grade(Longer(), "q", "four", ["longer one", "abcd"]).verdict == "tie"
    assert grade(Longer(), "q", "no", ["longer one", "abcd"]).verdict == "B"


@pytest.mark.parametrize("call", [lambda: rank(Longer(), "q", ["one"]), lambda: grade(Longer(), "q", "one", [])])
def test_too_few_answers_or_references(call: Any) -> None:
    with pytest.raises(InputError, match="needs"):
        call()


def test_conversation_text() -> None:
    turns = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Größe?"},
        {"role": "assistant", "content": "Wessen?"},
        {"role": "user", "content": "Des Monds."},
    ]
    assert conversation(turns) == "System: Be brief.\n\nUser: Größe?\n\nAssistant: Wessen?\n\nUser: Des Monds."
    assert conversation(turns[1:2]) == "Größe?"


@pytest.mark.parametrize(
    ("turns", "message"),
    [
        ([], "must end with a turn of the user"),
        ([{"role": "assistant", "content": "x"}], "must end with a turn of the user"),
        ([{"role": "narrator", "content": "x"}], "turn 1: needs a role"),
        ([{"role": "user"}], "turn 1: needs a role"),
    ],
)
def test_invalid_conversation(turns: list[dict[str, str]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        conversation(turns)
