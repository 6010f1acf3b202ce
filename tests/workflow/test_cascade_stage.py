"""A cascade in the workflow: its judges are asked about what is left to them and nothing else."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from workspace import Workspace

pytestmark = pytest.mark.workflow

CASCADE = {"kind": "cascade", "judges": ["overlap", "encoder", "noisy"], "dataset": "mix", "budget": 0.5}


@pytest.fixture(scope="module")
def cascaded(finished: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The finished run with a cascade of three of its judges. Tests must not change it."""
    made = finished.copy(tmp_path_factory.mktemp("cascade") / "run")
    config = made.config
    config["judges"]["both"] = CASCADE
    config["scorers"].append("both")
    made.configure(config)
    made.done()
    return made


def table(run: Workspace, path: str) -> dict[str, list]:
    return pq.read_table(run.folder / "results" / path).to_pydict()


def test_the_verdicts_are_those_of_whoever_was_sure(cascaded: Workspace) -> None:
    # The encoder is asked about all answers anyway, the teacher only about what is left to it.
    asked = {"overlap": "{}", "encoder": "{}", "noisy": "{}@both@noisy"}
    for model in ("solid", "weak"):
        found = table(cascaded, f"labels/both/{model}/mini_test.parquet")
        assert found["sample_id"] == table(cascaded, f"candidates/{model}/mini_test.parquet")["sample_id"]
        said = {judge: table(cascaded, f"labels/{judge}/{name.format(model)}/mini_test.parquet") for judge, name in asked.items()}
        verdicts = {judge: dict(zip(member["sample_id"], member["verdict"], strict=True)) for judge, member in said.items()}
        deciders = [reason.removeprefix("decided by ").split(":")[0] for reason in found["reason"]]
        assert found["verdict"] == [verdicts[judge][i] for judge, i in zip(deciders, found["sample_id"], strict=True)]
        left = [i for judge, i in zip(deciders, found["sample_id"], strict=True) if judge == "noisy"]
        assert said["noisy"]["sample_id"] == left
        assert table(cascaded, f"scores/{model}/mini_test.parquet")["both_verdict"] == found["verdict"]


def test_the_teacher_is_not_asked_about_its_own_labels(cascaded: Workspace) -> None:
    assert cascaded.found("results/labels/encoder/@mix/validation.parquet")
    assert not cascaded.found("results/labels/noisy/@mix/*")


def test_a_second_run_has_nothing_to_do(cascaded: Workspace) -> None:
    assert cascaded.run().idle


def test_another_budget_judges_anew_and_trains_nothing(cascaded: Workspace) -> None:
    config = cascaded.config
    config["judges"]["both"] = CASCADE | {"budget": 0.1}
    changed = Workspace(cascaded.folder)
    changed.configure(config)
    try:
        planned = changed.planned()
    finally:
        config["judges"]["both"] = CASCADE
        changed.configure(config)
    assert "Fit both" in planned
    assert "Verdicts of both on solid, mini_test" in planned
    assert not {job for job in planned if job.startswith(("Train", "Answers", "Training rows"))}


def test_a_new_model_brings_its_own_jobs_only(cascaded: Workspace) -> None:
    before = cascaded.config
    after = cascaded.config
    after["models"]["new"] = {"generator": "simulated", "p_correct": 0.5}
    cascaded.configure(after)
    try:
        planned = cascaded.planned()
    finally:
        cascaded.configure(before)
    assert "Select answers of new to mini_test that both escalates to noisy" in planned
    assert {job for job in planned if "solid" in job or "weak" in job or job.startswith(("Train", "Fit"))} == set()
