"""Requests written to a file and responses taken in: the next run asks only for what is missing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner, Result

from bert_judge import plan, tables
from bert_judge.candidates.stage import answer_cache, generate_candidates
from bert_judge.cli import app
from bert_judge.runtime import resume

CONFIG: dict[str, Any] = {
    "models": {
        "served": {"generator": "openai", "model": "m", "attempts": 2, "temperature": 0.5},
        "made": {"generator": "simulated", "p_correct": 0.5},
    },
    "tasks": {"test": ["facts_test"]},
    "judges": {"strict": {"kind": "lexical", "metric": "exact_match"}},
    "scorers": ["strict"],
}
NO_RESPONSE = "not a response with a custom_id; name the file of responses"
QUESTIONS = [f"Größe {number}?" for number in range(5)]


@pytest.fixture(autouse=True)
def run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a configuration and the table of its task."""
    monkeypatch.chdir(tmp_path)
    Path("config.yaml").write_text(yaml.safe_dump(CONFIG))
    frame = pd.DataFrame({"sample_id": [tables.sample_id("facts_test", q, ["r"]) for q in QUESTIONS], "question": QUESTIONS})
    frame = frame.assign(references=[["r"]] * 5, choices=None, answer_kind="text")
    tables.write(frame, "results/tasks/facts_test.parquet", tables.TASK, {})
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments[:1], arguments[1], "facts_test", *arguments[2:]])


def written() -> list[dict[str, Any]]:
    result = run("requests", "served")
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def response(call: dict[str, Any], **change: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": f"to {call['body']['messages'][0]['content']} {call['body']['seed']}"}
    body = {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}
    return {"custom_id": call["custom_id"], "response": {"status_code": 200, "body": body}, "error": None, **change}


def take(*lines: object) -> Result:
    Path("responses.jsonl").write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), "utf-8")
    return run("responses", "served", "responses.jsonl")


def test_requests_and_responses() -> None:
    calls = written()
    assert len({call["custom_id"] for call in calls}) == len(calls) == 10
    assert {call["url"] for call in calls} == {"/v1/chat/completions"}
    assert [call["body"]["messages"][0]["content"] for call in calls] == [q for q in QUESTIONS for _ in range(2)]
    failed = [
        response(calls[0], response={"status_code": 500, "body": {"error": "x"}}),
        response(calls[1], response=None, error={"code": "expired"}),
        response(calls[2], response={"status_code": 200, "body": {}}),
        response(calls[3], custom_id="of another batch"),
    ]
    result = take(*failed, *map(response, reversed(calls[4:])))
    assert result.exit_code == 0, result.output
    expected = "6 answers of served to facts_test, 3 failed, 1 for unknown requests; 4 of 10 are missing\n"
    assert result.stdout == expected
    assert [call["custom_id"] for call in written()] == [call["custom_id"] for call in calls[:4]]
    assert take(*map(response, calls[:4])).stdout.endswith("; 0 of 10 are missing\n")
    assert written() == []


def test_the_next_run_finds_the_answers() -> None:
    calls = written()
    take(*map(response, calls))
    spec = plan.build_plan(yaml.safe_load(Path("config.yaml").read_text())).candidates_spec("served", "facts_test")
    cache = answer_cache(spec, resume.store_folder("served"), lambda: pytest.fail("asked"))
    generate_candidates(spec, "results/tasks/facts_test.parquet", "c.parquet", cache)
    frame = tables.read("c.parquet", tables.CANDIDATES)
    assert frame["candidate"].tolist() == [f"to {c['body']['messages'][0]['content']} {c['body']['seed']}" for c in calls]
    assert frame["completion_tokens"].unique().tolist() == [4]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["requests", "made"], "error: made: not a model behind a server; available: served\n"),
        (["requests", "who"], "error: who: not a model behind a server; available: served\n"),
        (["responses", "served", "none.jsonl"], "error: none.jsonl: cannot be read: No such file or directory\n"),
        (
            ["responses", "served", "config.yaml"],
            "error: config.yaml, line 1: not a response with a custom_id; name the file of responses\n",
        ),
    ],
)
def test_faults_are_one_line(arguments: list[str], fault: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stderr) == (1, fault)


def test_a_task_that_is_not_there() -> None:
    Path("results/tasks/facts_test.parquet").unlink()
    result = run("requests", "served")
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "no such file; run snakemake results/tasks/facts_test.parquet first" in result.stderr
    result = CliRunner().invoke(app, ["requests", "served", "who"])
    assert result.stderr == "error: who: not a task of this configuration; available: facts_test\n"
