"""The tables of pairs and preferences, and the combination of both orders."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_judge import tables
from bert_judge.judges.protocol import OrderVerdict, Pair, combine_orders, invalid_preference
from bert_judge.runtime.errors import InputError

ROW = {
    "pair_id": "p1",
    "sample_id": "s1",
    "task": "talk",
    "question": "Größte Stadt?",
    "references": None,
    "answer_a": "Tōkyō",
    "answer_b": "",
    "model_a": None,
    "model_b": "m",
    "status_a": "imported",
    "status_b": "empty",
    "label": None,
    "votes": ["A", "tie"],
    "grade_a": None,
    "grade_b": 7.5,
    "rationale": None,
}


def test_round_trip_of_a_pair_without_label_reference_or_model(tmp_path: Path) -> None:
    tables.write(
        pd.DataFrame([ROW, ROW | {"pair_id": "p2", "label": "tie", "references": ["x"]}]), tmp_path / "p", tables.PAIRS, {}
    )
    found = tables.read(tmp_path / "p", tables.PAIRS)
    assert found["references"].tolist() == [None, ["x"]]
    assert found["votes"].tolist() == [["A", "tie"]] * 2
    assert found["label"].isna().tolist() == [True, False]
    assert found["answer_a"].tolist() == ["Tōkyō"] * 2


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([ROW, ROW], "repeat the key"),
        ([ROW | {"label": "C"}], "column 'label' holds 'C'"),
        ([ROW | {"question": None}], "column 'question' holds 1 nulls"),
        ([{key: value for key, value in ROW.items() if key != "answer_b"}], "needs the column 'answer_b'"),
    ],
)
def test_invalid_pair_is_rejected(tmp_path: Path, rows: list[dict[str, object]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        tables.write(pd.DataFrame(rows), tmp_path / "p", tables.PAIRS, {})
    assert not (tmp_path / "p").exists()


def test_swapped_pair_has_another_id() -> None:
    assert tables.pair_id("s", "m", None, "x", "y") != tables.pair_id("s", None, "m", "y", "x")
    assert tables.pair_id("s", "m", None, "x", "y") == tables.pair_id("s", "m", None, "x", "y")


@pytest.mark.parametrize(
    ("forward", "backward", "verdict", "consistent"),
    [
        (("A", 0.9), ("A", 0.7), "A", True),
        (("tie", 0.5), ("tie", 0.4), "tie", True),
        (("A", 0.9), ("B", 0.1), "inconsistent", False),
        (("A", 0.9), ("tie", 0.5), "inconsistent", False),
        (("invalid", None), ("B", 0.1), "invalid", None),
        (("invalid", None), ("invalid", None), "invalid", None),
    ],
)
def test_combine_orders(
    forward: tuple[str, float | None], backward: tuple[str, float | None], verdict: str, consistent: bool | None
) -> None:
    found = combine_orders(OrderVerdict(*forward), OrderVerdict(*backward))
    assert (found.verdict, found.consistent) == (verdict, consistent)
    assert (found.score is None) == (verdict == "invalid")


order_verdicts = st.builds(OrderVerdict, st.sampled_from(["A", "B", "tie"]), st.floats(0, 1)) | st.just(
    OrderVerdict("invalid", None)
)


@given(order_verdicts, order_verdicts)
def test_combined_verdict_of_the_swapped_pair(forward: OrderVerdict, backward: OrderVerdict) -> None:
    one = combine_orders(forward, backward)
    other = combine_orders(backward.swapped, forward.swapped)
    assert other.consistent == one.consistent
    assert OrderVerdict(one.verdict, one.score).swapped.verdict == other.verdict
    assert other.score is None if one.score is None else other.score == pytest.approx(1 - one.score)


def test_preference_keeps_the_details_of_both_orders() -> None:
    found = combine_orders(
        OrderVerdict("A", 1.0, "line", "Verdict: A", False, 10, 2), OrderVerdict("A", 0.8, "line", "Verdict: 2", True, 11, None)
    )
    assert (found.reason, found.raw) == ("line", "Verdict: A\n[other order]\nVerdict: 2")
    assert (found.truncated, found.prompt_tokens, found.completion_tokens) == (True, 21, 2)
    assert invalid_preference("no answer").reason == "no answer"


def test_swapping_twice_is_the_identity() -> None:
    pair = Pair("q", "x", "y", ("r",))
    assert pair.swapped == Pair("q", "y", "x", ("r",))
    assert pair.swapped.swapped == pair
