"""`bert-judge label`, and judges of a configuration in `score`: verdicts of prompted models on a stranger's file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers import tiny_models
from helpers.chat_server import ChatServer, serving
from helpers.commands import read, run, write

from bert_judge.candidates.generators.server_features import PROBE
from bert_judge.importers import column_names

ROWS: list[dict[str, Any]] = [
    {"question": "Capital of France?", "gold": "Paris", "response": "It is Paris.", "n": 1},
    {"question": "Größe?", "gold": "大", "response": "大", "n": 2},
    {"question": "Empty?", "gold": "x", "response": None, "n": 3},
]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    with serving() as made:
        made.reply = {"message": {"content": "correct"}}
        yield made


@pytest.fixture(autouse=True)
def nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    return write(tmp_path / "answers.csv", ROWS)


def test_a_model_behind_a_server_labels_a_file(answers: Path, tmp_path: Path, server: ChatServer) -> None:
    command = ("label", answers, "--teacher", "big", "--server", server.url, "--no-reasoning")
    done = run(*command)
    assert done.exit_code == 0, done.output
    assert "next: bert-judge train" in done.stderr.splitlines()[-1]
    before, after = read(answers), read(tmp_path / "answers.labelled.csv")
    assert [{name: row[name] for name in old} for old, row in zip(before, after, strict=True)] == before
    assert [row["label_verdict"] for row in after] == ["correct", "correct", "incorrect"]
    assert [row["label_score"] for row in after] == ["1.0", "1.0", "0.0"] and after[2]["label_reason"] == "empty answer"
    # An empty answer needs no model; and nothing is asked twice.
    questions = [body for body in server.seen if body["messages"][-1]["content"] != PROBE.prompt]
    assert len(questions) == 2 and questions[0]["model"] == "big"
    num_requests = len(server.seen)
    assert run(*command, "--force").exit_code == 0 and len(server.seen) == num_requests
    found = column_names.detect_columns(answers, list(after[0]), {}, ("label",), with_label=True)
    assert found["label"] == "label_score"


def test_a_server_that_is_down_gives_no_label(answers: Path, tmp_path: Path, server: ChatServer) -> None:
    server.refuse = "400"
    done = run("label", answers, "--teacher", "big", "--server", server.url)
    # An empty answer is decided without the teacher and hides nothing.
    assert done.exit_code == 1 and "the teacher labelled no answer" in done.stderr.splitlines()[-1]
    assert [row["label_verdict"] for row in read(tmp_path / "answers.labelled.csv")][:2] == ["invalid", "invalid"]
    server.refuse = ""
    assert run("label", answers, "--teacher", "big", "--server", server.url, "--force", "--no-reasoning").exit_code == 0
    assert [row["label_score"] for row in read(tmp_path / "answers.labelled.csv")][:2] == ["1.0", "1.0"]


def test_a_model_on_this_machine_labels_a_file(answers: Path, tmp_path: Path) -> None:
    model = tiny_models.causal_lm(tmp_path / "model", window=4096)
    done = run("label", answers, "--teacher", model, "--no-reasoning", "-o", "out.csv")
    assert done.exit_code == 0, done.output
    assert {row["label_verdict"] for row in read(tmp_path / "out.csv")} <= {"correct", "incorrect"}


def config(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    return path


def test_score_takes_judges_of_a_configuration(answers: Path, tmp_path: Path, server: ChatServer) -> None:
    block = json.dumps({"generator": "openai", "model": "big", "base_url": server.url})
    # Judges alone are enough of a configuration.
    config(
        tmp_path / "judges.yaml",
        f"judges:\n  strict: {{kind: lexical, metric: exact_match}}\n  big: {{kind: llm, model: {block}, reasoning: false}}\n"
        "  people: {kind: imported}\n",
    )
    done = run("score", answers, "--judge", "judges.yaml:strict", "--judge", "judges.yaml:big", "--judge", "contains")
    assert done.exit_code == 0, done.output
    after = read(tmp_path / "answers.scored.csv")
    assert [row["strict_verdict"] for row in after] == ["incorrect", "correct", "incorrect"]
    assert [row["big_verdict"] for row in after] == ["correct", "correct", "incorrect"]
    assert "contains_verdict" in after[0]
    one = run("predict", "Paris", "-r", "Paris", "--judge", "judges.yaml:strict")
    assert one.stdout.startswith("correct")


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ("judges.yaml:nobody", "judges.yaml:nobody: the file has no such judge; choose one of: people, broken"),
        ("judges.yaml:broken", "judges.broken"),
        ("nothing.yaml:big", "nothing.yaml: no such file"),
        ("list.yaml:big", "a configuration is a mapping of keys"),
        ("nowhere", "judge of a configuration (FILE.yaml:NAME)"),
    ],
)
def test_judges_that_are_not_there(answers: Path, tmp_path: Path, told: str, says: str) -> None:
    config(tmp_path / "judges.yaml", "judges: {people: {kind: imported}, broken: {kind: lexical, metric: exact}}")
    config(tmp_path / "list.yaml", "- judges")
    done = run("score", answers, "--judge", told)
    assert done.exit_code == 1 and says in done.stderr, done.stderr
    assert not (tmp_path / "answers.scored.csv").exists()


def test_a_judge_that_only_a_run_has(answers: Path, tmp_path: Path) -> None:
    config(tmp_path / "judges.yaml", "judges: {people: {kind: imported}}")
    done = run("score", answers, "--judge", "judges.yaml:people")
    assert done.exit_code == 1 and "of kind imported, which only judges the answers of a run" in done.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "set --teacher MODEL"),
        (("--teacher", "b.yaml:c"), "b.yaml: no such file"),
        (("--teacher", "b.yaml:c", "--server", "http://localhost:1/v1"), "--server: the judge b.yaml:c has its server"),
        (("--teacher", "./nowhere"), "no such folder"),
        (("--teacher", "big", "--server", "localhost"), "base_url needs http:// or https://"),
    ],
)
def test_teachers_that_make_no_sense(answers: Path, tmp_path: Path, words: tuple[str, ...], says: str) -> None:
    done = run("label", answers, *words)
    assert done.exit_code == 1 and says in done.stderr, done.stderr
    assert not (tmp_path / "answers.labelled.csv").exists()
