"""The candidates stage: imported rows are complete, generated ones survive a kill."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from bert_judge import tables
from bert_judge.candidates.generators.protocol import Completion, Request
from bert_judge.candidates.stage import answer_cache, generate_candidates, import_candidates, summarize_statuses
from bert_judge.config import Import
from bert_judge.runtime.errors import InputError
from bert_judge.tasks.build import build_task

HF_SPEC = {"model": "m", "task": "t", "family": "short_answer", "settings": {"generator": "hf"}, "prompt_style": "strict"}


def task_table(path: Path, questions: int = 5) -> Path:
    texts = [f"Größe {number}?" for number in range(questions)]
    frame = pd.DataFrame({"sample_id": [tables.sample_id("t", q, ["r"]) for q in texts], "question": texts})
    frame = frame.assign(references=[["r"]] * questions, choices=[["x", "y"]] + [None] * (questions - 1), answer_kind="text")
    tables.write(frame, path, tables.TASK, {"task": "t"})
    return path


# --- imported ---


def imported_spec(named: str = "GPT 大", **entry: Any) -> dict[str, Any]:
    dumped = Import.model_validate({"path": "unused", **entry}).model_dump(mode="json", exclude={"path"})
    part = {"where": {}, "question_split": [0.0, 1.0]}
    return {"model": "gpt", "settings": {"generator": "imported", "model_name": named}, "task": "t", "part": part, "import": dumped}


def imported(folder: Path, rows: list[dict[str, Any]], spec: dict[str, Any]) -> pd.DataFrame:
    """The candidates table of a file of these rows."""
    source = folder / "answers.jsonl"
    source.write_text("".join(json.dumps({"references": ["r"], **row}) + "\n" for row in rows))
    build_task({key: spec[key] for key in ("task", "part", "import")}, folder / "task.parquet", source)
    import_candidates(spec, folder / "task.parquet", source, folder / "c.parquet")
    return tables.read(folder / "c.parquet", tables.CANDIDATES)


def test_all_answers_of_a_model_are_imported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    long = "ü" * 1_000_000
    rows = [
        {"question": "Who?", "model": "GPT 大", "candidate": "I"},
        {"question": "Why?", "model": "other", "candidate": "so"},
        {"question": "When?", "model": "GPT 大", "candidate": long},
        {"question": "Who?", "model": "GPT 大", "candidate": "I"},
        {"question": "Who?", "model": "other", "candidate": "you"},
        {"question": "Who?", "model": "GPT 大", "candidate": None},
    ]
    frame = imported(tmp_path, rows, imported_spec())
    assert frame[["question", "attempt", "candidate"]].to_dict("split")["data"] == [
        ["Who?", 0, "I"],
        ["When?", 0, long],
        ["Who?", 1, "I"],
        ["Who?", 2, ""],
    ]
    assert frame["model"].unique().tolist() == ["gpt"]
    assert frame["status"].unique().tolist() == ["imported"]
    assert "gpt answers 2 of 3 questions of t" in caplog.text
    assert set(frame["sample_id"]) < set(tables.read(tmp_path / "task.parquet", tables.TASK)["sample_id"])


def test_model_without_answers(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    frame = imported(tmp_path, [{"question": "Who?", "model": "other", "candidate": "I"}], imported_spec())
    assert frame.empty
    assert frame.columns.tolist() == tables.CANDIDATES.names
    assert ("WARNING", "gpt answers 0 of 1 questions of t") in [(r.levelname, r.message) for r in caplog.records]


def test_answers_to_unknown_questions(tmp_path: Path) -> None:
    source = tmp_path / "answers.jsonl"
    source.write_text(json.dumps({"question": "New?", "references": ["r"], "candidate": "c", "model": "GPT 大"}))
    with pytest.raises(InputError, match=r"lacks 1 questions of .*; rebuild the task table"):
        import_candidates(imported_spec(), task_table(tmp_path / "task.parquet"), source, tmp_path / "c.parquet")


def test_file_without_answers(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no column 'candidate' for the candidate; available: 'references', 'question', 'model'"):
        imported(tmp_path, [{"question": "Who?", "model": "GPT 大"}], imported_spec())


# --- generated ---


class Echo:
    """Echoes the prompt; stops the process at a certain request, as a kill would."""

    def __init__(self, stop_at: int | None = None) -> None:
        self.revisions = {"m": "c0ffee"}
        self.seen: list[Request] = []
        self.stop_at = stop_at

    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        self.seen += requests
        if self.stop_at is not None and len(self.seen) >= self.stop_at:
            raise KeyboardInterrupt
        return [
            Completion(f"{r.prompt} {r.attempt} \ud83d", "truncated", "hm" if r.attempt else None, 7, None, reason="\ud83d so")
            for r in requests
        ]


def generated(
    folder: Path,
    echo: Echo,
    spec: dict[str, Any] = HF_SPEC,
    *,
    revisions: dict[str, str] | None = None,
    shard_rows: int = 2,
    keep: bool = False,
) -> pd.DataFrame:
    table = folder / "task.parquet"
    if not table.exists():
        task_table(table)
    cache = answer_cache(spec, folder / "work", lambda: echo, revisions, shard_rows=shard_rows)
    generate_candidates(spec, table, folder / "c.parquet", cache, keep=keep)
    return tables.read(folder / "c.parquet", tables.CANDIDATES)


def test_attempts(tmp_path: Path) -> None:
    echo = Echo()
    spec = {**HF_SPEC, "settings": {"generator": "hf", "attempts": 3}}
    frame = generated(tmp_path, echo, spec)
    task = tables.read(tmp_path / "task.parquet", tables.TASK)
    assert frame["sample_id"].tolist() == [identity for identity in task["sample_id"] for _ in range(3)]
    assert frame["attempt"].tolist() == [0, 1, 2] * 5
    assert [r.sample.choices for r in echo.seen[:4]] == [("x", "y")] * 3 + [None]
    assert "Final answer:" in echo.seen[0].prompt
    # Half a character cannot be stored; the rest of the answer is.
    assert frame["candidate"].str.startswith("Größe ").all() and frame["candidate"].str.contains("\N{REPLACEMENT CHARACTER}").all()
    assert frame["reasoning"].isna().tolist() == [True, False, False] * 5
    assert frame["status"].unique().tolist() == ["truncated"]
    assert frame["reason"].unique().tolist() == ["\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER} so"]
    assert frame["prompt_tokens"].unique().tolist() == [7]
    assert frame["completion_tokens"].isna().all()
    assert tables.provenance(tmp_path / "c.parquet")["revisions"] == {"m": "c0ffee"}
    assert not (tmp_path / "work").exists()


def test_interrupted_job_generates_missing_answers_only(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        generated(tmp_path, Echo(stop_at=3))
    assert not (tmp_path / "c.parquet").exists()
    echo = Echo()
    frame = generated(tmp_path, echo)
    assert len(echo.seen) == 3
    whole = tmp_path / "whole"
    whole.mkdir()
    pd.testing.assert_frame_equal(frame, generated(whole, Echo()))


@pytest.mark.parametrize(
    ("spec", "revisions", "asked"),
    [
        (HF_SPEC, {"m": "1"}, 3),
        (HF_SPEC, {"m": "2"}, 5),
        ({**HF_SPEC, "prompt_style": "free"}, {"m": "1"}, 5),
        ({**HF_SPEC, "settings": {"generator": "hf", "seed": 1}}, {"m": "1"}, 5),
        ({**HF_SPEC, "settings": {"generator": "hf", "attempts": 2}}, {"m": "1"}, 8),
    ],
)
def test_answers_of_another_model_are_not_reused(
    tmp_path: Path, spec: dict[str, Any], revisions: dict[str, str], asked: int
) -> None:
    with pytest.raises(KeyboardInterrupt):
        generated(tmp_path, Echo(stop_at=3), revisions={"m": "1"})
    echo = Echo()
    generated(tmp_path, echo, spec, revisions=revisions)
    assert len(echo.seen) == asked


def test_model_is_not_loaded_if_all_answers_are_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError("the disk is full")

    task_table(tmp_path / "task.parquet")
    with monkeypatch.context() as patch:
        patch.setattr(tables, "write", full)
        with pytest.raises(OSError, match="the disk is full"):
            generated(tmp_path, Echo())
    cache = answer_cache(HF_SPEC, tmp_path / "work", lambda: pytest.fail("loaded"))
    generate_candidates(HF_SPEC, tmp_path / "task.parquet", tmp_path / "c.parquet", cache)
    assert len(tables.read(tmp_path / "c.parquet", tables.CANDIDATES)) == 5


def test_task_without_questions(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    tables.write(tables.empty(tables.TASK), tmp_path / "task.parquet", tables.TASK, {})
    frame = generated(tmp_path, Echo(stop_at=0))
    assert frame.empty
    assert "m, t: no answers" in caplog.text


@pytest.mark.parametrize(
    ("statuses", "reasons", "summary"),
    [
        ([], [], "no answers"),
        (["ok", "ok"], [None, None], "2 ok"),
        (["error", "ok"], ["no answer in 600 seconds", None], "1 error, 1 ok; 1 x no answer in 600 seconds"),
        (["error"] * 7, [*"aabbcde"], "7 error; 2 x a; 2 x b; 1 x c; and 2 other reasons"),
    ],
)
def test_summarize_statuses(statuses: list[str], reasons: list[str | None], summary: str) -> None:
    assert summarize_statuses(pd.DataFrame({"status": statuses, "reason": reasons})) == summary


SLOW = """
import sys, time
from bert_judge.candidates.stage import answer_cache, generate_candidates
from bert_judge.candidates.generators.protocol import Completion

class Slow:
    revisions = {"m": "c0ffee"}
    def generate(self, requests):
        time.sleep(0.05)
        return [Completion(f"answer to {request.prompt}", "ok") for request in requests]

folder = sys.argv[1]
spec = {"model": "m", "task": "t", "family": "math", "settings": {"generator": "hf"}, "prompt_style": "soft"}
cache = answer_cache(spec, f"{folder}/work", Slow, shard_rows=4)
generate_candidates(spec, f"{folder}/task.parquet", f"{folder}/c.parquet", cache, keep=False)
"""


def test_killed_job_resumes(tmp_path: Path) -> None:
    task_table(tmp_path / "task.parquet", 60)
    job = subprocess.Popen([sys.executable, "-c", SLOW, str(tmp_path)])
    deadline = time.monotonic() + 60
    while len(list(tmp_path.glob("work/*.parquet"))) < 3:
        assert job.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    os.kill(job.pid, signal.SIGKILL)
    job.wait(timeout=30)
    kept = len(list(tmp_path.glob("work/*.parquet")))
    assert 3 <= kept < 15
    assert not (tmp_path / "c.parquet").exists()
    subprocess.run([sys.executable, "-c", SLOW, str(tmp_path)], check=True)
    frame = tables.read(tmp_path / "c.parquet", tables.CANDIDATES)
    assert frame["sample_id"].tolist() == tables.read(tmp_path / "task.parquet", tables.TASK)["sample_id"].tolist()
    assert all(row.candidate.startswith(f"answer to {row.question}") for row in frame.itertuples())
    assert not (tmp_path / "work").exists()
