"""`bert-judge generate`: a model's answers to a stranger's questions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers import tiny_models
from helpers.chat_server import ChatServer, serving
from helpers.commands import read, run, write

from bert_judge.plan.configuration import parse

QUESTIONS: list[dict[str, Any]] = [{"problem": f"What is {n} + {n}? Größe", "answer": str(2 * n), "id": n} for n in range(5)]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ChatServer]:
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    with serving() as made:
        yield made


@pytest.fixture(autouse=True)
def nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_a_model_behind_a_server_answers_a_file(tmp_path: Path, server: ChatServer, ending: str) -> None:
    file = write(tmp_path / f"questions.{ending}", QUESTIONS)
    output = f"a.{ending}"
    done = run("generate", file, "-o", output, "--model", "org/big-7B", "--server", server.url, "--attempts", "2")
    assert done.exit_code == 0, done.output
    made = read(tmp_path / output)
    assert len(made) == 10 and {(row["model"], row["status"]) for row in made} == {("big-7B", "ok")}
    assert all(row["question"] in row["candidate"] for row in made)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([output, file.name])
    scored = run("score", output, "--judge", "contains")
    assert scored.exit_code == 0, scored.output
    assert len(read(tmp_path / f"a.scored.{ending}")) == 10


def test_what_failed_is_asked_again_and_nothing_else(tmp_path: Path, server: ChatServer) -> None:
    file = write(tmp_path / "q.jsonl", [QUESTIONS[0], QUESTIONS[1] | {"problem": "fail:400*1 Why?"}])
    command = ("generate", file, "-o", "a.parquet", "--model", "big", "--server", server.url)
    assert "1 failed, see the column failure; repeat with --force" in run(*command).stdout
    assert len(server.seen) == 2
    assert run(*command).exit_code == 1
    done = run(*command, "--force")
    assert done.exit_code == 0 and "failed" not in done.stdout and len(server.seen) == 3
    assert [row["status"] for row in read(tmp_path / "a.parquet")] == ["ok", "ok"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.parquet", "q.jsonl"]


def test_a_server_that_refuses_everything_is_an_error(tmp_path: Path, server: ChatServer) -> None:
    file = write(tmp_path / "q.jsonl", [row | {"problem": f"fail:400*9 {row['id']}"} for row in QUESTIONS])
    done = run("generate", file, "-o", "a.csv", "--model", "big", "--server", server.url)
    assert done.exit_code == 1 and "error: big: all requests failed; the first: " in done.stderr, done.output
    assert [row["status"] for row in read(tmp_path / "a.csv")] == ["error"] * 5


def test_a_model_on_this_machine_answers_a_file(tmp_path: Path) -> None:
    model = tiny_models.causal_lm(tmp_path / "tiny-model")
    file = write(tmp_path / "q.csv", QUESTIONS)
    done = run("generate", file, "-o", "a.parquet", "--model", model, "--max-new-tokens", "4", "--style", "soft")
    assert done.exit_code == 0, done.output
    assert [row["model"] for row in read(tmp_path / "a.parquet")] == ["tiny-model"] * 5


def test_the_configuration_that_it_stands_for(tmp_path: Path) -> None:
    file = write(tmp_path / "q.csv", QUESTIONS)
    done = run("generate", file, "-o", "a.parquet", "--model", "org/x", "--family", "math", "--style", "strict", "--show-config")
    config = parse(yaml.safe_load(done.stdout))
    assert (config.prompt_style, config.tasks.imported["answers"].family) == ("strict", "math")
    assert config.models["x"].model == "org/x"  # type: ignore[union-attr]
    assert not (tmp_path / "a.parquet").exists()


@pytest.mark.parametrize(
    ("rows", "words", "says"),
    [
        (QUESTIONS, ("-o", "a.txt"), "let its name end in"),
        (QUESTIONS, ("-o", "nowhere/a.parquet"), "its folder does not exist"),
        (QUESTIONS, ("-o", "a.parquet", "--backend", "magic"), "--backend magic: unknown backend"),
        (QUESTIONS, ("-o", "a.parquet", "--style", "loud"), "prompt_style"),
        (QUESTIONS, ("-o", "a.parquet", "--question", "asked"), "no column 'asked' for the question"),
        ([{"problem": "Why?"}], ("-o", "a.parquet"), "cannot tell which column holds the references"),
        ([{"problem": "Why?", "answer": None}], ("-o", "a.parquet"), "column 'answer' (references) contains no text"),
        ([], ("-o", "a.parquet"), "the file has no rows"),
    ],
)
def test_what_makes_no_sense(tmp_path: Path, rows: list[dict[str, Any]], words: tuple[str, ...], says: str) -> None:
    file = tmp_path / "q.csv"
    file.write_text("problem,answer\n", "utf-8")
    if rows:
        write(file, rows)
    done = run("generate", file, "--model", "big", "--server", "http://127.0.0.1:9/v1", *words)
    assert done.exit_code == 1 and says in done.stderr, done.stderr
    assert len([line for line in done.stderr.splitlines() if line.startswith("error: ")]) == 1
    assert sorted(path.name for path in tmp_path.iterdir() if path.suffix == ".parquet") == []
