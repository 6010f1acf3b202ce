"""`bert-judge import`, and `score` on files of other frameworks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.commands import run
from helpers.framework_files import FIXTURES, batch_response, document, helm, helm_state, jsonl, judgelm_row, lm_eval_row, made

from bert_judge.config import Import
from bert_judge.importers import files


@pytest.fixture(autouse=True)
def nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trained judges are looked for in the current folder."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_what_is_imported_is_read_by_a_configuration(tmp_path: Path, ending: str) -> None:
    """Several files at once, and none of what they say is lost on the way."""
    run_folder = shutil.copytree(FIXTURES / "lm_eval" / "dummy", tmp_path / "org__dummy")
    samples = [*run_folder.glob("samples_*.jsonl"), made(tmp_path, "judgelm")]
    output = tmp_path / f"answers.{ending}"
    result = run("import", *samples, "-o", output)
    assert (result.exit_code, result.stdout) == (0, f"{output}: 9 answers\n")
    assert "3 skipped: another filter of the same document" in result.stderr
    spec = Import(path=str(output)).model_dump(mode="json", exclude={"path"})
    frame = files.read_rows(spec, output, {"task": "gsm8k_sums"}, ["question", "references", "candidate", "model"])
    assert frame["references"].tolist() == [["1253", "1,253"], ["8"], ["72"]]
    assert set(frame["model"]) == {"org/dummy"}
    assert files.distinct_models(Import(path=str(output)), output) == sorted(
        files.distinct_models(Import(path=str(output)), output), key=["org/dummy", "alpaca", "vicuna"].index
    )


def test_plain_rows_are_imported_under_our_names(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("prompt,gold,response\nq,a,b\n", "utf-8")
    nameless = run("import", "a.csv", "-o", "b.jsonl")
    assert nameless.exit_code == 1
    assert nameless.stderr == "error: a.csv: row 1: the file has no model name; set --model NAME\n"
    assert run("import", "a.csv", "-o", "b.jsonl", "--model", "m", "--task", "t").exit_code == 0
    assert json.loads((tmp_path / "b.jsonl").read_text("utf-8")) == {
        "question": "q",
        "references": ["a"],
        "candidate": "b",
        "model": "m",
        "task": "t",
        "label": None,
        "id": "",
        "attempt": 0,
    }


def test_second_files_are_named_on_the_command_line(tmp_path: Path) -> None:
    responses = jsonl(tmp_path / "out.jsonl", [batch_response(), batch_response(custom_id="q4", response=None)])
    gold = jsonl(tmp_path / "gold.jsonl", [{"custom_id": "q3", "references": ["Paris"]}])
    result = run("import", responses, "-o", "a.parquet", "--references", gold)
    assert result.exit_code == 0 and "1 not readable: the request failed: no response" in result.stderr
    assert pd.read_parquet(tmp_path / "a.parquet")["candidate"].tolist() == ["It is Paris."]
    candidates = document(tmp_path / "t" / "m" / "candidates.json", ["x"])
    scores = document(tmp_path / "scores.json", [1])
    questions = jsonl(tmp_path / "task.jsonl", [{"doc": {"question": "q", "reference": "x"}}])
    assert run("import", candidates, "-o", "b.parquet", "--references", questions, "--scores", scores).exit_code == 0
    assert pd.read_parquet(tmp_path / "b.parquet")["label"].tolist() == [1.0]


GOLD = [{"QuestionId": f"q{number}", "Question": f"Q{number}?", "Answer": {"Value": str(number)}} for number in (2, 1)]
OPTIONS = [{"id": "q1", "question": "Q?", "choices": ["Rome", "Paris"], "answer": 1}]


@pytest.mark.parametrize(
    ("answers", "gold", "expected"),
    [
        ({"q1": "one", "q2": "two"}, {"Data": GOLD}, [("Q1?", ["1"], "one"), ("Q2?", ["2"], "two")]),
        ([{"question": "Q1?", "pred": "one"}], GOLD, [("Q1?", ["1"], "one")]),
        ([{"id": "q1", "answer": "B"}, {"id": "q9", "answer": "A"}], OPTIONS, [("Q?\n(A) Rome\n(B) Paris", ["B", "Paris"], "B")]),
        ([{"id": 1, "prompt": "long", "output": "one"}], [{"qid": "1", "reference": "1"}], [("long", ["1"], "one")]),
        (
            [{"id": 1, "output": "a"}],
            [{"id": 1, "question": "Q?", "answers": {"text": []}}, {"id": 2, "answers": {"text": ["b"]}}],
            [],
        ),
    ],
)
def test_references_in_a_second_file_are_joined_by_id_or_question(tmp_path: Path, answers: Any, gold: Any, expected: Any) -> None:
    paths = [document(tmp_path / name, content) for name, content in (("answers.json", answers), ("gold.json", gold))]
    result = run("import", paths[0], "--references", paths[1], "-o", "rows.jsonl", "--model", "m")
    assert result.exit_code == (0 if expected else 1), result.output
    lines = (tmp_path / "rows.jsonl").read_text("utf-8").splitlines() if expected else []
    rows = map(json.loads, lines)
    assert [(row["question"], row["references"], row["candidate"]) for row in rows] == expected
    assert "q9" not in str(answers) or "1 not readable: " in result.stderr


@pytest.mark.parametrize(
    ("row", "arguments", "says"),
    [
        ({"question": "q", "output": "a"}, ["import", "-o", "b.jsonl"], "name the file that holds them with --references FILE"),
        ({"gold": "q", "gpt4_answer": "a", "bot_answer": "b"}, ["import", "-o", "b.jsonl"], "; rename it to candidate"),
        ({"text": "q", "output": "a"}, ["import", "-o", "b.jsonl", "--references", "g.jsonl"], "shares neither ids nor questions"),
        (
            {"id": 1, "prompt": "q", "output": "a"},
            ["import", "-o", "b.jsonl", "--references", "g.jsonl"],
            "has other questions under",
        ),
        ({"id": "q", "output": "a"}, ["score"], "or --references FILE, a second file with the same ids"),
    ],
)
def test_a_refusal_names_an_option_of_its_own_command(tmp_path: Path, row: Any, arguments: list[str], says: str) -> None:
    jsonl(tmp_path / "a.jsonl", [row])
    jsonl(tmp_path / "g.jsonl", [{"id": 1, "question": "Who?", "gold": "a"}])
    result = run(arguments[0], "a.jsonl", *arguments[1:])
    assert result.exit_code == 1 and says in result.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["none.jsonl", "-o", "b.jsonl"], "none.jsonl: no such file"),
        (["a.jsonl", "-o", "a.jsonl"], "a.jsonl: is the input file; choose another with -o"),
        (["a.jsonl", "-o", "a.jsonl", "--force"], "a.jsonl: is the input file; choose another with -o"),
        (["a.jsonl", "-o", "b.xlsx"], "b.xlsx: let its name end in .jsonl, .csv, .parquet"),
        (["a.jsonl", "-o", "b.jsonl", "--format", "csv"], "--format csv: unknown; available: lm_eval, lighteval"),
        (["a.jsonl", "-o", "b.jsonl"], "a.jsonl: 1 not readable: no reference; import it with its references: bert-judge import"),
        (["a.jsonl", "-o", "b.jsonl", "--format", "helm"], "a.jsonl: the file has no rows"),
    ],
)
def test_what_import_refuses_is_one_line_and_writes_nothing(tmp_path: Path, arguments: list[str], says: str) -> None:
    path = jsonl(tmp_path / "a.jsonl", [judgelm_row(reference=None)])
    before = path.read_bytes()
    result = run("import", *arguments)
    assert result.exit_code == 1 and result.stderr.splitlines()[-1].startswith(f"error: {says}")
    assert list(tmp_path.iterdir()) == [path] and path.read_bytes() == before


def test_score_keeps_the_lines_of_the_harness(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [lm_eval_row(), lm_eval_row(filter="flexible-extract"), lm_eval_row(resps=[["1252"]])]
    path = jsonl(tmp_path / "m" / "samples_gsm8k_2026-11-22T05-42-27.4.jsonl", rows)
    result = run("score", path, "-o", "scored.jsonl", "--judge", "contains")
    assert result.exit_code == 0, result.output
    assert "samples of lm-evaluation-harness" in result.stderr and "1 of them without an answer to judge" in result.stdout
    after = [json.loads(line) for line in (tmp_path / "scored.jsonl").read_text("utf-8").splitlines()]
    assert [{name: line[name] for name in row} for row, line in zip(rows, after, strict=True)] == rows
    assert [line["verdict"] for line in after] == ["correct", None, "incorrect"]


def test_score_writes_a_documents_answers_as_rows(tmp_path: Path) -> None:
    path = helm(tmp_path / "capitals,model=x" / "scenario_state.json", [helm_state(), helm_state(result=None)])
    result = run("score", path, "--judge", "contains")
    assert result.exit_code == 0, result.output
    output = path.with_name("scenario_state.scored.jsonl")
    [row] = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
    # Whatever the output is called.
    assert run("score", path, "--judge", "contains", "-o", "rows.jsonl").exit_code == 0
    assert (tmp_path / "rows.jsonl").read_text("utf-8") == output.read_text("utf-8")
    assert (row["candidate"], row["references"], row["verdict"]) == (" It is Paris.", ["Paris"], "correct")
    assert sorted(file.name for file in path.parent.iterdir()) == ["scenario_state.json", "scenario_state.scored.jsonl"]
    refused = run("score", path, "-o", "x.json")
    assert refused.exit_code == 1 and "let its name end in .jsonl" in refused.stderr
    assert not list(tmp_path.glob(".x*"))
