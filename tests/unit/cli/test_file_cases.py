"""Files of public bug reports, a folder per kind, beside the folder of real data: each is scored or imported without a lost row."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bert_judge.cli import app

CASES = Path(os.environ.get("BERT_JUDGE_DATA", "none")).parent / "cases"
# Kinds whose files are scored with `contains`, and the accuracy that each file has; others have 100%.
NUMBERS = ("03", "19", "20", "21", "22", "23", "24", "25", "26", "27")
HALF = {"semicolon.csv", "tab.csv", "tab.tsv", "sepline.csv", "utf16.csv", "list.json", "lines.json", "rows.jsonl.gz"}
WRONG = {"samples_gsm8k_2026-02-04T04-05-06.123456.jsonl"}
FILES = [
    path.relative_to(CASES)
    for path in sorted(CASES.rglob("*"))
    if path.is_file()
    and path.relative_to(CASES).parts[0].startswith(NUMBERS)
    and path.name != "README.md"
    and ".scored" not in path.name
    and not path.name.startswith("results_")
]


@pytest.mark.real_data
@pytest.mark.skipif(not FILES, reason="needs the folder `cases` beside the folder named by BERT_JUDGE_DATA")
@pytest.mark.parametrize("file", FILES, ids=str)
def test_a_file_of_a_bug_report_is_scored_rightly(tmp_path: Path, file: Path) -> None:
    folder = tmp_path / file.parent
    shutil.copytree(CASES / file.parent, folder)
    result = CliRunner().invoke(app, ["score", str(folder / file.name), "--judge", "contains", "--force"])
    assert result.exit_code == 0, result.output
    accuracy = " 50.0 [" if file.name in HALF else " 0.0 [" if file.name in WRONG else " 100.0 ["
    assert accuracy in result.stdout and "invalid:" not in result.stdout
