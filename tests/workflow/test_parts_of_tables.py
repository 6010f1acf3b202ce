"""A table that is judged in parts: the same table, and no finished one becomes stale by it."""

from __future__ import annotations

import pandas as pd
import pytest
from workspace import Workspace

TABLE = "results/labels/encoder/solid/mini_test.parquet"
PARTS = "results/label_shards/encoder/solid/mini_test"

pytestmark = pytest.mark.workflow


def in_parts(run: Workspace, count: int) -> None:
    config = run.config
    config["judges"]["encoder"]["num_shards"] = count
    run.configure(config)


def test_a_table_is_judged_in_parts_and_joined(run: Workspace) -> None:
    in_parts(run, 3)
    assert run.done("--dry-run").idle
    whole = pd.read_parquet(run.folder / TABLE)
    (run.folder / TABLE).unlink()
    done = run.done(TABLE)
    verdicts = "Verdicts of encoder on solid, mini_test"
    assert done.jobs == {verdicts, *(f"{verdicts}, part {number}-of-3" for number in (1, 2, 3))}
    joined = pd.read_parquet(run.folder / TABLE)
    # A batch of other rows moves the last digits of a score in float32.
    pd.testing.assert_frame_equal(joined.drop(columns=["score", "raw"]), whole.drop(columns=["score", "raw"]))
    assert joined["score"].tolist() == pytest.approx(whole["score"].tolist(), abs=1e-5)
    # Neither another number nor none makes it again.
    for count in (3, 2, 1):
        in_parts(run, count)
        assert run.done("--dry-run", TABLE).idle
    # A part that is lost is made again, and no other.
    (run.folder / PARTS / "2-of-3.parquet").unlink()
    (run.folder / TABLE).unlink()
    assert run.planned(TABLE) == {verdicts, f"{verdicts}, part 2-of-3"}
