"""Imported files: three formats, a column map, a filter, and one clear line for whatever is wrong with them."""

import json
import math
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert_judge import tables
from bert_judge.config import Import
from bert_judge.importers import files
from bert_judge.runtime.errors import InputError
from bert_judge.tables.readers import values

ROWS = [
    {
        "question": "Who wrote Émile?",
        "references": ["Rousseau", "Jean-Jacques Rousseau"],
        "candidate": "Rousseau",
        "model": "a",
        "label": 1,
    },
    {"question": "Was ist 大きい?", "references": ["big"], "candidate": 'say "big",\nor large', "model": "b", "label": 0},
    {"question": "How many?", "references": ["3"], "candidate": "", "model": "a", "label": None},
]


def spec_of(**entry: Any) -> dict[str, Any]:
    return Import.model_validate({"path": "unused", **entry}).model_dump(mode="json", exclude={"path"})


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    """A file of these rows in the format of the path's ending."""
    if path.suffix == ".parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        frame = pd.DataFrame(
            [{k: json.dumps(v, ensure_ascii=False) if isinstance(v, list) else v for k, v in row.items()} for row in rows]
        )
        frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_every_format_reads_the_same(tmp_path: Path, ending: str) -> None:
    frame = files.read_rows(spec_of(), write(tmp_path / f"answers.{ending}", ROWS))
    assert frame["question"].tolist() == [row["question"] for row in ROWS]
    assert frame["references"].tolist() == [row["references"] for row in ROWS]
    assert frame["candidate"].tolist() == ["Rousseau", 'say "big",\nor large', ""]
    assert frame["model"].tolist() == ["a", "b", "a"]
    assert frame["label"].tolist()[:2] == [1.0, 0.0]
    assert math.isnan(frame["label"][2])


def test_csv_of_a_spreadsheet_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    path.write_bytes('﻿question,references,candidate\r\nGröße?,"[""1,5 m"", 2]",NA\r\n\r\nx?,[no list,null\r\n'.encode())
    frame = files.read_rows(spec_of(), path, required=["question", "references", "candidate"])
    assert frame["references"].tolist() == [["1,5 m", "2"], ["[no list"]]
    # Words that other readers take for nulls.
    assert frame["candidate"].tolist() == ["NA", "null"]


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_texts_of_a_megabyte_and_nul_characters_pass_through(tmp_path: Path, ending: str) -> None:
    candidate = "ü\0" + "x" * 1_000_000
    rows = [ROWS[0] | {"candidate": candidate}] * 2
    assert files.read_rows(spec_of(), write(tmp_path / f"answers.{ending}", rows))["candidate"].tolist() == [candidate] * 2


@pytest.mark.parametrize(
    ("cell", "meant"),
    [
        (1, 1.0),
        (0, 0.0),
        (True, 1.0),
        (False, 0.0),
        (0.25, 0.25),
        ("1", 1.0),
        (" 0.5 ", 0.5),
        ("TRUE", 1.0),
        ("incorrect", 0.0),
        ("Correct", 1.0),
        ("yes", 1.0),
        ("no", 0.0),
        ("", None),
        (None, None),
        (math.nan, None),
        ("NaN", None),
        ("null", None),
    ],
)
def test_what_a_label_may_look_like(cell: Any, meant: float | None) -> None:
    assert values.parse_label(cell) == meant


@pytest.mark.parametrize("cell", [2, -1, 1.01, "maybe", "5", [1], {"label": 1}, math.inf, "inf", 10**400])
def test_what_no_label_looks_like(cell: Any) -> None:
    with pytest.raises(values.UnreadableCell, match="give 1 or 0"):
        values.parse_label(cell)


def test_a_half_is_no_verdict() -> None:
    assert [values.round_label(label) for label in (0, 0.49, 0.5, 0.51, 1, None)] == [0.0, 0.0, None, 1.0, 1.0, None]


@given(st.floats(0, 1))
def test_a_share_reads_the_same_from_its_text(share: float) -> None:
    assert values.parse_label(str(share)) == values.parse_label(share) == share


@pytest.mark.parametrize(
    ("cell", "meant"),
    [
        (["a", " b ", "", None], ["a", "b"]),
        ("a; b", ["a; b"]),
        (18, ["18"]),
        (18.0, ["18"]),
        (0.5, ["0.5"]),
        (["1", 2.0], ["1", "2"]),
        ('["not JSON here"]', ['["not JSON here"]']),
        ("", []),
        (None, []),
    ],
)
def test_what_references_may_look_like(cell: Any, meant: list[str]) -> None:
    assert values.parse_texts(cell) == meant


@pytest.mark.parametrize(
    ("cell", "wanted", "same"),
    [
        (None, None, True),
        (math.nan, None, True),
        ("", None, False),
        (None, "x", False),
        ("x", "x", True),
        ("X", "x", False),
        (1, 1, True),
        (1.0, 1, True),
        ("1", 1, True),
        ("1.0", 1, True),
        ("x", 1, False),
        ("True", True, True),
        ("true", False, False),
        (True, True, True),
        ("1", "1", True),
        (1, "1", False),
    ],
)
def test_filter_values(cell: Any, wanted: Any, same: bool) -> None:
    assert values.matches_filter(cell, wanted) is same


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ({}, 4),
        ({"split": "test"}, 2),
        ({"split": ["test", "dev"]}, 3),
        ({"split": None}, 1),
        ({"split": [None, "dev"]}, 2),
        ({"split": "test", "turn": 2}, 1),
    ],
)
@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl"])
def test_where_keeps_rows(tmp_path: Path, ending: str, where: dict[str, Any], kept: int) -> None:
    marks = [("test", 1), ("test", 2), ("dev", 1), (None, 1)]
    path = write(tmp_path / f"answers.{ending}", [ROWS[0] | {"split": split, "turn": turn} for split, turn in marks])
    assert len(files.read_rows(spec_of(where=where), path)) == kept
    assert len(files.read_rows(spec_of(), path, where)) == kept


def test_columns_are_mapped_and_only_those_needed_must_be_there(tmp_path: Path) -> None:
    path = write(tmp_path / "answers.jsonl", [{"q": "Who?", "gold": "I", "grade": "yes", "opts": ["I", 2]}])
    spec = spec_of(columns={"question": "q", "references": "gold", "label": "grade", "choices": "opts"})
    frame = files.read_rows(spec, path, required=["question", "references", "label", "choices"], optional=["candidate"])
    assert frame.to_dict("records") == [
        {"question": "Who?\n(A) I\n(B) 2", "references": ["A", "I"], "label": 1.0, "choices": ["I", "2"]}
    ]


def test_rows_of_one_model(tmp_path: Path) -> None:
    path = write(tmp_path / "answers.parquet", [*ROWS, ROWS[0] | {"model": " a "}])
    assert len(files.read_rows(spec_of(), path, model="a")) == 3
    assert len(files.read_rows(spec_of(), path, model="*")) == len(ROWS) + 1
    assert files.read_rows(spec_of(), path, model="nobody").empty
    assert files.distinct_models(Import(path="unused"), path) == ["a", "b"]
    assert files.distinct_models(Import(path="unused", where={"label": 0}), path) == ["b"]


def row(**cells: Any) -> dict[str, Any]:
    return ROWS[0] | cells


@pytest.mark.parametrize(
    ("name", "content", "entry", "says"),
    [
        ("x.parquet", [], {}, "the file has no rows"),
        ("x.csv", "question,references,candidate,model,label\n", {}, "the file has no rows"),
        ("x.csv", "", {}, "the file has no rows"),
        ("x.jsonl", "\n\n", {}, "the file has no rows"),
        ("x.parquet", "question,references\n", {}, "not a readable parquet file"),
        ("x.csv", "question,references\nКто это был такой?,1\n".encode("cp1251"), {}, "not UTF-8 text"),
        ("x.txt", "question\n", {}, "unknown file format; give a parquet, CSV or JSON file"),
        ("x.csv", b"PK\x03\x04\x14\0", {}, "not a readable csv file: File is not a zip file"),
        ("x.csv", 'question,references\n"open,1\n', {}, "broken CSV near line 2"),
        ("x.csv", "question,references\na,b,c\n", {}, "line 2 has 3 cells and the header 2"),
        ("x.csv", "question,question\na,b\n", {}, "the column 'question' occurs 2 times"),
        ("x.jsonl", '{"question": "a"}\n{"question": \n', {}, "line 2 is not JSON (Expecting value)"),
        ("x.jsonl", '["question"]\n', {}, "line 1 is a JSON list; write one JSON object per line"),
        ("x.jsonl", "[" * 100_000, {}, "line 1 is not JSON"),
        (
            "x.jsonl",
            [{"question": "a", "answer": "b"}],
            {},
            "no column 'references' for the references; available: 'question', 'answer'; "
            "set the right one in imports.<name>.columns.references",
        ),
        ("x.jsonl", [row()], {"columns": {"candidate": "output"}}, "no column 'output' for the candidate"),
        ("x.jsonl", [row()], {"columns": {"id": "uid"}}, "no column 'uid' for the id"),
        (
            "x.jsonl",
            [row(id="é"), row(id="b"), row(id="é")],
            {"columns": {"id": "id"}},
            "the id 'é' occurs at line 1 and again at line 3",
        ),
        ("x.parquet", [row(id=7), row(id=7)], {"columns": {"id": "id"}}, "the id '7' occurs at row 1 and again at row 2"),
        ("x.jsonl", [row()], {"where": {"split": "test"}}, "no column 'split' to filter by; available: 'question'"),
        (
            "x.jsonl",
            [row(split="dev")],
            {"where": {"split": "test"}},
            "no row is left where 'split' is 'test'; the column holds 'dev'",
        ),
        (
            "x.jsonl",
            [row(), row(references=[" "])],
            {},
            "line 2: column 'references' (references) contains no text; give at least one",
        ),
        ("x.parquet", [row(), row(question=None)], {}, "row 2: column 'question' (question) is empty"),
        ("x.jsonl", [row(model="")], {}, "line 1: column 'model' (model) is empty"),
        ("x.jsonl", [row(candidate=["a", "b"])], {}, "line 1: column 'candidate' (candidate) is ['a', 'b']; give a text"),
        ("x.jsonl", [row(label="perhaps")], {}, "line 1: column 'label' (label) is 'perhaps'; give 1 or 0"),
        ("x.csv", "question,references,candidate,model,label\nq,r,c,m,7\n", {}, "row 1: column 'label' (label) is '7'"),
        (
            "x.jsonl",
            [row(candidate="ab\ud83d")],
            {},
            "line 1: column 'candidate' (candidate) has a lone surrogate (half a character) at position 2",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line(tmp_path: Path, name: str, content: Any, entry: dict[str, Any], says: str) -> None:
    path = tmp_path / name
    if isinstance(content, list) and content:
        write(path, content)
    elif isinstance(content, list):
        pq.write_table(pa.Table.from_pylist(ROWS).slice(0, 0), path)
    else:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(InputError) as caught:
        files.read_rows(spec_of(**entry), path)
    assert str(path) in str(caught.value)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_or_a_folder(tmp_path: Path) -> None:
    for ending in ("parquet", "csv", "jsonl"):
        with pytest.raises(InputError, match="no such file"):
            files.read_rows(spec_of(), tmp_path / f"none.{ending}")
        with pytest.raises(InputError, match="is a folder; name a file in it"):
            files.read_rows(spec_of(format=ending), tmp_path)


def test_the_workflow_can_list_models_without_the_heavy_libraries(tmp_path: Path) -> None:
    path = write(tmp_path / "answers.parquet", ROWS)
    code = (
        "import sys; from pathlib import Path; from bert_judge.config import Import\n"
        "from bert_judge.importers import files\n"
        f"assert files.distinct_models(Import(path='x'), Path({str(path)!r})) == ['a', 'b']\n"
        "print([name for name in ('torch', 'transformers') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


# --- the part of a file that is a task ---


def task_spec(questions: tuple[float, float] = (0.0, 1.0), where: dict[str, Any] | None = None, **entry: Any) -> dict[str, Any]:
    return {"task": "t", "part": {"where": where or {}, "question_split": list(questions)}, "import": spec_of(**entry)}


def test_parts_of_the_questions_are_disjoint_and_complete(tmp_path: Path) -> None:
    rows = [row(question=f"How many are {number}?\n(A) {option}\n(B) none") for number in range(200) for option in ("one", "two")]
    path = write(tmp_path / "answers.jsonl", rows)
    edges = [0, 0.3, 0.31, 0.8, 1]
    parts = [set(files.read_task_rows(task_spec(part), path)["question"]) for part in pairwise(edges)]
    assert set.union(*parts) == {r["question"] for r in rows}
    assert sum(map(len, parts)) == len(rows)
    # Both forms of a question fall on the same side.
    assert all(len({tables.question_stem(q) for q in part}) * 2 == len(part) for part in parts)
    assert 40 < len(parts[0]) / 2 < 80


def test_attempts_are_numbered_in_the_order_of_the_file(tmp_path: Path) -> None:
    rows = [row(candidate=text) for text in ("first", "second", "second")]
    rows.insert(1, row(question="Else?", candidate="other"))
    found = files.read_task_rows(task_spec(), write(tmp_path / "answers.jsonl", rows), ["candidate"], model="a")
    assert found[["candidate", "attempt"]].to_dict("split")["data"] == [["first", 0], ["other", 0], ["second", 1], ["second", 2]]
    assert found["sample_id"].nunique() == 2


def test_options_of_an_imported_task_are_lines_of_its_question(tmp_path: Path) -> None:
    path = write(tmp_path / "answers.jsonl", [row(question="Q?", references=1, choices=["Rome", "Paris"])])
    for required in ([], ["choices"], ["candidate"]):
        [[question, references]] = (
            files.read_task_rows(task_spec(columns={"choices": "choices"}), path, required)[["question", "references"]]
            .to_numpy()
            .tolist()
        )
        assert (question, references) == ("Q?\n(A) Rome\n(B) Paris", ["B", "Paris"])


@pytest.mark.real_data
@pytest.mark.skipif("BERT_JUDGE_DATA" not in os.environ, reason="needs the folder named by BERT_JUDGE_DATA")
@pytest.mark.parametrize(
    ("name", "rows", "questions", "models"),
    [("nq_open_human.parquet", 13_805, 2_762, 5), ("truthfulqa_human.parquet", 18_294, 817, 2)],
)
def test_real_files(name: str, rows: int, questions: int, models: int) -> None:
    path = Path(os.environ["BERT_JUDGE_DATA"], name)
    spec = task_spec(columns={"id": "id"})
    found = files.read_task_rows(spec, path, ["candidate", "label", "model"])
    assert (len(found), found["sample_id"].nunique(), found["model"].nunique()) == (rows, questions, models)
    assert found["label"].isin([0.0, 1.0]).all()
    by_model = [files.read_task_rows(spec, path, model=model) for model in files.distinct_models(Import(path=name), path)]
    assert sum(map(len, by_model)) == rows
    assert not any(part.duplicated(["sample_id", "attempt"]).any() for part in by_model)
