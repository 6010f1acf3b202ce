"""vLLM in the workflow: one load for all tables of a model, exact targets, and a kill in the middle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers import tiny_models
from helpers.workspace import Workspace

pytestmark = [pytest.mark.vllm, pytest.mark.workflow]

TASKS = ("mini_test", "other_test", "long_test")
ALL, SHARD = 1300, 1024


def config(model: Path, server: str) -> dict[str, Any]:
    """A model on vLLM, and the same behind its server."""
    served = {"generator": "openai", "model": "served", "base_url": server, "max_new_tokens": 8}
    return {
        "models": {
            "tiny": {
                "generator": "vllm",
                "model": str(model),
                "dtype": "float32",
                "max_new_tokens": 8,
                "max_model_len": 256,
                "enforce_eager": True,
            },
            "served": served,
        },
        "tasks": {"test": list(TASKS)},
        "task_files": ["mini_tasks.py"],
        "judges": {"strict": {"kind": "lexical", "metric": "exact_match"}},
        "scorers": ["strict"],
    }


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, qwen: Path, server: str) -> Workspace:
    """An undisturbed run."""
    workspace = Workspace.create(tmp_path_factory.mktemp("whole") / "run", config(qwen, server))
    workspace.done("scores")
    return workspace


def rows(workspace: Workspace, model: str, task: str) -> pd.DataFrame:
    return pd.read_parquet(workspace.folder / f"results/candidates/{model}/{task}.parquet")


def answered(workspace: Workspace) -> list[str]:
    """Logs of the jobs that loaded the engine, or would have if anything had been missing."""
    return [path.read_text() for path in workspace.found("logs/answer_batches/tiny/*.log")]


def test_one_load_for_all_tables(whole: Workspace) -> None:
    assert [log.count(f"{ALL + 60}/{ALL + 60} answers") for log in answered(whole)] == [1]
    assert {task: len(rows(whole, "tiny", task)) for task in TASKS} == {"mini_test": 30, "other_test": 30, "long_test": ALL}
    assert whole.run("scores").idle
    # A target that needs less than what is there asks for nothing.
    assert whole.run("results/scores/tiny/mini_test.parquet").idle


def test_a_server_gives_the_same_answers(whole: Workspace) -> None:
    same = ["question", "status", "prompt_tokens", "completion_tokens"]
    for task in ("mini_test", "long_test"):
        served, own = rows(whole, "served", task), rows(whole, "tiny", task)
        pd.testing.assert_frame_equal(served[same], own[same])
        # A random model writes halves of characters; a server, which decodes token by token, shows them in other ways and may hold
        # back what follows one at the end.
        texts = [frame["candidate"].str.replace("\N{REPLACEMENT CHARACTER}", "").str.strip() for frame in (served, own)]
        assert all(whole_text.startswith(text) for text, whole_text in zip(*texts, strict=True))
        assert (texts[0] == texts[1]).mean() > 0.9


def test_a_target_generates_its_table_and_no_other_and_a_killed_batch_goes_on(tmp_path: Path, whole: Workspace) -> None:
    run = Workspace.create(tmp_path / "run", whole.config)
    run.done("results/scores/tiny/mini_test.parquet")
    assert [path.name for path in run.found("results/candidates/*/*")] == ["mini_test.parquet"]
    assert [path.name for path in run.found("results/tasks/*")] == ["mini_test.parquet"]
    assert ["30/30 answers" in log for log in answered(run)] == [True]
    # Other tables have a job of their own, and the first one is not made again.
    before = run.times()
    targets = [f"results/candidates/tiny/{task}.parquet" for task in TASKS]
    run.kill_when(lambda: len(run.found("results/.work/store/tiny/[0-9a-f]*.parquet")) > 1, *targets)
    assert [path.name for path in run.found("results/candidates/tiny/*")] == ["mini_test.parquet"]
    run.done("--unlock")
    run.done(*targets)
    resumed = f"{SHARD} of {ALL + 30} answers are already done"
    assert sorted(resumed in log for log in answered(run)) == [False, True]
    assert not {path for path in run.changed_since(before) if "mini_test" in path}
    for task in TASKS:
        pd.testing.assert_frame_equal(rows(run, "tiny", task), rows(whole, "tiny", task))


def test_more_questions_pay_for_the_new_ones(tmp_path: Path, whole: Workspace) -> None:
    run = whole.copy(tmp_path / "run")
    config = run.config
    config["tasks"]["limit"] = {"long_test": 20}
    run.configure(config)
    before = run.times()
    # A lower limit is answered from the store, without the engine.
    run.done("results/scores/tiny/long_test.parquet", "results/scores/tiny/mini_test.parquet")
    assert len(rows(run, "tiny", "long_test")) == 20
    assert not any("vLLM" in log for log in answered(run) if "20 of 20 answers are already done" in log)
    assert not {path for path in run.changed_since(before) if "mini_test" in path}


def test_the_whole_way(tmp_path: Path, qwen: Path, llama: Path, server: str) -> None:
    """Three back ends answer, a server teaches, an encoder learns, and every answer has its scores."""
    run = Workspace.create(tmp_path / "run", config(qwen, server))
    whole = run.config
    whole["models"]["small"] = {"generator": "hf", "model": str(llama), "dtype": "float32", "max_new_tokens": 8}
    whole["tasks"] = {"train": ["mini_train"], "test": ["mini_test"]}
    teacher = {
        "generator": "openai",
        "model": "served",
        "base_url": server,
        "structured_output": "structured_outputs",
        "logprobs": True,
    }
    whole["datasets"] = {"mix": {"teacher": "teacher", "tasks": ["mini_train"], "validation_fraction": 0.3}}
    whole["judges"] |= {
        "teacher": {"kind": "llm", "model": {**teacher, "max_new_tokens": 16}, "reasoning": False},
        "encoder": {
            "kind": "bert",
            "dataset": "mix",
            "backbone": str(tiny_models.encoder(tmp_path / "encoder")),
            "training": {"epochs": 1},
        },
    }
    whole["scorers"] = ["strict", "teacher", "encoder"]
    run.configure(whole)
    run.done()
    for model in ("tiny", "served", "small"):
        scores = pd.read_parquet(run.folder / f"results/scores/{model}/mini_test.parquet")
        assert len(scores) == 30
        assert scores["teacher"].between(0, 1).all()
        assert scores["encoder"].between(0, 1).all()
    assert run.run().idle
