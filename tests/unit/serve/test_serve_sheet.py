"""Marks of the audit and rows of a run, as the page reads and writes them."""

from __future__ import annotations

import threading
from pathlib import Path

import pandas as pd
import pytest
from score_files import write_scores

from bert_judge.evaluation.audit import labels
from bert_judge.judges.protocol import Label
from bert_judge.report.audit_sheet import SheetRow, write_csv
from bert_judge.runtime.errors import InputError
from bert_judge.serve.page.answers_tab import ALL, INVALID, SPLIT, list_score_tables, read_page
from bert_judge.serve.page.audit_tab import AuditLabels
from bert_judge.serve.page.requests import explain, table

ROWS = [
    SheetRow("a" * 16, "=1+1?", ["2", "two"], "<b>two</b>\nlines"),
    SheetRow("b" * 16, 'Größe, "東京"?', ["'x'"], ""),
    SheetRow("c" * 16, "- a list", ["@x"], "'quoted"),
]


@pytest.fixture
def sheet(tmp_path: Path) -> AuditLabels:
    write_csv(ROWS, tmp_path / "sheet.csv")
    return AuditLabels(tmp_path / "sheet.csv", tmp_path / "labels.csv")


def test_the_sheet_is_read_as_it_was_drawn(sheet: AuditLabels) -> None:
    assert sheet.rows() == ROWS
    assert sheet.labels() == {}
    assert not sheet.labels_file.exists()


def test_marks_are_what_the_workflow_reads(sheet: AuditLabels) -> None:
    for identity, word in (("b" * 16, "correct"), ("a" * 16, "cannot tell"), ("b" * 16, "incorrect"), ("c" * 16, "correct")):
        sheet.set_label(identity, word)
    sheet.set_label("c" * 16, "")
    assert sheet.labels() == {"a" * 16: "cannot tell", "b" * 16: "incorrect"}
    found = labels.read_labels(sheet.labels_file)
    assert found["b" * 16] == 0.0 and set(found) == {"a" * 16, "b" * 16}


def test_a_filled_sheet_keeps_its_other_rows_and_columns(sheet: AuditLabels) -> None:
    sheet.labels_file.write_text('id,who,verdict,note\nold,Zoë,Correct ,"a, b"\n' + "a" * 16 + ",,,\n", encoding="utf-8-sig")
    sheet.set_label("a" * 16, "incorrect")
    sheet.set_label("b" * 16, "correct")
    frame = pd.read_csv(sheet.labels_file, dtype=str, keep_default_na=False)
    assert frame.to_dict("list") == {
        "id": ["old", "a" * 16, "b" * 16],
        "who": ["Zoë", "", ""],
        "verdict": ["Correct ", "incorrect", "correct"],
        "note": ["a, b", "", ""],
    }
    assert sheet.labels()["old"] == "correct"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", "not a CSV file"),
        (b"id,said\nx,correct\n", "no column 'verdict'"),
        (b"id,verdict\nx,correct\nx,incorrect\n", "is duplicated"),
        (b"id,verdict\nx,maybe\n", "'maybe'"),
        (b"id,verdict\n\xff,correct\n", "UTF-8"),
        (b'id,verdict\nx,"correct\n', "not a CSV file"),
    ],
)
def test_a_file_that_is_no_sheet_is_told_and_left_alone(sheet: AuditLabels, content: bytes, line: str) -> None:
    sheet.labels_file.write_bytes(content)
    with pytest.raises(InputError, match=line):
        sheet.set_label("a" * 16, "correct")
    assert sheet.labels_file.read_bytes() == content


def test_marks_of_several_people_at_once_are_all_kept(sheet: AuditLabels) -> None:
    names = [f"{n:016x}" for n in range(12)]
    threads = [threading.Thread(target=sheet.set_label, args=(name, "correct")) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(sheet.labels()) == set(names)


def test_no_sheet_says_how_to_draw_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="bert-judge run CONFIG audit"):
        AuditLabels(tmp_path / "none.csv", tmp_path / "labels.csv").rows()
    blocked = AuditLabels(tmp_path / "none.csv", tmp_path / "file" / "labels.csv")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        blocked.set_label("a", "correct")


def test_a_run_is_read_a_screen_at_a_time(tmp_path: Path) -> None:
    texts = [f"Answer {n}" for n in range(30)]
    write_scores(tmp_path / "scores", "ada", "sums", {"gold": "cix" * 10, "bert": "cci" * 10}, candidates=texts)
    assert list_score_tables(tmp_path) == {"ada": ["sums"]}
    first, second = (read_page(tmp_path, "ada", "sums", ALL, "", start) for start in (0, 20))
    assert [row.candidate for row in (*first.rows, *second.rows)] == texts
    assert (first.total, first.judges) == (30, ["gold", "bert"])
    assert first.rows[2].verdicts == {"gold": ("invalid", None), "bert": ("incorrect", 0.1)}
    assert read_page(tmp_path, "ada", "sums", SPLIT, "", 0).total == 10
    assert read_page(tmp_path, "ada", "sums", INVALID, "", 0).total == 10
    assert [row.candidate for row in read_page(tmp_path, "ada", "sums", SPLIT, "ANSWER 1", 0).rows] == [
        f"Answer {n}" for n in (1, 10, 13, 16, 19)
    ]
    assert read_page(tmp_path, "ada", "sums", ALL, "Reference 7", 0).total == 1
    for model, task in (("bob", "sums"), ("ada", "../../secret"), ("..", "x")):
        with pytest.raises(InputError, match="no such table"):
            read_page(tmp_path, model, task, ALL, "", 0)


@pytest.mark.parametrize(
    ("label", "reference", "text"),
    [
        (Label("correct", 1.0, "boxed", "7"), None, "boxed: “7”"),
        (Label("correct", 1.0, "final_answer", "Paris"), "Paris", "final_answer: “Paris”; closest reference: “Paris”"),
        (
            Label("correct", 0.9, None, '{"raw_score": 0.75}', True, 57),
            None,
            "the encoder read 57 tokens and gave 0.750 before calibration; input truncated",
        ),
        (Label("incorrect", 0.1, "decided by features (early exit)", prompt_tokens=0), None, "decided by features (early exit)"),
        (Label("invalid", None, "no answer found by boxed"), None, "no answer found by boxed"),
        (Label("incorrect", 0.0, raw="I think [[B]]", completion_tokens=9), None, "“I think [[B]]”"),
    ],
)
def test_every_verdict_is_explained(label: Label, reference: str | None, text: str) -> None:
    assert explain(label, reference) == text


def test_texts_of_a_table_are_escaped() -> None:
    assert "<td>&lt;b&gt;</td>" in table(["answer"], [["<b>"]])
