"""A trained judge is loaded once for all tables of a model, and every table stays a target of its own."""

from __future__ import annotations

import pandas as pd
import pytest
from helpers.workspace import Workspace

TABLE = "results/labels/encoder/middling/other_test.parquet"
TOGETHER = "Verdicts of encoder on a batch of tasks of {}"

pytestmark = pytest.mark.workflow


@pytest.fixture
def grown(run: Workspace) -> Workspace:
    """The finished run with one more model and one more task."""
    config = run.config
    config["models"]["middling"] = {"generator": "simulated", "p_correct": 0.6}
    config["tasks"]["test"].append("other_test")
    run.configure(config)
    return run


def test_one_job_judges_and_others_write(grown: Workspace) -> None:
    jobs = grown.done("labels").jobs
    own = {f"Verdicts of encoder on {who}, other_test" for who in ("solid", "weak", "middling")}
    assert {job for job in jobs if job.startswith("Verdicts of encoder")} == {
        TOGETHER.format("middling"),
        "Verdicts of encoder on middling, mini_test",
        # These models bring one new table each, which is no batch, and their finished ones are left alone.
        *own,
    }
    assert [path.parent.name for path in grown.found("results/label_batches/encoder/*/*.json")] == ["middling"]
    assert "30 of 30 verdicts are already done" in grown.log("labels/encoder/middling/other_test")
    assert [path for path in grown.found("results/.work/labels/**/*") if path.is_file()] == []
    assert grown.done("--dry-run", "labels").idle
    # A table that is lost is judged by its own job, with the same verdicts.
    together = pd.read_parquet(grown.folder / TABLE)
    (grown.folder / TABLE).unlink()
    assert grown.done(TABLE).jobs == {"Verdicts of encoder on middling, other_test"}
    pd.testing.assert_frame_equal(pd.read_parquet(grown.folder / TABLE), together)
    # Another training judges the batch together again.
    config = grown.config
    config["judges"]["encoder"]["training"]["epochs"] = 1
    grown.configure(config)
    assert {job for job in grown.planned("labels") if "batch" in job} == {TOGETHER.format("middling")}
