"""lm-evaluation-harness itself: the samples it writes, a judge as its metric, and the table it makes of an export."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest
from framework_files import FIXTURES, jsonl, read
from programs import ROOT, run
from typer.testing import CliRunner

from bert_judge.candidates.importers import frameworks
from bert_judge.cli import app

pytestmark = pytest.mark.framework("lm_eval")
HARNESS = ("-m", "lm_eval", "run", "--model", "dummy")


def test_the_harness_runs_and_its_samples_are_imported(tmp_path: Path) -> None:
    folder = FIXTURES / "lm_eval"
    command = (*HARNESS, "--tasks", "gsm8k_sums,planets,capitals", "--include_path", folder, "--log_samples")
    run(*command, "--output_path", tmp_path / "out", folder=folder, HF_HOME=str(tmp_path / "home"))
    counts = {}
    for path in (tmp_path / "out").rglob("samples_*.jsonl"):
        assert frameworks.detect(path) == "lm_eval"
        counts[path.name.split("_2")[0]] = len(read(path, "lm_eval")[0])
    assert counts == {"samples_gsm8k_sums": 3, "samples_planets": 0, "samples_capitals": 2}


def test_the_harness_scores_with_a_judge(tmp_path: Path) -> None:
    command = (*HARNESS, "--tasks", "judged_sums", "--include_path", "examples/lm_eval", "--output_path", tmp_path / "out")
    run(*command, folder=ROOT, HF_HOME=str(tmp_path / "home"), BERT_JUDGE="contains")
    [path] = (tmp_path / "out").rglob("results_*.json")
    # Its model without weights says "lol" to everything, which is right once.
    assert json.loads(path.read_text("utf-8"))["results"]["judged_sums"]["bert_judge,none"] == 0.5


def test_the_harness_prints_the_table_of_an_export(tmp_path: Path) -> None:
    row = {"question": "a?", "references": ["a"], "candidate": "a", "model": "org/m", "task": "gsm8k_test"}
    scored = jsonl(tmp_path / "scored.jsonl", [row | {"verdict": "correct", "score": 0.9, "reason": ""}] * 3)
    result = CliRunner().invoke(app, ["export", str(scored), "--to", "lm_eval", "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    [path] = (tmp_path / "out").glob("org__m/results_*.json")
    table = importlib.import_module("lm_eval.utils").make_table(json.loads(path.read_text("utf-8")))
    assert "gsm8k_test" in table and "1" in table
