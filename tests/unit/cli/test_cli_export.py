"""Test `bert-judge export`: the content of every format."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from helpers.commands import run
from helpers.framework_files import jsonl
from huggingface_hub.repocard_data import model_index_to_eval_results
from test_cli import SPEC, standings_row

from bert_judge import tables
from bert_judge.cli import export_files
from bert_judge.report.program_formats import accuracy_table
from bert_judge.report.results import AccuracyResult

ROWS = [
    {"id": "q1", "attempt": 0, "question": "a?", "references": ["a"], "candidate": "a", "model": "org/m", "task": "gsm8k_test"},
    {"id": "q1", "attempt": 1, "question": "a?", "references": ["a"], "candidate": "ä", "model": "org/m", "task": "gsm8k_test"},
    {"id": "q2", "attempt": 0, "question": "b?", "references": ["b"], "candidate": "", "model": "org/m", "task": "gsm8k_test"},
    {"id": "q1", "attempt": 0, "question": "a?", "references": ["a"], "candidate": "a", "model": "n_%", "task": "other"},
]
VERDICTS = [("correct", 0.9), ("incorrect", 0.2), ("invalid", None), ("correct", 1.0)]


@pytest.fixture
def scored(tmp_path: Path) -> Path:
    rows = [
        row | {"verdict": verdict, "score": score, "reason": "full_text"}
        for row, (verdict, score) in zip(ROWS, VERDICTS, strict=True)
    ]
    return jsonl(tmp_path / "scored.jsonl", [*rows, ROWS[0] | {"verdict": None, "score": None, "reason": None}])


# --- size ---

EXPORT = """
import sys
from bert_judge.cli import app
source, output, *forms = sys.argv[1:]
for form in forms:
    try:
        app(["export", source, "--to", form, "-o", f"{output}.{form}"])
    except SystemExit as end:
        assert not end.code
print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="a process's peak is read from /proc")
def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    peaks, forms = [], export_files.FORMATS
    for rows in (2_000, 22_000):
        verdict = {"verdict": "correct", "score": 1.0, "reason": ""}
        answers = ({**ROWS[0], "id": str(n), "question": f"{n}: {'a long question ' * 20}", **verdict} for n in range(rows))
        path = jsonl(tmp_path / f"{rows}.jsonl", list(answers))
        command = [sys.executable, "-c", EXPORT, str(path), str(tmp_path / f"{rows}"), *forms]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert all((tmp_path / f"{rows}.{form}").exists() for form in forms)
        peaks.append(int(done.stdout.split()[-1]))
    # Kilobytes; the questions of the additional rows take 6,400 as bytes, and twice that as Python objects.
    assert peaks[1] - peaks[0] < 4_000


@pytest.fixture
def standings(tmp_path: Path) -> Path:
    rows = [
        standings_row("m", judge, share, task=task) for task in ("all", "nq") for judge, share in (("exact", 0.5), ("human", 0.75))
    ]
    path = tmp_path / "standings.parquet"
    tables.write(pd.DataFrame(rows), path, tables.STANDINGS, SPEC)
    return path


def exported(tmp_path: Path, source: Path, form: str, *more: object) -> Path:
    result = run("export", source, "--to", form, "-o", tmp_path / f"out.{form}", *more)
    assert result.exit_code == 0, result.output
    return tmp_path / f"out.{form}"


def test_standings_of_the_only_other_judge_or_the_named_one(tmp_path: Path, standings: Path) -> None:
    table = list(csv.DictReader(io.StringIO(exported(tmp_path, standings, "csv").read_text("utf-8"))))
    assert [(row["model"], row["task"], row["judge"], row["accuracy"]) for row in table] == [("m", "nq", "exact", "0.5")]
    again = exported(tmp_path, standings, "markdown", "--judge", "human").read_text("utf-8")
    assert again.splitlines()[2] == "| m       | 75.0 [73.0, 77.0] |"
    rejected = run("export", standings, "--to", "csv", "-o", tmp_path / "x.csv", "--judge", "nobody")
    assert rejected.stderr == f"error: {standings}: no judge 'nobody'; available: exact, human\n"


def test_scored_file_is_aggregated_by_model_and_task(tmp_path: Path, scored: Path) -> None:
    [low, high] = list(csv.DictReader(io.StringIO(exported(tmp_path, scored, "csv").read_text("utf-8"))))
    assert (low["model"], low["accuracy"], low["n"], low["questions"], low["invalid"]) == ("n_%", "1.0", "1", "1", "0.0")
    assert (high["model"], high["n"], high["questions"]) == ("org/m", "3", "2")
    assert float(high["accuracy"]) == float(high["invalid"]) == pytest.approx(1 / 3)


def test_an_empty_name_is_a_missing_one(tmp_path: Path) -> None:
    source = jsonl(tmp_path / "scored.jsonl", [ROWS[0] | {"model": "", "task": "", "verdict": "correct", "score": 1.0}])
    header, _, row = exported(tmp_path, source, "markdown").read_text("utf-8").splitlines()
    assert [header.split("|")[2].strip(), row.split("|")[1].strip()] == ["answers", "model"]


def test_latex_is_escaped_and_sorted_by_accuracy(tmp_path: Path, scored: Path) -> None:
    lines = exported(tmp_path, scored, "latex").read_text("utf-8").splitlines()
    assert lines[2] == r"model & other & gsm8k\_test \\"
    assert lines[4].startswith(r"n\_\% & 100.0 [") and lines[4].endswith(r" & -- \\")
    assert lines[5].startswith(r"org/m & -- & 33.3 [")


def test_pipes_are_escaped_in_markdown() -> None:
    result = AccuracyResult(
        model="a|b",
        task="t",
        judge="j",
        accuracy=0.5,
        low=0.4,
        high=0.6,
        invalid=0.0,
        n=10,
        questions=10,
        attempted=1.0,
        accuracy_attempted=0.5,
        f_score=0.5,
    )
    assert accuracy_table([result], "markdown").splitlines()[2] == r"| a\|b    | 50.0 [40.0, 60.0] |"


def test_lm_eval_results_have_the_keys_of_the_harness(tmp_path: Path, scored: Path) -> None:
    [path] = exported(tmp_path, scored, "lm_eval").glob("org__m/results_*.json")
    document = json.loads(path.read_text("utf-8"))
    scores = document["results"]["gsm8k_test"]
    assert scores["acc,judge"] == pytest.approx(1 / 3) and 0 < scores["acc_stderr,judge"] < 0.5 and scores["alias"] == "gsm8k_test"
    assert document["n-samples"]["gsm8k_test"] == {"original": 3, "effective": 3}
    assert document["higher_is_better"] == {"gsm8k_test": {"acc": True}} and document["model_name"] == "org/m"


def test_model_index_is_readable_by_the_hub(tmp_path: Path, scored: Path) -> None:
    path = exported(tmp_path, scored, "model_index") / "org__m" / "model-index.yaml"
    name, [result] = model_index_to_eval_results(yaml.safe_load(path.read_text("utf-8"))["model-index"])
    assert (name, result.metric_value, result.metric_type, result.dataset_type) == ("org/m", 33.33, "accuracy", "openai/gsm8k")


def test_eval_results_need_a_hub_dataset(tmp_path: Path, scored: Path) -> None:
    rejected = run("export", scored, "--to", "eval_results", "-o", tmp_path / "out")
    assert rejected.exit_code == 1 and "n_%: no hub dataset known for other; add --dataset" in rejected.stderr
    assert not (tmp_path / "out").exists()
    folder = exported(tmp_path, scored, "eval_results", "--dataset", "other=me/other")
    [entry] = yaml.safe_load((folder / "n_%" / ".eval_results" / "bert_judge.yaml").read_text("utf-8"))
    assert entry["dataset"] == {"id": "me/other", "task_id": "other"} and entry["value"] == 100.0


def test_inspect_scores_leave_out_invalid_verdicts(tmp_path: Path, scored: Path) -> None:
    lines = [json.loads(line) for line in exported(tmp_path, scored, "inspect").read_text("utf-8").splitlines()]
    assert [(line["id"], line["epoch"], line["value"]) for line in lines] == [("q1", 1, "C"), ("q1", 2, "I"), ("q1", 1, "C")]
    without_id = jsonl(
        tmp_path / "n.jsonl", [{"references": "a", "candidate": "a", "verdict": "correct", "score": 1, "reason": ""}]
    )
    assert "no column 'id' with sample ids" in run("export", without_id, "--to", "inspect", "-o", tmp_path / "x").stderr


@pytest.mark.parametrize(
    ("row", "arguments", "message"),
    [
        ({"verdict": "perhaps"}, [], "line 1: unknown verdict 'perhaps'; expected one of correct, incorrect, invalid"),
        ({"other": 1}, [], "no column 'verdict'; name a file that bert-judge score wrote"),
        ({"verdict": None}, [], "no verdict in it; score a file with answers"),
        (
            {"a_verdict": "correct", "b_verdict": "correct"},
            [],
            "several judges (a, b); choose one with --judge NAME",
        ),
        ({"verdict": "correct"}, ["--to", "xml"], "--to xml: unknown; choose one of markdown, csv"),
        ({"verdict": "correct"}, ["--to", "lm_eval", "--dataset", "a=b"], "--dataset a=b: expected TASK=OWNER/NAME"),
        ({"verdict": "correct"}, ["-o", "in.jsonl", "--force"], "in.jsonl: is the input file"),
        ({"verdict": "correct"}, ["-o", "there.csv"], "there.csv: already exists; add --force"),
    ],
)
def test_invalid_input_is_rejected_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: dict[str, Any], arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    jsonl(tmp_path / "in.jsonl", [{"references": "a", "candidate": "a", **row}])
    (tmp_path / "there.csv").write_text("old", "utf-8")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    result = run("export", "in.jsonl", "--to", "csv", "-o", "out.csv", *arguments)
    assert result.exit_code == 1 and message in result.stderr and result.stderr.count("\n") == 1
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_one_of_several_judges_can_be_selected(tmp_path: Path) -> None:
    row = {"references": "a", "candidate": "a", "a_verdict": "correct", "a_score": 1.0, "b_verdict": "incorrect", "b_score": 0.0}
    source = jsonl(tmp_path / "in.jsonl", [row])
    for judge, share in (("a", "1.0"), ("b", "0.0")):
        [line] = csv.DictReader(io.StringIO(exported(tmp_path, source, "csv", "--judge", judge, "--force").read_text("utf-8")))
        assert (line["judge"], line["accuracy"]) == (judge, share)
