"""JudgeLM's files as pairs: every two answers of a line, and the better one by the line's scores."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.framework_files import jsonl, judgelm_row
from typer.testing import CliRunner, Result

from bert_judge.cli import app
from bert_judge.importers.judge_benchmarks import PAIR_COLUMNS, JudgeLMPairReader


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["import", "--pairs", *[str(argument) for argument in arguments]])


@pytest.mark.parametrize(
    ("judgement", "label"),
    [
        ({"text": "8 7\nBecause."}, "A"),
        ({"text": "6.5, 7"}, "B"),
        ({"text": "7 7\n"}, "tie"),
        ({"pred_text": "2 9\n"}, "B"),
        ({"text": "no scores", "pred_text": "9 1"}, "A"),
        ({"text": "8\n7"}, None),
        ({"text": "-1 -1"}, None),
        ({"text": "nan 3"}, None),
        ({"text": 5}, None),
        ({}, None),
    ],
)
def test_the_better_one_by_the_scores(judgement: dict[str, Any], label: str | None) -> None:
    [row] = JudgeLMPairReader(Path("samples.jsonl"))(judgelm_row(**judgement))
    assert row["label"] == label
    assert (row["model_a"], row["answer_a"], row["model_b"], row["answer_b"]) == ("alpaca", "It is Paris.", "vicuna", "Lyon")
    assert (row["question"], row["reference"], row["task"], row["id"]) == ("Capital of France?", ["Paris"], "samples", "3")


def test_several_answers_make_all_pairs() -> None:
    rows = list(
        JudgeLMPairReader(Path("s.jsonl"))(judgelm_row(answer3_body="Rome", answer3_model_id="llama", text="7 5 5", reference=None))
    )
    assert [(row["model_a"], row["model_b"], row["label"]) for row in rows] == [
        ("alpaca", "vicuna", "A"),
        ("alpaca", "llama", "A"),
        ("vicuna", "llama", "tie"),
    ]
    assert all(row["reference"] == [] for row in rows)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_a_file_of_pairs(tmp_path: Path, ending: str) -> None:
    jsonl(tmp_path / "samples.jsonl", [judgelm_row(text="8 7"), {k: v for k, v in judgelm_row().items() if k != "answer2_body"}])
    result = run("samples.jsonl", "-o", f"pairs.{ending}", "--task", "capitals")
    assert (result.exit_code, result.stdout) == (0, f"pairs.{ending}: 1 pairs\n")
    assert "1 not readable: no answer2_body" in result.stderr
    readers = {"jsonl": lambda path: pd.read_json(path, lines=True), "csv": pd.read_csv, "parquet": pd.read_parquet}
    frame = readers[ending](tmp_path / f"pairs.{ending}")
    assert list(frame.columns) == list(PAIR_COLUMNS)
    assert frame.loc[0, ["label", "task", "model_b"]].tolist() == ["A", "capitals", "vicuna"]


def test_references_come_from_a_second_file(tmp_path: Path) -> None:
    jsonl(tmp_path / "samples.jsonl", [judgelm_row(reference=None)])
    jsonl(tmp_path / "references.jsonl", [{"question_id": 3, "reference": {"text": "Paris"}}])
    assert run("samples.jsonl", "--references", "references.jsonl", "-o", "pairs.jsonl").exit_code == 0
    assert json.loads((tmp_path / "pairs.jsonl").read_text("utf-8"))["reference"] == ["Paris"]


def test_what_holds_no_pair_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    jsonl(tmp_path / "one.jsonl", [{"question_body": "q", "answer1_body": "a"}])
    (tmp_path / "plain.csv").write_text("question,answer\nq,a\n", "utf-8")
    for name, says in (("one.jsonl", "contains no pair"), ("plain.csv", "not a JudgeLM file")):
        result = run(name, "-o", "pairs.jsonl")
        assert result.exit_code == 1
        assert says in result.stderr and result.stderr.strip().splitlines()[-1].startswith("error: ")
        assert not (tmp_path / "pairs.jsonl").exists()
