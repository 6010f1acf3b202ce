"""Labels and splitting of labelled pairs, and the stage that writes preferences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from test_pair_tables import ROW

from bert_judge import tables
from bert_judge.judges.pairwise.train import labelled_pairs, split
from bert_judge.judges.protocol import OrderVerdict, Pair, Preference, combine_orders
from bert_judge.labels.stage import FAILED, compare_pairs


def test_label_is_the_mean_of_the_votes() -> None:
    frame = pd.DataFrame([ROW | {"label": "A"}, ROW | {"label": "B", "votes": None}, ROW])
    assert labelled_pairs(frame)["target"].tolist() == [0.75, 0.0]


def test_questions_are_on_one_side_of_the_split() -> None:
    rows = pd.DataFrame({"question": [f"Q{n % 50}" for n in range(200)]})
    train, held_out = split(rows, 0.3, 0)
    assert len(train) + len(held_out) == 200
    assert len(train) and len(held_out)
    assert set(train["question"]).isdisjoint(held_out["question"])


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
    compare_pairs(SPEC, parts, tmp_path / "p", judge, folder=tmp_path / "work")
    found = tables.read(tmp_path / "p", tables.PREFERENCES)
    assert found["verdict"].tolist() == ["A", "tie", "A", "invalid"]
    assert found["reason"].tolist()[-1] == FAILED
    assert found["consistent"].tolist() == [True, True, True, None]
    assert len(judge.asked) == 3


def test_only_new_pairs_are_compared(tmp_path: Path) -> None:
    parts = [pair_table(tmp_path / "one", ["x", "yy"])]
    compare_pairs(SPEC, parts, tmp_path / "p", Longer(), folder=tmp_path / "work")
    before = tables.read(tmp_path / "p", tables.PREFERENCES)
    judge = Longer()
    compare_pairs(SPEC, [*parts, pair_table(tmp_path / "two", ["zzz"])], tmp_path / "p", judge, folder=tmp_path / "work")
    after = tables.read(tmp_path / "p", tables.PREFERENCES)
    assert [pair.answer_a for pair in judge.asked] == ["zzz"]
    pd.testing.assert_frame_equal(after.iloc[:2], before)


@pytest.mark.parametrize("change", ["spec", "revision"])
def test_another_judge_compares_everything(tmp_path: Path, change: str) -> None:
    parts = [pair_table(tmp_path / "one", ["x", "yy"])]
    compare_pairs(SPEC, parts, tmp_path / "p", Longer(), folder=tmp_path / "work")
    judge = Longer()
    if change == "revision":
        judge.revisions = {"longer": "2"}
    compare_pairs(SPEC | ({"seed": 1} if change == "spec" else {}), parts, tmp_path / "p", judge, folder=tmp_path / "work")
    assert len(judge.asked) == 2
