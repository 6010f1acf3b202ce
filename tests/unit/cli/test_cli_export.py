"""`bert-judge export`: each form holds the accuracies and verdicts that it was made of, in the shape that its readers want."""

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
from framework_files import jsonl
from huggingface_hub.repocard_data import model_index_to_eval_results
from test_cli import SPEC, standings_row
from typer.testing import CliRunner, Result

from bert_judge import tables
from bert_judge.cli import app, export_files
from bert_judge.report.exporters import text_tables
from bert_judge.report.exporters.results import Result as Accuracy

ROWS = [
    {"id": "q1", "attempt": 0, "question": "a?", "references": ["a"], "candidate": "a", "model": "org/m", "task": "gsm8k_test"},
    {"id": "q1", "attempt": 1, "question": "a?", "references": ["a"], "candidate": "ä", "model": "org/m", "task": "gsm8k_test"},
    {"id": "q2", "attempt": 0, "question": "b?", "references": ["b"], "candidate": "", "model": "org/m", "task": "gsm8k_test"},
    {"id": "q1", "attempt": 0, "question": "a?", "references": ["a"], "candidate": "a", "model": "n_%", "task": "other"},
]
VERDICTS = [("correct", 0.9), ("incorrect", 0.2), ("invalid", None), ("correct", 1.0)]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


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
        app(["export", source, "--to", form, "-o", f"{output}.{form}", "--teacher", "big"])
    except SystemExit as end:
        assert not end.code
print(*(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="a process's peak is read from /proc")
@pytest.mark.parametrize(
    "forms",
    # Forms of accuracies read the file in the same way.
    [(*text_tables.FORMS, *export_files.PER_MODEL), *((form,) for form in export_files.LINES)],
    ids=["accuracies", *export_files.LINES],
)
def test_memory_does_not_grow_with_the_file(tmp_path: Path, forms: tuple[str, ...]) -> None:
    peaks = []
    for rows in (2_000, 22_000):
        verdict = {"verdict": "correct", "score": 1.0, "reason": ""}
        answers = ({**ROWS[0], "id": str(n), "question": f"{n}: {'a long question ' * 20}", **verdict} for n in range(rows))
        path = jsonl(tmp_path / f"{rows}.jsonl", list(answers))
        command = [sys.executable, "-c", EXPORT, str(path), str(tmp_path / f"{rows}"), *forms]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        assert all((tmp_path / f"{rows}.{form}").exists() for form in forms)
        peaks.append(int(done.stdout.split()[-1]))
    # Kilobytes; the questions of the rows that the larger file has more take 6,400 as bytes, and twice that as Python objects.
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


def test_the_standings_of_a_run_without_gold_or_of_the_judge_that_is_named(tmp_path: Path, standings: Path) -> None:
    table = list(csv.DictReader(io.StringIO(exported(tmp_path, standings, "csv").read_text("utf-8"))))
    assert [(row["model"], row["task"], row["judge"], row["accuracy"]) for row in table] == [("m", "nq", "exact", "0.5")]
    again = exported(tmp_path, standings, "markdown", "--judge", "human").read_text("utf-8")
    assert again == "| model | nq |\n| --- | ---: |\n| m | 75.0 [73.0, 77.0] |\n"
    refused = run("export", standings, "--to", "csv", "-o", tmp_path / "x.csv", "--judge", "nobody")
    assert refused.stderr == f"error: {standings}: no judge 'nobody' in it; there are: exact, human\n"


def test_a_scored_file_is_counted_by_model_and_task(tmp_path: Path, scored: Path) -> None:
    [low, high] = list(csv.DictReader(io.StringIO(exported(tmp_path, scored, "csv").read_text("utf-8"))))
    assert (low["model"], low["accuracy"], low["n"], low["questions"], low["invalid"]) == ("n_%", "1.0", "1", "1", "0.0")
    assert (high["model"], high["accuracy"], high["n"], high["questions"]) == ("org/m", "0.5", "3", "1")
    assert float(high["invalid"]) == pytest.approx(1 / 3)


def test_latex_is_escaped_and_the_best_model_stands_on_top(tmp_path: Path, scored: Path) -> None:
    lines = exported(tmp_path, scored, "latex").read_text("utf-8").splitlines()
    assert lines[2] == r"model & other & gsm8k\_test \\"
    assert lines[4].startswith(r"n\_\% & 100.0 [") and lines[4].endswith(r" & -- \\")
    assert lines[5].startswith(r"org/m & -- & 50.0 [")


def test_a_bar_in_a_name_does_not_end_a_cell_of_markdown() -> None:
    result = Accuracy("a|b", "t", "j", 0.5, 0.4, 0.6, 0.0, 10, 10)
    assert text_tables.text([result], "markdown").splitlines()[2] == r"| a\|b | 50.0 [40.0, 60.0] |"


def test_lm_eval_results_have_the_harness_own_keys(tmp_path: Path, scored: Path) -> None:
    [path] = exported(tmp_path, scored, "lm_eval").glob("org__m/results_*.json")
    document = json.loads(path.read_text("utf-8"))
    scores = document["results"]["gsm8k_test"]
    assert scores["acc,judge"] == 0.5 and 0 < scores["acc_stderr,judge"] < 0.5 and scores["alias"] == "gsm8k_test"
    assert document["n-samples"]["gsm8k_test"] == {"original": 3, "effective": 3}
    assert document["higher_is_better"] == {"gsm8k_test": {"acc": True}} and document["model_name"] == "org/m"


def test_a_model_index_is_what_the_hub_reads(tmp_path: Path, scored: Path) -> None:
    path = exported(tmp_path, scored, "model_index") / "org__m" / "model-index.yaml"
    name, [result] = model_index_to_eval_results(yaml.safe_load(path.read_text("utf-8"))["model-index"])
    assert (name, result.metric_value, result.metric_type, result.dataset_type) == ("org/m", 50.0, "accuracy", "openai/gsm8k")


def test_eval_results_need_a_data_set_of_the_hub(tmp_path: Path, scored: Path) -> None:
    refused = run("export", scored, "--to", "eval_results", "-o", tmp_path / "out")
    assert refused.exit_code == 1 and "n_%: no data set of the hub is known for other; say --dataset" in refused.stderr
    assert not (tmp_path / "out").exists()
    folder = exported(tmp_path, scored, "eval_results", "--dataset", "other=me/other")
    [entry] = yaml.safe_load((folder / "n_%" / ".eval_results" / "bert_judge.yaml").read_text("utf-8"))
    assert entry["dataset"] == {"id": "me/other", "task_id": "other"} and entry["value"] == 100.0


# What the schema of version 0.2.2 requires.
AGGREGATE = {
    "schema_version",
    "evaluation_id",
    "retrieved_timestamp",
    "source_metadata",
    "model_info",
    "eval_library",
    "evaluation_results",
}
INSTANCE = {"schema_version", "evaluation_id", "model_id", "evaluation_name", "sample_id", "interaction_type", "input", "output"}


def test_every_eval_ever_has_what_its_schema_requires(tmp_path: Path, scored: Path) -> None:
    [path] = exported(tmp_path, scored, "every_eval_ever").glob("org__m/*.json")
    document = json.loads(path.read_text("utf-8"))
    assert set(document) == AGGREGATE and {"name", "id"} <= set(document["model_info"])
    [result] = document["evaluation_results"]
    assert {"evaluation_name", "source_data", "metric_config", "score_details"} <= set(result)
    assert result["source_data"] == {"dataset_name": "gsm8k_test", "source_type": "hf_dataset", "hf_repo": "openai/gsm8k"}
    assert result["score_details"]["score"] == 0.5 and result["score_details"]["uncertainty"]["num_samples"] == 3
    lines = [json.loads(line) for line in exported(tmp_path, scored, "every_eval_ever_instances").read_text("utf-8").splitlines()]
    # The invalid one has no score to give.
    assert [line["evaluation"] for line in lines] == [
        {"score": 0.9, "is_correct": True},
        {"score": 0.2, "is_correct": False},
        {"score": 1.0, "is_correct": True},
    ]
    assert all(set(line) >= {*INSTANCE, "answer_attribution", "evaluation"} for line in lines)
    assert lines[0]["evaluation_result_id"] == result["evaluation_result_id"]
    assert lines[0]["evaluation_id"] == document["evaluation_id"]
    assert lines[0]["sample_hash"] == lines[1]["sample_hash"] == lines[2]["sample_hash"]


def test_scores_for_inspect_leave_the_undecided_unscored(tmp_path: Path, scored: Path) -> None:
    lines = [json.loads(line) for line in exported(tmp_path, scored, "inspect").read_text("utf-8").splitlines()]
    assert [(line["id"], line["epoch"], line["value"]) for line in lines] == [("q1", 1, "C"), ("q1", 2, "I"), ("q1", 1, "C")]
    nameless = jsonl(tmp_path / "n.jsonl", [{"references": "a", "candidate": "a", "verdict": "correct", "score": 1, "reason": ""}])
    assert "no column 'id' with the samples' ids" in run("export", nameless, "--to", "inspect", "-o", tmp_path / "x").stderr


def test_answers_become_requests_for_a_teachers_verdicts(tmp_path: Path) -> None:
    answers = jsonl(tmp_path / "a.jsonl", [{"question": "ä?", "gold": "a", "response": "b"}] * 2)
    lines = [
        json.loads(line) for line in exported(tmp_path, answers, "openai_batch", "--teacher", "big").read_text("utf-8").splitlines()
    ]
    assert len({line["custom_id"] for line in lines}) == 2
    assert (lines[0]["method"], lines[0]["url"], lines[0]["body"]["model"]) == ("POST", "/v1/chat/completions", "big")
    text = lines[0]["body"]["messages"][0]["content"]
    assert "ä?" in text and "one word: correct or incorrect" in text
    assert "--teacher: none is named" in run("export", answers, "--to", "openai_batch", "-o", tmp_path / "x").stderr


@pytest.mark.parametrize(
    ("row", "arguments", "says"),
    [
        ({"verdict": "perhaps"}, [], "line 1: the verdict 'perhaps' is none of correct, incorrect, invalid"),
        ({"other": 1}, [], "no column 'verdict'; name a file that bert-judge score wrote"),
        ({"verdict": None}, [], "holds no verdict; score a file with answers"),
        ({"a_verdict": "correct", "b_verdict": "correct"}, [], "has verdicts of a, b; say --judge NAME"),
        ({"verdict": "correct"}, ["--to", "xml"], "--to xml: unknown; there are csv, markdown"),
        ({"verdict": "correct"}, ["--to", "lm_eval", "--dataset", "a=b"], "--dataset a=b: give TASK=OWNER/NAME"),
        ({"verdict": "correct"}, ["-o", "in.jsonl", "--force"], "in.jsonl: is the file that is read"),
        ({"verdict": "correct"}, ["-o", "there.csv"], "there.csv: is there already; add --force"),
    ],
)
def test_what_export_refuses_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: dict[str, Any], arguments: list[str], says: str
) -> None:
    monkeypatch.chdir(tmp_path)
    jsonl(tmp_path / "in.jsonl", [{"references": "a", "candidate": "a", **row}])
    (tmp_path / "there.csv").write_text("dear", "utf-8")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    result = run("export", "in.jsonl", "--to", "csv", "-o", "out.csv", *arguments)
    assert result.exit_code == 1 and says in result.stderr and result.stderr.count("\n") == 1
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_several_judges_of_a_scored_file_are_told_apart(tmp_path: Path) -> None:
    row = {"references": "a", "candidate": "a", "a_verdict": "correct", "a_score": 1.0, "b_verdict": "incorrect", "b_score": 0.0}
    source = jsonl(tmp_path / "in.jsonl", [row])
    for judge, share in (("a", "1.0"), ("b", "0.0")):
        [line] = csv.DictReader(io.StringIO(exported(tmp_path, source, "csv", "--judge", judge, "--force").read_text("utf-8")))
        assert (line["judge"], line["accuracy"]) == (judge, share)
