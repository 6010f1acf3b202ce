"""Rule-based pairwise judges."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_judge.judges.pairwise.rules import RULES, PairRuleJudge
from bert_judge.judges.protocol import Pair

CASES = [
    ("longer", Pair("q", "a long answer", "short"), "A", 1.0),
    ("longer", Pair("q", "ab", "  ab \n"), "tie", 0.5),
    ("longer", Pair("q", "", "x"), "B", 0.0),
    ("longer", Pair("q", "", ""), "tie", 0.5),
    ("overlap", Pair("q", "It is Paris", "Lyon", ("Paris", "paris france")), "A", 0.75),
    ("overlap", Pair("q", "פריז", "ליון", ("פריז",)), "A", 1.0),
    ("overlap", Pair("Name two fruits", "Two fruits: pear, fig", "Pear"), "A", 0.5 + 1 / 3),
    ("overlap", Pair("Name two fruits", "none", "nothing"), "tie", 0.5),
    ("overlap", Pair("", "x", "y"), "tie", 0.5),
    ("random", Pair("q", "same", "same"), "tie", 0.5),
]


@pytest.mark.parametrize(("rule", "pair", "verdict", "score"), CASES)
def test_rule(rule: str, pair: Pair, verdict: str, score: float) -> None:
    [preference] = PairRuleJudge(rule).compare([pair])
    assert (preference.verdict, preference.consistent) == (verdict, True)
    assert preference.score == pytest.approx(score)
    assert preference.reason


def test_random_is_fair_and_seeded() -> None:
    pairs = [Pair(f"question {n}", "one", "two") for n in range(600)]
    first, again, other = ([p.verdict for p in PairRuleJudge("random", seed).compare(pairs)] for seed in (0, 0, 1))
    assert first == again != other
    assert 240 < first.count("A") < 360


@settings(max_examples=60)
@given(st.sampled_from(sorted(RULES)), *[st.text(max_size=30)] * 3, st.lists(st.text(max_size=9), max_size=2))
def test_swapping_the_answers_swaps_the_verdict(rule: str, question: str, a: str, b: str, references: list[str]) -> None:
    pair = Pair(question, a, b, tuple(references))
    one, other = PairRuleJudge(rule).compare([pair, pair.swapped])
    assert {"A": "B", "B": "A", "tie": "tie"}[one.verdict] == other.verdict
    assert one.score == pytest.approx(1 - float(other.score or 0))
    assert 0 <= float(one.score or 0) <= 1
