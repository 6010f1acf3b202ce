"""A judge kind is one class: one that is registered here passes through every stage, and its definition is part of the spec."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pytest
import yaml
from typer.testing import CliRunner

from bert_judge import plan, tables
from bert_judge.cli import app
from bert_judge.config import files
from bert_judge.config.base import JudgeConfig
from bert_judge.judges import registry
from bert_judge.judges.protocol import Label, Row, decided
from bert_judge.judges.registry import JudgeKind, LoadContext
from bert_judge.labels.stage import label_job
from bert_judge.runtime.errors import ConfigError
from bert_judge.serve import judge_pool
from bert_judge.serve.limits import Limits, Metrics

CONFIG: dict[str, Any] = {
    "models": {"ada": {"generator": "simulated", "p_correct": 0.5}},
    "tasks": {"test": ["facts_test"]},
    "judges": {"short": {"kind": "length", "max_chars": 5}},
    "scorers": ["short"],
}


class LengthJudgeConfig(JudgeConfig):
    """Short answers are correct."""

    kind: Literal["length"]
    max_chars: int = 20
    """longest correct answer"""


class LengthJudge:
    """Implements `judges.protocol.Judge`."""

    def __init__(self, max_chars: int) -> None:
        self.revisions: dict[str, str] = {}
        self.max_chars = max_chars

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        return [decided(float(len(row.candidate) <= self.max_chars)) for row in rows]


class LengthKind(JudgeKind):
    """A kind that a plug-in could add."""

    name = "length"
    config = LengthJudgeConfig

    def checks(self, config: Any, judge: str, block: Any) -> list[str]:
        return [f"judges.{judge}.max_chars: must be positive"] if block.max_chars < 1 else []

    def load(self, context: LoadContext) -> Any:
        return LengthJudge(context.settings["max_chars"])


@pytest.fixture(autouse=True)
def kind() -> Iterator[JudgeKind]:
    registry.register(LengthKind())
    yield registry.find("length")
    registry.unregister("length")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a configuration of the kind, in which the program runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(CONFIG), "utf-8")
    return tmp_path


def program(*arguments: object, text: str | None = None) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments], input=text)
    assert result.exit_code == 0, result.output
    return result.output


def test_check_validates_its_block(run: Path) -> None:
    program("check", "config.yaml")
    for block, error in (({"max_chars": 0}, "must be positive"), ({"longest": 3}, "unknown key")):
        with pytest.raises(ConfigError, match=error):
            plan.build_plan({**CONFIG, "judges": {"short": {"kind": "length", **block}}})


def test_its_settings_are_the_spec_of_its_tables(run: Path) -> None:
    resolved = plan.build_plan(files.load([run / "config.yaml"]))
    assert resolved.labels_spec("short", "ada", "facts_test")["settings"] == {"kind": "length", "max_chars": 5}
    assert resolved.judges_of_rule("label") == ["short"]


def write_answers(path: Path) -> None:
    frame = pd.DataFrame({"candidate": ["Paris", "It is Paris."], "sample_id": ["a" * 16, "b" * 16]})
    frame = frame.assign(attempt=0, model="ada", question="Capital?", references=[["Paris"]] * 2, reasoning=None, status="ok")
    frame = frame.assign(reason=None, prompt_tokens=None, completion_tokens=None)
    tables.write(frame, path, tables.CANDIDATES, {"model": "ada"})


def test_a_label_job_writes_its_table(run: Path) -> None:
    write_answers(run / "candidates.parquet")
    spec = plan.build_plan(CONFIG).labels_spec("short", "ada", "facts_test")
    output = "results/labels/short/ada/facts_test.parquet"
    label_job(spec, {"candidates": "candidates.parquet"}, output, CONFIG["judges"]["short"], check_device=lambda: None)
    assert tables.read(output, tables.LABELS)["verdict"].tolist() == ["correct", "incorrect"]


def test_score_predict_and_attack_load_it(run: Path) -> None:
    rows = [{"question": "Capital?", "references": ["Paris"], "candidate": text} for text in ("Paris", "It is Paris.")]
    (run / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    program("score", "a.jsonl", "--judge", "config.yaml:short")
    scored = [json.loads(line)["verdict"] for line in (run / "a.scored.jsonl").read_text("utf-8").splitlines()]
    assert scored == ["correct", "incorrect"]
    assert program("predict", "Paris", "--reference", "Paris", "--judge", "config.yaml:short").startswith("correct")
    task = run / "people.parquet"
    questions = {"sample_id": ["c" * 16], "question": ["Who wrote Emma?"], "references": [["Jane Austen"]]}
    frame = pd.DataFrame(questions).assign(answer_kind="text", choices=None)
    tables.write(frame.reindex(columns=tables.TASK.names), task, tables.TASK, {"task": "people"})
    program("attack", "--judge", "short", "--task", task, "--rows", 1, "--output", "out")
    assert set(tables.read("out/rates.parquet", tables.ATTACK_RATES)["judge"]) == {"short"}


def test_serve_offers_it(run: Path) -> None:
    pool = judge_pool.select_judges([], [run / "config.yaml"], run / "results", Limits(), metrics=Metrics())
    assert list(pool.pointwise) == ["short"]
    pool.load()
    pool.close()
