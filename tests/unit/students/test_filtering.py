"""Which answers a filter keeps."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert_judge import tables
from bert_judge.runtime.errors import InputError
from bert_judge.students.filtering import build_filtered

# (question, attempt, candidate, status, score): a score of None is an invalid verdict.
Answer = tuple[str, int, str, str, float | None]


def written(folder: Path, answers: Sequence[Answer], model: str = "m", task: str = "t") -> tuple[Path, Path]:
    """A table of answers and one of verdicts on them."""
    rows = [
        {
            "sample_id": tables.sample_id(task, question, ["r"]),
            "attempt": attempt,
            "question": question,
            "references": ["r"],
            "model": model,
            "candidate": candidate,
            "reasoning": None,
            "status": status,
            "reason": None,
            "prompt_tokens": None,
            "completion_tokens": None,
            "judge": "j",
            "verdict": "invalid" if score is None else "correct",
            "outcome": "invalid" if score is None else "correct",
            "score": score,
            "raw": None,
            "truncated": False,
            "flags": [],
        }
        for question, attempt, candidate, status, score in answers
    ]
    frame = pd.DataFrame(rows, columns=[*dict.fromkeys([*tables.CANDIDATES.names, *tables.LABELS.names])])
    for name in tables.LABELS.names:
        if name not in frame:
            frame[name] = None
    paths = folder / f"{model}-{task}.parquet", folder / f"{model}-{task}-labels.parquet"
    tables.write(frame, paths[0], tables.CANDIDATES, {})
    tables.write(frame, paths[1], tables.LABELS, {})
    return paths


def spec(**settings: Any) -> dict[str, Any]:
    return {"filter": "f", "judge": "j", "keep": 50.0, "per_question": 1, "seed": 0, "tables": [["m", "t"]], **settings}


def kept(folder: Path, answers: Sequence[Answer], **settings: Any) -> pd.DataFrame:
    """What a filter keeps of one table."""
    candidates, labels = written(folder, answers)
    asked = spec(**settings)
    build_filtered(asked, [candidates], [] if asked["judge"] in ("random", "all") else [labels], folder / "out.parquet")
    return tables.read(folder / "out.parquet", tables.FILTERED)


def four(*scores: float | None) -> list[Answer]:
    return [(f"q{number}", 0, f"a{number}", "ok", score) for number, score in enumerate(scores)]


@pytest.mark.parametrize(
    ("answers", "settings", "expected"),
    [
        (four(0.1, 0.9, 0.5, 0.7), {}, ["a1", "a3"]),
        (four(0.1, 0.9, 0.5, 0.7), {"keep": 30.0}, ["a1", "a3"]),
        (four(0.1, 0.9, 0.5, 0.7), {"keep": 25.0}, ["a1"]),
        (four(0.1, 0.9, 0.5, 0.7), {"keep": 0.01}, ["a1"]),
        # What the judge could not decide is never kept, but counts for how many are wanted.
        (four(None, 0.9, None, 0.0), {"keep": 100.0}, ["a1", "a3"]),
        (four(None, 0.9, None, None), {"keep": 50.0}, ["a1"]),
        # The best answer to a question stands for it.
        ([("q", 0, "x", "ok", 0.2), ("q", 1, "y", "ok", 0.8), ("p", 0, "z", "ok", 0.5)], {"keep": 100.0}, ["y", "z"]),
        ([("q", 0, "x", "ok", 0.6), ("q", 1, "y", "ok", 0.8), ("p", 0, "z", "ok", 0.5)], {"per_question": None}, ["y", "x"]),
        ([("q", 0, "x", "ok", 0.6), ("Q ", 0, "y", "ok", 0.8)], {"keep": 100.0}, ["y"]),
        # Of equal answers one is left.
        (
            [("q", n, "x", "ok", 0.6) for n in range(3)] + [("q", 3, "y", "ok", 0.1)],
            {"per_question": None, "keep": 100.0},
            ["x", "y"],
        ),
        # Cut off, failed and blank answers teach nothing.
        (
            [("q", 0, "x", "truncated", 1.0), ("p", 0, "", "empty", 1.0), ("o", 0, " ", "ok", 1.0), ("n", 0, "ä", "imported", 0.1)],
            {"keep": 100.0},
            ["ä"],
        ),
    ],
)
def test_best_answers_in_order(
    tmp_path: Path, answers: Sequence[Answer], settings: Mapping[str, Any], expected: Sequence[str]
) -> None:
    assert kept(tmp_path, answers, **settings)["candidate"].tolist() == expected


def test_controls_ignore_verdicts(tmp_path: Path) -> None:
    answers = four(*[None] * 20)
    assert len(kept(tmp_path, answers, judge="all", keep=100.0)) == 20
    drawn = kept(tmp_path, answers, judge="random")
    assert len(drawn) == 10 and drawn["score"].isna().all()
    assert set(drawn["candidate"]) != set(kept(tmp_path, answers, judge="random", seed=1)["candidate"])


def test_ties_are_broken_by_the_seed(tmp_path: Path) -> None:
    answers = four(*[1.0] * 40)
    one = kept(tmp_path, answers, keep=25.0)["candidate"].tolist()
    assert one == kept(tmp_path, answers, keep=25.0)["candidate"].tolist()
    # The same draw as without a judge: what is between them is the judge and nothing else.
    assert one == kept(tmp_path, answers, keep=25.0, judge="random")["candidate"].tolist()
    assert one != kept(tmp_path, answers, keep=25.0, seed=1)["candidate"].tolist()


scores = st.lists(st.one_of(st.none(), st.sampled_from([0.0, 0.25, 0.5, 1.0])), min_size=2, max_size=30)


@settings(max_examples=25)
@given(scores=scores, low=st.floats(1, 100), high=st.floats(1, 100), data=st.data())
def test_percentages_are_nested_and_row_order_is_irrelevant(
    tmp_path_factory: pytest.TempPathFactory, scores: list[float | None], low: float, high: float, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("filter")
    answers = four(*scores, 0.5)
    few, many = (kept(folder, answers, keep=share)["candidate"].tolist() for share in sorted((low, high)))
    assert many[: len(few)] == few
    random.Random(data.draw(st.integers())).shuffle(answers)
    assert kept(folder, answers, keep=max(low, high))["candidate"].tolist() == many


def test_another_model_does_not_change_the_order(tmp_path: Path) -> None:
    first, second = written(tmp_path, four(*[0.5] * 9)), written(tmp_path, four(*[0.4] * 9), model="n")
    alone = kept(tmp_path, four(*[0.5] * 9), keep=100.0, per_question=None)["candidate"].tolist()
    both = spec(keep=100.0, per_question=None, tables=[["m", "t"], ["n", "t"]])
    build_filtered(both, [first[0], second[0]], [first[1], second[1]], tmp_path / "both.parquet")
    rows = tables.read(tmp_path / "both.parquet", tables.FILTERED)
    assert rows[rows["model"] == "m"]["candidate"].tolist() == alone


@pytest.mark.parametrize("answers", [[], four(None, None), [("q", 0, "x", "error", None)]], ids=["empty", "undecided", "failed"])
def test_filter_that_keeps_nothing(tmp_path: Path, answers: Sequence[Answer]) -> None:
    with pytest.raises(InputError, match=r"^filters\.f: no answer can be kept \(\d answers, .*\); name other tasks or models$"):
        kept(tmp_path, answers)
    assert not (tmp_path / "out.parquet").exists()


def test_missing_label(tmp_path: Path) -> None:
    _, few = written(tmp_path, four(0.1))
    candidates, _ = written(tmp_path, four(0.1, 0.2), model="n")
    with pytest.raises(InputError, match="no label for"):
        build_filtered(spec(tables=[["n", "t"]]), [candidates], [few], tmp_path / "out.parquet")


def test_missing_columns(tmp_path: Path) -> None:
    candidates, labels = written(tmp_path, four(0.1))
    with pytest.raises(InputError, match="a labels table needs the column 'judge'"):
        build_filtered(spec(), [candidates], [candidates], tmp_path / "out.parquet")
    pd.DataFrame({"sample_id": ["x"]}).to_parquet(labels)
    with pytest.raises(InputError, match="needs the column"):
        build_filtered(spec(), [candidates], [labels], tmp_path / "out.parquet")
