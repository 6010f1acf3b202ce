"""Augmentation and splitting of labelled pairs, and the stage that writes preferences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_pair_tables import ROW

from bert_judge import tables
from bert_judge.judges.pairwise import OrderVerdict, Pair, Preference, combine_orders
from bert_judge.judges.pairwise.config import PairAugment
from bert_judge.judges.pairwise.training_data import (
    LabelledPair,
    augment,
    labelled_pairs,
    move_reference_to_question,
    split,
    swap,
    swap_names,
)
from bert_judge.labels.stage import FAILED, compare_pairs

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=30)
examples = st.builds(
    LabelledPair,
    st.builds(Pair, texts, texts, texts, st.lists(texts, max_size=2).map(tuple)),
    st.sampled_from([0.0, 0.5, 1.0, 1 / 3]),
)


# --- augmentation ---


@given(examples)
def test_swapping_twice_is_the_identity(example: LabelledPair) -> None:
    twice = swap(swap(example))
    assert twice.pair == example.pair
    assert twice.label == pytest.approx(example.label)


@pytest.mark.parametrize(
    ("text", "swapped"),
    [
        ("Is Assistant 1 or assistant 2 right?", "Is Assistant 2 or assistant 1 right?"),
        ("Response A: x. Response_B: y", "Response B: x. Response_A: y"),
        ("answer1 beats Answer-2", "answer2 beats Answer-1"),
        ("Give an answer a child understands; model 12 stays", "Give an answer a child understands; model 12 stays"),
        ("Find the answer 1's digit", "Find the answer 1's digit"),
    ],
)
def test_names_of_the_answers_are_swapped(text: str, swapped: str) -> None:
    assert swap_names(text) == swapped
    assert swap_names(swapped) == text


@given(st.lists(examples, max_size=6), st.integers(0, 3))
def test_augmentation_with_shares_0_and_1(rows: list[LabelledPair], seed: int) -> None:
    before = list(rows)
    assert augment(rows, PairAugment(), seed) == rows
    assert augment(rows, PairAugment(swap=1), seed) == [swap(row) for row in rows]
    assert augment(rows, PairAugment(both_orders=1), seed) == [*rows, *map(swap, rows)]
    found = augment(rows, PairAugment(support_reference=1, drop_reference=1), seed)
    copies = [row for row in rows if row.pair.references]
    assert len(found) == len(rows) + len(copies)
    assert all(not row.pair.references for row in found)
    assert rows == before


@given(st.lists(examples, min_size=1, max_size=6), st.integers(0, 3))
def test_augmentation_of_a_row_does_not_depend_on_the_others(rows: list[LabelledPair], seed: int) -> None:
    settings = PairAugment(swap=0.5, drop_reference=0.5)
    assert augment(rows, settings, seed)[0] == augment(rows[:1], settings, seed)[0]
    assert augment(list(reversed(rows)), settings, seed) == list(reversed(augment(rows, settings, seed)))


def test_reference_moves_to_the_question() -> None:
    pair = Pair("q", "a", "b", ("first", "second"))
    assert move_reference_to_question(pair) == Pair("q\n\nReference answer: first", "a", "b")
    assert move_reference_to_question(Pair("q", "a", "b")) == Pair("q", "a", "b")


def test_label_is_the_mean_of_the_votes() -> None:
    frame = pd.DataFrame([ROW | {"label": "A"}, ROW | {"label": "B", "votes": None}, ROW])
    assert [one.label for one in labelled_pairs(frame)] == [0.75, 0.0]


def test_questions_are_on_one_side_of_the_split() -> None:
    rows = [LabelledPair(Pair(f"Q{n % 50}", str(n), "x"), 1.0) for n in range(200)]
    train, held_out = split(rows, 0.3, 0)
    assert len(train) + len(held_out) == 200
    assert train and held_out
    assert not {row.pair.question for row in train} & {row.pair.question for row in held_out}


# --- the stage ---

SPEC = {"judge": "longer", "set": "people", "settings": {}}


class Longer:
    """A rule: the longer answer is better; remembers what it was asked."""

    def __init__(self) -> None:
        self.revisions: dict[str, str] = {"longer": "1"}
        self.asked: list[Pair] = []

    def compare(self, pairs: Sequence[Pair]) -> list[Preference]:
        self.asked += pairs
        found = []
        for pair in pairs:
            lengths = len(pair.answer_a), len(pair.answer_b)
            one = (
                OrderVerdict("tie", 0.5)
                if lengths[0] == lengths[1]
                else OrderVerdict(*(("A", 1.0) if lengths[0] > lengths[1] else ("B", 0.0)))
            )
            found.append(combine_orders(one, one))
        return found


def pair_table(path: Path, answers: Sequence[str], status: str = "ok") -> Path:
    rows = [ROW | {"pair_id": f"{path.stem}-{n}", "answer_a": text, "status_a": status} for n, text in enumerate(answers)]
    tables.write(pd.DataFrame(rows, columns=tables.PAIRS.names), path, tables.PAIRS, {})
    return path


def test_every_pair_has_a_row_and_failed_answers_are_invalid(tmp_path: Path) -> None:
    parts = [
        pair_table(tmp_path / "one", ["x", "", "long"]),
        pair_table(tmp_path / "two", ["y"], "error"),
        pair_table(tmp_path / "no", []),
    ]
    judge = Longer()
    compare_pairs(SPEC, parts, tmp_path / "p", judge, tmp_path / "work")
    found = tables.read(tmp_path / "p", tables.PREFERENCES)
    assert found["verdict"].tolist() == ["A", "tie", "A", "invalid"]
    assert found["reason"].tolist()[-1] == FAILED
    assert found["consistent"].tolist() == [True, True, True, None]
    assert len(judge.asked) == 3


def test_only_new_pairs_are_compared(tmp_path: Path) -> None:
    parts = [pair_table(tmp_path / "one", ["x", "yy"])]
    compare_pairs(SPEC, parts, tmp_path / "p", Longer(), tmp_path / "work")
    before = tables.read(tmp_path / "p", tables.PREFERENCES)
    judge = Longer()
    compare_pairs(SPEC, [*parts, pair_table(tmp_path / "two", ["zzz"])], tmp_path / "p", judge, tmp_path / "work")
    after = tables.read(tmp_path / "p", tables.PREFERENCES)
    assert [pair.answer_a for pair in judge.asked] == ["zzz"]
    pd.testing.assert_frame_equal(after.iloc[:2], before)


@pytest.mark.parametrize("change", ["spec", "revision"])
def test_another_judge_compares_everything(tmp_path: Path, change: str) -> None:
    parts = [pair_table(tmp_path / "one", ["x", "yy"])]
    compare_pairs(SPEC, parts, tmp_path / "p", Longer(), tmp_path / "work")
    judge = Longer()
    if change == "revision":
        judge.revisions = {"longer": "2"}
    compare_pairs(SPEC | ({"seed": 1} if change == "spec" else {}), parts, tmp_path / "p", judge, tmp_path / "work")
    assert len(judge.asked) == 2
