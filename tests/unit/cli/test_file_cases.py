"""Files of other programs and of people, by class: each is scored as a careful person would read it, or refused.

A line of `data/files/CLASS.jsonl` is a file: its content (`text`, `base64`, `rows` or `sheets`), further `files` beside it,
`options` of the command, and the expected `verdicts` (c, i or x for invalid) or the texts that its refusal contains
(`refuses`). All outputs contain the texts of `prints` and none of `absent`. `visible` and `older` hold files of public bug
reports.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from bert_judge.cli import app
from bert_judge.tables.readers.rows import open_rows

FOLDER = Path(__file__).parent / "data" / "files"
LETTERS = {"correct": "c", "incorrect": "i", "invalid": "x"}
CASES = [
    pytest.param(case, id=f"{path.stem}: {case['name']}: {case['file']}")
    for path in sorted(FOLDER.glob("*.jsonl"))
    for case in map(json.loads, path.read_text("utf-8").splitlines())
]


def write(folder: Path, case: dict[str, Any]) -> Path:
    path = folder / case["file"]
    for name, text in case.get("files", {}).items():
        (folder / name).write_text(text, "utf-8")
    if "text" in case:
        path.write_bytes(case["text"].encode())
    elif "base64" in case:
        path.write_bytes(base64.b64decode(case["base64"]))
    elif "sheets" in case:
        write_workbook(path, case["sheets"])
    elif path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(case["rows"]), path)
    else:
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in case["rows"]), "utf-8")
    return path


def write_workbook(path: Path, sheets: dict[str, list[list[Any]]]) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for title, rows in sheets.items():
        sheet = workbook.create_sheet(title)
        for number, row in enumerate(rows, 1):
            for column, value in enumerate(row, 1):
                cell = sheet.cell(number, column)
                cell.value = value["value"] if isinstance(value, dict) else value
                cell.number_format = value["format"] if isinstance(value, dict) else cell.number_format
    workbook.save(path)


def read_verdicts(path: Path) -> str:
    records = [record for _, record in open_rows(path).records()]
    column = "bert_judge_verdict" if "bert_judge_verdict" in records[0] else "verdict"
    return "".join(LETTERS[record[column]] for record in records)


@pytest.mark.parametrize("case", CASES)
def test_a_file_is_scored_or_refused(
    tmp_path: Path, case: dict[str, Any], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Options name files beside it.
    monkeypatch.chdir(tmp_path)
    if case["file"].endswith(".xlsx"):
        pytest.importorskip("openpyxl")
    path = write(tmp_path, case)
    before = {file.name for file in tmp_path.iterdir()}
    result = CliRunner().invoke(app, ["score", str(path), "--judge", case.get("judge", "contains"), *case.get("options", [])])
    output = result.stdout + result.stderr + caplog.text
    created = {file.name for file in tmp_path.iterdir()} - before
    if "refuses" in case:
        assert result.exit_code == 1 and result.stderr.splitlines()[-1].startswith("error: "), output
        assert all(text in result.stderr.splitlines()[-1] for text in case["refuses"]) and not created, output
    else:
        assert result.exit_code == 0 and len(created) == 1, output
        assert read_verdicts(tmp_path / created.pop()) == case["verdicts"], output
    assert all(text in output for text in case.get("prints", [])), output
    assert not any(text in output for text in case.get("absent", [])), output


def test_a_workbook_is_copied_with_verdicts(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    rows = [["Test", None, None], ["question", "reference", "response", "length"], ["Capital?", "Paris", "Paris", "=LEN(C3)"], []]
    write_workbook(tmp_path / "a.xlsx", {"Answers": [*rows, ["=A3", "Goethe", "Schiller", None]], "Notes": [["kept"]]})
    assert CliRunner().invoke(app, ["score", str(tmp_path / "a.xlsx"), "--judge", "contains"]).exit_code == 0
    workbook = openpyxl.load_workbook(tmp_path / "a.scored.xlsx")
    assert workbook["Notes"]["A1"].value == "kept"
    assert [[cell.value for cell in row] for row in workbook["Answers"].iter_rows(min_row=2)] == [
        ["question", "reference", "response", "length", "verdict", "outcome", "score", "certain", "reason"],
        ["Capital?", "Paris", "Paris", "=LEN(C3)", "correct", "correct", 1, None, "identical to a reference"],
        [None] * 9,
        ["=A3", "Goethe", "Schiller", None, "incorrect", "incorrect", 0, None, 'contains: did not find "Goethe"'],
    ]


def test_a_markdown_table_is_written_with_verdicts(tmp_path: Path) -> None:
    text = (
        "# Answers\n\n| question | reference | response |\n|:--|:-:|--:|\n| Which? | a \\| b | a \\| b |\n| And? | c<br>d | e |\n"
    )
    (tmp_path / "a.md").write_text(text, "utf-8")
    assert CliRunner().invoke(app, ["score", str(tmp_path / "a.md"), "--judge", "contains"]).exit_code == 0
    assert (tmp_path / "a.scored.md").read_text("utf-8").splitlines() == [
        "| question | reference | response | verdict | outcome | score | certain | reason |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
        "| Which? | a \\| b | a \\| b | correct | correct | 1.0 |  | identical to a reference |",
        '| And? | c<br>d | e | incorrect | incorrect | 0.0 |  | contains: did not find "c d" |',
    ]


def test_the_answers_of_mt_bench_are_joined_with_its_questions(tmp_path: Path) -> None:
    questions = [{"question_id": n, "turns": [f"{n}?", "And why?"], "reference": [f"{n}", "so"]} for n in (81, 82)]
    answers = [{"question_id": n, "model_id": "m", "choices": [{"index": 0, "turns": [f"It is {n}.", "no"]}]} for n in (82, 81)]
    for name, rows in (("question.jsonl", questions), ("m.jsonl", answers)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    options = ["--references", str(tmp_path / "question.jsonl"), "-o", str(tmp_path / "rows.jsonl")]
    assert CliRunner().invoke(app, ["import", str(tmp_path / "m.jsonl"), *options]).exit_code == 0
    imported = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text("utf-8").splitlines()]
    assert [(row["question"], row["references"], row["candidate"], row["model"], row["id"]) for row in imported] == [
        ("82?", ["82"], "It is 82.", "m", "82/1"),
        ("And why?", ["so"], "no", "m", "82/2"),
        ("81?", ["81"], "It is 81.", "m", "81/1"),
        ("And why?", ["so"], "no", "m", "81/2"),
    ]


@pytest.mark.parametrize(
    ("language", "question", "reference", "answer"),
    [
        ("Czech", "V kterém městě se narodil?", "Vídeň", "Narodil se ve Vídni a vyrůstal tam."),
        ("Finnish", "Missä kaupungissa hän asuu?", "Helsinki", "Hän asuu Helsingissä ja työskentelee opettajana."),
        ("Vietnamese", "Ông sinh ra ở thành phố nào?", "Hà Nội", "Ông sinh ra ở Hà Nội."),
        ("Swahili", "Alizaliwa katika mji gani?", "Nairobi", "Alizaliwa katika mji wa Nairobi."),
        ("", "In which city was he born?", "Vienna", "He was born in Vienna and grew up there."),
    ],
)
def test_a_language_that_the_judge_does_not_know_is_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, language: str, question: str, reference: str, answer: str
) -> None:
    path = write(tmp_path, {"file": "a.jsonl", "rows": [{"question": question, "reference": reference, "response": answer}] * 2})
    result = CliRunner().invoke(app, ["score", str(path)])
    assert result.exit_code == 0
    output = result.stderr + caplog.text
    weak = "are of a kind on which general is weak on sources that it has not seen: texts in other languages than English"
    assert (weak in output) == bool(language)
    assert ("2 of 2 verdicts are on text in a language that the judge was not trained on" in output) == bool(language)
