"""The tables of pairs and preferences, and what two orders of a pair come to."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_judge import tables
from bert_judge.judges.pairwise import Opinion, Pair, abstained, both_orders, swapped
from bert_judge.judges.pairwise.protocol import mirrored
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
}


def test_a_pair_without_label_reference_or_model_comes_back_as_it_went(tmp_path: Path) -> None:
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
def test_a_bad_pair_is_refused(tmp_path: Path, rows: list[dict[str, object]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        tables.write(pd.DataFrame(rows), tmp_path / "p", tables.PAIRS, {})
    assert not (tmp_path / "p").exists()


def test_the_swapped_pair_has_another_identity() -> None:
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
def test_what_two_orders_come_to(
    forward: tuple[str, float | None], backward: tuple[str, float | None], verdict: str, consistent: bool | None
) -> None:
    found = both_orders(Opinion(*forward), Opinion(*backward))
    assert (found.verdict, found.consistent) == (verdict, consistent)
    assert (found.score is None) == (verdict == "invalid")


opinions = st.builds(Opinion, st.sampled_from(["A", "B", "tie"]), st.floats(0, 1)) | st.just(Opinion("invalid", None))


@given(opinions, opinions)
def test_two_orders_of_the_swapped_pair_come_to_the_mirrored_verdict(forward: Opinion, backward: Opinion) -> None:
    one = both_orders(forward, backward)
    other = both_orders(mirrored(backward), mirrored(forward))
    assert other.consistent == one.consistent
    assert mirrored(Opinion(one.verdict, one.score)).verdict == other.verdict
    assert other.score is None if one.score is None else other.score == pytest.approx(1 - one.score)


def test_the_story_of_both_orders_is_kept() -> None:
    found = both_orders(
        Opinion("A", 1.0, "line", "Verdict: A", False, 10, 2), Opinion("A", 0.8, "line", "Verdict: 2", True, 11, None)
    )
    assert (found.reason, found.raw) == ("line", "Verdict: A\n[other order]\nVerdict: 2")
    assert (found.truncated, found.prompt_tokens, found.completion_tokens) == (True, 21, 2)
    assert abstained("no answer").reason == "no answer"


def test_a_swap_is_undone_by_another() -> None:
    pair = Pair("q", "x", "y", ("r",))
    assert swapped(pair) == Pair("q", "y", "x", ("r",))
    assert swapped(swapped(pair)) == pair
