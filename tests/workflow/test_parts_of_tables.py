"""A table that jobs label in shards: the same table, and no finished one becomes stale by it."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from helpers.workspace import Workspace

TABLE = "results/labels/encoder/solid/mini_test.parquet"

pytestmark = pytest.mark.workflow


def set_num_shards(run: Workspace, count: int) -> None:
    config = run.config
    config["judges"]["encoder"]["num_shards"] = count
    run.configure(config)


def test_a_table_is_labelled_in_shards(run: Workspace) -> None:
    set_num_shards(run, 3)
    assert run.done("--dry-run").idle
    whole = pd.read_parquet(run.folder / TABLE)
    (run.folder / TABLE).unlink()
    done = run.done(TABLE)
    verdicts = "Verdicts of encoder on {}"
    shards = [verdicts.format(f"a batch of tasks of solid, part {number}-of-3") for number in (1, 2, 3)]
    table = verdicts.format("solid, mini_test")
    assert done.jobs == {table, *shards}
    assert "30 of 30 verdicts are already done" in run.log("labels/encoder/solid/mini_test")
    joined = pd.read_parquet(run.folder / TABLE)
    # A batch of other rows moves the last digits of a score in float32.
    pd.testing.assert_frame_equal(joined.drop(columns=["score", "raw"]), whole.drop(columns=["score", "raw"]))
    assert joined["score"].tolist() == pytest.approx(whole["score"].tolist(), abs=1e-5)
    # Another number of shards makes no table stale.
    for count in (3, 2, 1):
        set_num_shards(run, count)
        assert run.done("--dry-run", TABLE).idle
    # A shard that is lost is labelled again, and no other.
    manifests = run.found("results/label_batches/encoder/solid/*.json")
    shard_of = {json.loads(path.read_text())["specs"]["mini_test"]["shard"]: path for path in manifests}
    shard_of["2-of-3"].unlink()
    (run.folder / TABLE).unlink()
    assert run.planned(TABLE) == {table, shards[1]}
