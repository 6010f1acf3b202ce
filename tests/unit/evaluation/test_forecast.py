"""What a run will cost, from hand-made results with known rates."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from bert_judge import plan
from bert_judge.cli import workflow
from bert_judge.evaluation.forecast import PendingWork, Rates, _num_parameters, forecast
from bert_judge.runtime.errors import InputError
from bert_judge.tasks.registry import published_sources

CONFIG: dict[str, Any] = {
    "models": {
        "small": {"generator": "hf", "model": "owner/small", "attempts": 3},
        "large": {"generator": "vllm", "model": "owner/large", "tensor_parallel_size": 4},
        "served": {"generator": "openai", "model": "m"},
        "made-up": {"generator": "simulated", "p_correct": 0.5},
    },
    "tasks": {"test": ["facts_test", "word_problems_test"], "limit": {"word_problems_test": 50}},
    "judges": {
        "strict": {"kind": "lexical", "metric": "exact_match"},
        "bert": {"kind": "bert", "checkpoint": "owner/judge"},
    },
    "scorers": ["strict", "bert"],
}


def table(root: Path, part: str, tokens: list[tuple[int | None, int | None]], seconds: float | None = None) -> None:
    path = root / f"{part}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pd.DataFrame(tokens, columns=["prompt_tokens", "completion_tokens"], dtype="Int64").to_parquet(path)
    if seconds is not None:
        timed(root, part, seconds)


def timed(root: Path, part: str, seconds: object) -> None:
    file = root / "benchmarks" / f"{part}.tsv"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"s\th:m:s\n{seconds}\t0:00:01\n")


def works(root: Path, *pending: str) -> dict[str, PendingWork]:
    return {
        work.component: work for work in forecast(plan.build_plan(CONFIG), [f"results/{path}.parquet" for path in pending], root)
    }


def test_a_task_that_is_not_built_has_its_published_size_up_to_its_limit(tmp_path: Path) -> None:
    tasks = {"test": ["gsm8k_test", "gsm8k_train"], "limit": {"gsm8k_train": 1000}}
    planned = plan.build_plan({**CONFIG, "tasks": tasks})
    pending = [f"results/candidates/large/{task}.parquet" for task in tasks["test"]]
    assert [work.rows for work in forecast(planned, pending, tmp_path)] == [1319 + 1000]
    assert all(source.questions for source in published_sources().values())
    # The size is no part of what a table is made from.
    assert "questions" not in planned.task_spec("gsm8k_test")["source"]


def test_rows_are_questions_times_attempts(tmp_path: Path) -> None:
    table(tmp_path, "tasks/facts_test", [(None, None)] * 20)
    pending = works(tmp_path, "candidates/small/facts_test", "candidates/small/word_problems_test", "labels/bert/small/facts_test")
    assert pending["small"] == PendingWork(
        component="small", output="answers", tables=2, rows=3 * (20 + 50), gpus=1, rates=Rates(150, 300, None, estimated=True)
    )
    assert pending["bert"] == PendingWork(component="bert", output="verdicts", tables=1, rows=60, gpus=1, rates=Rates())
    assert pending["small"].gpu_hours is None


def test_unknown_number_of_questions_gives_unknown_rows(tmp_path: Path) -> None:
    work = works(tmp_path, "candidates/served/facts_test")["served"]
    assert work.rows is None and work.gpus == 0 and work.total(1.0) is None


def test_free_models_and_judges_are_left_out(tmp_path: Path) -> None:
    assert works(tmp_path, "candidates/made-up/facts_test", "labels/strict/made-up/facts_test", "scores/small/facts_test") == {}
    assert works(tmp_path) == {}


def test_rates_are_means_of_finished_tables(tmp_path: Path) -> None:
    table(tmp_path, "candidates/small/facts_test", [(100, 10), (300, 30), (None, None)], seconds=6)
    work = works(tmp_path, "candidates/small/word_problems_test")["small"]
    assert work.rates == Rates(pytest.approx(400 / 3), pytest.approx(40 / 3), 2.0)
    assert work.total(work.rates.prompt_tokens) == pytest.approx(400 / 3 * 150)
    assert work.gpu_hours == pytest.approx(2 * 150 / 3600)


def test_vllm_models_are_timed_by_batch_and_count_all_gpus(tmp_path: Path) -> None:
    table(tmp_path, "candidates/large/facts_test", [(10, 5)] * 30, seconds=1)
    (tmp_path / "answer_batches/large").mkdir(parents=True)
    (tmp_path / "answer_batches/large/0123.json").write_text(json.dumps({"specs": {"facts_test": {}}, "inputs": {}}))
    timed(tmp_path, "answer_batches/large/0123", 90)
    work = works(tmp_path, "candidates/large/word_problems_test")["large"]
    assert work.rates.seconds == 3.0
    assert work.gpu_hours == pytest.approx(3 * 50 * 4 / 3600)


@pytest.mark.parametrize("text", ["", "s\th:m:s\n-\t-\n", "h:m:s\n0:00:01\n"], ids=["empty", "no number", "no column"])
def test_benchmark_files_without_time_are_ignored(tmp_path: Path, text: str) -> None:
    table(tmp_path, "candidates/small/facts_test", [(1, 1)], seconds=1)
    (tmp_path / "benchmarks/candidates/small/facts_test.tsv").write_text(text)
    assert works(tmp_path, "candidates/small/word_problems_test")["small"].rates == Rates(1.0, 1.0, None)


def test_broken_task_table_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks/facts_test.parquet").write_bytes(b"")
    with pytest.raises(InputError, match=r"tasks/facts_test.parquet: not a readable parquet file"):
        works(tmp_path, "candidates/small/facts_test")


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("Qwen/Qwen3-0.6B", 0.6e9),
        ("EuroBERT/EuroBERT-210m", 210e6),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", 56e9),
        ("Qwen/Qwen3-30B-A3B-Instruct", 3e9),
        ("/models/70B/Llama-3.1-8B", 8e9),
        ("general", 22e6),
        ("gpt-4o", None),
        ("owner/b4b1m5x", None),
    ],
)
def test_names_tell_the_number_of_parameters(name: str, parameters: float | None) -> None:
    assert _num_parameters(name) == parameters


def test_what_was_never_measured_is_estimated_and_marked(tmp_path: Path) -> None:
    raw = copy.deepcopy(CONFIG)
    raw["models"]["large"] |= {"model": "owner/large-70B", "max_new_tokens": 100}
    raw["judges"]["bert"]["checkpoint"] = "owner/judge-210m"
    parts = ("candidates/large", "candidates/served", "labels/bert/large")
    paths = [f"results/{part}/word_problems_test.parquet" for part in parts]
    large, served, bert = forecast(plan.build_plan(raw), paths, tmp_path)
    assert large.gpu_hours == pytest.approx(50 * 2 * 70e9 * (150 + 100) / 1e14 / 3600)
    assert served.rates.seconds is None and bert.rates.prompt_tokens is None
    assert bert.gpu_hours == pytest.approx(50 * 2 * 210e6 * (150 + 300) / 5e13 / 3600)
    lines = printed(workflow.costs_table([large, served, bert]))
    assert ["large", "answers", "1", "50", "≈", "7,500", "≈", "5,000", "4", "≈", "0.00"] in lines
    assert ["served", "answers", "1", "50", "≈", "7,500", "≈", "15,000", "server", "–"] in lines
    assert ["bert", "verdicts", "1", "50", "–", "–", "1", "≈", "0.00"] in lines


# --- the command ---

SUMMARY = """some words before
output_file\tdate\trule\tlog-file(s)\tstatus\tplan
results/report.html\t-\tbuild_report\t-\tmissing\tupdate pending
results/judges/bert/judge.json\tMon\ttrain_judge\ta.log\tok\tno update
results/judges/bert/README.md\tMon\ttrain_judge\ta.log\tok\tno update
results/candidates/small/facts_test.parquet\tMon\tgenerate_candidates_hf\ta.log\tok\tno update
results/candidates/small/größer.parquet\t-\tgenerate_candidates_hf\t-\tmissing\tupdate pending
"""


def printed(renderable: Any) -> list[list[str]]:
    screen = Console(width=200, force_terminal=False)
    with screen.capture() as captured:
        screen.print(renderable)
    return [line.replace("│", " ").split() for line in captured.get().splitlines()]


def test_jobs_are_counted_by_rule(tmp_path: Path) -> None:
    outputs = workflow.parse_summary(SUMMARY)
    assert [output.path for output in outputs if output.pending] == [
        "results/report.html",
        "results/candidates/small/größer.parquet",
    ]
    lines = printed(workflow.jobs_table(outputs))
    assert ["generate_candidates_hf", "1", "1"] in lines
    assert ["train_judge", "0", "1"] in lines
    assert ["all", "2", "2"] in lines
    rules = [line[0] for line in lines if len(line) == 3]
    assert rules.index("generate_candidates_hf") < rules.index("train_judge") < rules.index("build_report")


def test_unknown_costs_are_dashes() -> None:
    works = [
        PendingWork(component="large", output="answers", tables=2, rows=100, gpus=4, rates=Rates(10.0, 5.0, 36.0)),
        PendingWork(component="served", output="answers", tables=1, rows=None, gpus=0, rates=Rates()),
    ]
    lines = printed(workflow.costs_table(works))
    assert ["large", "answers", "2", "100", "1,000", "500", "4", "4.00"] in lines
    assert ["served", "answers", "1", "–", "–", "–", "server", "–"] in lines


def test_invalid_configuration_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("models: {}\n")
    with pytest.raises(InputError):
        workflow.plan(tmp_path / "c.yaml")
