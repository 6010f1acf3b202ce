"""A judge in the workflow that adapts another judge's scores to each table."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from workspace import Workspace

from bert_judge.judges.prior_shift.estimate import estimate_base_rate, shift_prior

pytestmark = pytest.mark.workflow

ADAPTED = {"kind": "prior_shift", "judge": "encoder", "dataset": "mix"}


@pytest.fixture(scope="module")
def adapted(finished: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The finished run with its encoder's scores adapted. Tests must not change it."""
    made = finished.copy(tmp_path_factory.mktemp("adapted") / "run")
    config = made.config
    config["judges"]["fitted"] = ADAPTED
    config["scorers"].append("fitted")
    made.configure(config)
    planned = made.planned()
    assert not {job for job in planned if job.startswith(("Train", "Answers", "Training rows", "Verdicts of encoder"))}
    made.done()
    return made


def table(run: Workspace, path: str) -> pd.DataFrame:
    return pd.read_parquet(run.folder / "results" / path)


def test_the_scores_are_the_encoders_moved_to_the_share_of_each_table(adapted: Workspace) -> None:
    prior = table(adapted, "datasets/mix/validation.parquet")["label"].mean()
    for model in ("solid", "weak"):
        before, after = (table(adapted, f"labels/{judge}/{model}/mini_test.parquet") for judge in ("encoder", "fitted"))
        share = estimate_base_rate(before["score"], prior, prior_strength=20)
        assert after["score"].to_numpy() == pytest.approx(shift_prior(before["score"], prior, share), abs=1e-6)
        assert (after["verdict"] == np.where(after["score"] >= 0.5, "correct", "incorrect")).all()
        scores = table(adapted, f"scores/{model}/mini_test.parquet")
        assert scores["fitted_verdict"].tolist() == after["verdict"].tolist()


def test_the_report_shows_it_beside_its_judge(adapted: Workspace) -> None:
    assert "fitted" in (adapted.folder / "results/report.html").read_text("utf-8")
    assert {"encoder", "fitted"} <= set(table(adapted, "agreement.parquet")["judge"])


def test_a_second_run_has_nothing_to_do(adapted: Workspace) -> None:
    assert adapted.run().idle


def test_a_new_model_brings_its_own_jobs_only(adapted: Workspace) -> None:
    before = adapted.config
    after = adapted.config
    after["models"]["new"] = {"generator": "simulated", "p_correct": 0.5}
    adapted.configure(after)
    try:
        planned = adapted.planned()
    finally:
        adapted.configure(before)
    assert "Verdicts of fitted on new, mini_test" in planned
    assert {job for job in planned if "solid" in job or "weak" in job or job.startswith(("Train", "Fit"))} == set()


def test_other_caution_judges_anew_and_asks_nobody(adapted: Workspace) -> None:
    config = adapted.config
    config["judges"]["fitted"] = ADAPTED | {"prior_strength": 200}
    adapted.configure(config)
    try:
        planned = adapted.planned()
    finally:
        config["judges"]["fitted"] = ADAPTED
        adapted.configure(config)
    assert "Verdicts of fitted on solid, mini_test" in planned
    assert not {job for job in planned if job.startswith(("Train", "Answers", "Verdicts of encoder"))}
