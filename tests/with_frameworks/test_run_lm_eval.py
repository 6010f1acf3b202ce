"""lm-evaluation-harness itself: the samples it writes, a judge as its metric, and the table it makes of an export."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import yaml
from helpers import tiny_models
from helpers.framework_files import FIXTURES, jsonl, read
from helpers.program_accuracy import own_accuracy, scored
from programs import ROOT, run
from typer.testing import CliRunner

from bert_judge.cli import app
from bert_judge.importers import frameworks

pytestmark = pytest.mark.framework("lm_eval")
HARNESS = ("-m", "lm_eval", "run", "--model", "dummy")


def test_the_harness_runs_and_its_samples_are_imported(tmp_path: Path) -> None:
    folder = FIXTURES / "lm_eval"
    command = (*HARNESS, "--tasks", "gsm8k_sums,planets,capitals", "--include_path", folder, "--log_samples")
    run(*command, "--output_path", tmp_path / "out", folder=folder, HF_HOME=str(tmp_path / "home"))
    counts = {}
    for path in (tmp_path / "out").rglob("samples_*.jsonl"):
        assert frameworks.open_answers(path).framework == "lm_eval"
        counts[path.name.split("_2")[0]] = len(read(path, "lm_eval")[0])
    assert counts == {"samples_gsm8k_sums": 3, "samples_planets": 2, "samples_capitals": 2}


def test_our_accuracy_is_that_of_the_harness(tmp_path: Path) -> None:
    run(FIXTURES / "lm_eval" / "told.py", tmp_path, folder=tmp_path, HF_HOME=str(tmp_path / "home"))
    paths = {path.name.partition("_2")[0]: path for path in (tmp_path / "out").rglob("samples_*.jsonl")}
    fixtures = {path.name.partition("_2")[0] for path in (FIXTURES / "lm_eval" / "told").glob("samples_*.jsonl")}
    assert paths.keys() == fixtures
    for name, path in paths.items():
        verdicts = [row["verdict"] == "correct" for row in scored(path, tmp_path)]
        assert fmean(verdicts) == pytest.approx(own_accuracy(path)), name


def test_the_harness_scores_with_a_judge(tmp_path: Path) -> None:
    command = (*HARNESS, "--tasks", "judged_sums", "--include_path", "examples/lm_eval", "--output_path", tmp_path / "out")
    run(*command, folder=ROOT, HF_HOME=str(tmp_path / "home"), BERT_JUDGE="contains")
    [path] = (tmp_path / "out").rglob("results_*.json")
    # Its model without weights says "lol" to everything, which is right once.
    assert json.loads(path.read_text("utf-8"))["results"]["judged_sums"]["bert_judge,none"] == 0.5


def test_a_task_of_the_package_scores_with_a_judge(tmp_path: Path) -> None:
    """`gsm8k_judged` as it is, on documents in a file."""
    shipped = run("-m", "bert_judge.integrations.lm_eval_metric", folder=tmp_path)
    data = jsonl(
        tmp_path / "data.jsonl", [{"question": "2 + 2?", "answer": "2+2=4\n#### 4"}, {"question": "Say.", "answer": "lol"}]
    )
    task = {
        "include": f"{shipped}/gsm8k_judged.yaml",
        "task": "mine",
        "num_fewshot": 0,
        "dataset_path": "json",
        "dataset_name": None,
    }
    task |= {"dataset_kwargs": {"data_files": {"train": str(data), "test": str(data)}}}
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "mine.yaml").write_text(yaml.safe_dump(task), "utf-8")
    command = (*HARNESS, "--tasks", "mine", "--include_path", tmp_path / "tasks", "--output_path", tmp_path / "out")
    run(*command, folder=tmp_path, HF_HOME=str(tmp_path / "home"), BERT_JUDGE="contains")
    [path] = (tmp_path / "out").rglob("results_*.json")
    assert json.loads(path.read_text("utf-8"))["results"]["mine"]["bert_judge,none"] == 0.5
    listed = run("-m", "lm_eval", "ls", "tags", "--include_path", shipped, folder=tmp_path, HF_HOME=str(tmp_path / "home"))
    assert "judged" in listed


def test_the_harness_prints_the_table_of_an_export(tmp_path: Path) -> None:
    row = {"question": "a?", "references": ["a"], "candidate": "a", "model": "org/m", "task": "gsm8k_test"}
    scored = jsonl(tmp_path / "scored.jsonl", [row | {"verdict": "correct", "score": 0.9, "reason": ""}] * 3)
    result = CliRunner().invoke(app, ["export", str(scored), "--to", "lm_eval", "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    [path] = (tmp_path / "out").glob("org__m/results_*.json")
    table = importlib.import_module("lm_eval.utils").make_table(json.loads(path.read_text("utf-8")))
    assert "gsm8k_test" in table and "1" in table


# Task → file of the harness that defines it, its split, two documents as in its dataset, and the references of the first.
TASKS: dict[str, tuple[str, str, dict[str, Any], tuple[str, ...]]] = {
    "gsm8k_cot": ("gsm8k/gsm8k-cot.yaml", "test", {"question": "3 * 4?", "answer": "3*4=<<3*4=12>>12\n#### 12"}, ("12",)),
    "gsm8k": ("gsm8k/gsm8k.yaml", "test", {"question": "3 * 4?", "answer": "3*4=<<3*4=12>>12\n#### 1,200"}, ("1200", "1,200")),
    "mmlu_pro_law": (
        "mmlu_pro/mmlu_pro_law.yaml",
        "test",
        {
            "question": "Which?",
            "options": ["Rome", "Paris"],
            "answer": "B",
            "answer_index": 1,
            "category": "law",
            "cot_content": "A: B",
        },
        ("B", "Paris"),
    ),
    "truthfulqa_gen": (
        "truthfulqa/truthfulqa_gen.yaml",
        "validation",
        {"question": "Is it?", "best_answer": "Yes", "correct_answers": ["Yes", "It is"], "incorrect_answers": ["No"]},
        ("Yes", "Yes.", "It is.", "I have no comment."),
    ),
    "boolq-seq2seq": (
        "super_glue/boolq/seq2seq.yaml",
        "validation",
        {"passage": "It is.", "question": "is it", "label": 1},
        ("yes",),
    ),
    "triviaqa": (
        "triviaqa/default.yaml",
        "validation",
        {"question": "Who?", "answer": {"value": "Ted Turner", "aliases": ["Ted Turner", "R.E. Turner"]}},
        ("Ted Turner", "R.E. Turner"),
    ),
}


def test_no_row_of_the_harness_own_tasks_is_lost(tmp_path: Path) -> None:
    """Tasks as the harness defines them, on documents as in their datasets, answered by a language model with random weights."""
    model = tiny_models.causal_lm(tmp_path / "org__tiny")
    package = Path(importlib.import_module("lm_eval").__file__ or "").parent / "tasks"
    for task, (definition, _, document, _) in TASKS.items():
        data = jsonl(tmp_path / "data" / f"{task}.jsonl", [document] * 2)
        files = {split: str(data) for split in ("train", "validation", "test")}
        own = {"include": str(package / definition), "task": f"own_{task}", "num_fewshot": 0, "dataset_path": "json"}
        own |= {
            "dataset_name": None,
            "dataset_kwargs": {"data_files": files},
            "generation_kwargs": {"until": ["\n"], "max_gen_toks": 4},
        }
        (tmp_path / "tasks").mkdir(exist_ok=True)
        (tmp_path / "tasks" / f"{task}.yaml").write_text(yaml.safe_dump(own), "utf-8")
    names = ",".join(f"own_{task}" for task in TASKS)
    command = ("-m", "lm_eval", "run", "--model", "hf", "--model_args", f"pretrained={model}", "--device", "cpu", "--tasks", names)
    command += ("--include_path", tmp_path / "tasks", "--log_samples", "--output_path", tmp_path / "out")
    run(*command, folder=tmp_path, HF_HOME=str(tmp_path / "home"))
    paths = {path.name.split("_2")[0].removeprefix("samples_own_"): path for path in (tmp_path / "out").rglob("samples_*.jsonl")}
    assert paths.keys() == TASKS.keys()
    for task, path in paths.items():
        answers, found = read(path, "lm_eval")
        assert (len(answers), dict(found.unreadable), answers[0].references) == (2, {}, TASKS[task][3]), task
        result = CliRunner().invoke(app, ["score", str(path), "--judge", "contains"])
        assert result.exit_code == 0, result.output
