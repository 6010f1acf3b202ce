"""Result files of memory benchmarks: nested by user, or hypotheses whose references are in the file of the benchmark."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from bert_judge.cli import app

ROOT = Path(__file__).parents[3]
EXAMPLES = ROOT / "examples" / "memory"
PAGE = (ROOT / "docs" / "memory_benchmarks.md").read_text("utf-8")


def run(*arguments: object, judge: str = "exact_match") -> Result:
    return CliRunner().invoke(app, ["score", *map(str, arguments), "--judge", judge], env={"COLUMNS": "200"})


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"[│┃]", line) if cell.strip() not in ("", "…")]


def groups(result: Result, column: str) -> dict[str, list[str]]:
    """Return group → the number of answers and the accuracy of the table by group."""
    assert result.exit_code == 0, result.output
    _, _, table = result.stdout.partition(f" {column} ")
    rows = [cells(line) for line in table.splitlines() if line.startswith("│")]
    return {row[2]: row[3:5] for row in rows}


@pytest.mark.parametrize("line", re.findall(r"^ {4}(?:\$ )?bert-judge (score .*)$", PAGE, re.MULTILINE))
def test_a_command_of_the_page_prints_its_lines(tmp_path: Path, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    result = CliRunner().invoke(app, shlex.split(line), env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    printed = [cells(row) for row in result.stdout.splitlines()]
    shown = PAGE.partition(f"$ bert-judge {line}\n")[2].partition("\n\n")[0]
    for row in filter(None, (cells(row) for row in shown.splitlines())):
        assert any(columns[: len(row)] == row for columns in printed), row


def test_rows_nested_by_user_are_scored_by_category(tmp_path: Path) -> None:
    result = run(EXAMPLES / "locomo.json", "-o", tmp_path / "a.jsonl", "--by", "category", "--label", "llm_judgments.judgment_1")
    by_category = groups(result, "category")
    assert {category: row[0] for category, row in by_category.items()} == {"1": "2", "2": "2", "3": "1", "4": "3"}
    assert by_category["3"][1].startswith("0.0 ") and "agreement with the column 'llm_judgments.judgment_1'" in result.stdout
    assert len((tmp_path / "a.jsonl").read_text("utf-8").splitlines()) == 8


def test_references_and_categories_of_a_second_file_are_joined_by_id(tmp_path: Path) -> None:
    lines = (EXAMPLES / "hypotheses.jsonl").read_text("utf-8").splitlines()
    hypotheses = tmp_path / "hypotheses.jsonl"
    hypotheses.write_text("\n".join([*lines[::-1], json.dumps({"question_id": "q99", "hypothesis": "Paris"})]), "utf-8")
    references = EXAMPLES / "longmemeval.json"
    result = run(hypotheses, "--references", references, "-o", tmp_path / "a.jsonl", "--by", "question_type")
    by_type = groups(result, "question_type")
    assert {name: row[0] for name, row in by_type.items()} == {
        "–": "1",
        "knowledge-update": "1",
        "multi-session": "2",
        "single-session-user": "2",
        "temporal-reasoning": "1",
    }
    assert by_type["single-session-user"][1].startswith("50.0 ")
    rows: list[dict[str, Any]] = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text("utf-8").splitlines()]
    assert [row["question_id"] for row in rows] == ["q6", "q5_abs", "q4", "q3", "q2", "q1", "q99"]
    assert rows[-1]["verdict"] == "invalid" and "has no question_id like this row's" in rows[-1]["reason"]


def test_a_column_of_neither_file_is_refused(tmp_path: Path) -> None:
    output = tmp_path / "a.jsonl"
    for arguments in ([EXAMPLES / "locomo.json"], [EXAMPLES / "hypotheses.jsonl", "--references", EXAMPLES / "longmemeval.json"]):
        result = run(*arguments, "-o", output, "--by", "subject")
        assert result.exit_code == 1 and "--by subject: no such column; available: 'question" in result.stderr
        assert not output.exists()


def test_rubrics_are_named(tmp_path: Path) -> None:
    rubric = {
        "question": "Which editor suits me?",
        "reference": "The user would prefer tips for it.",
        "answer": "Any.",
    }
    (tmp_path / "a.jsonl").write_text(json.dumps(rubric), "utf-8")
    result = run(tmp_path / "a.jsonl", "--candidate", "answer")
    assert "look like rubrics" in result.stderr
