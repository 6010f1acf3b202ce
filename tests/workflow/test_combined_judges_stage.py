"""A cascade, which asks each of its judges about what is left to it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from helpers.workspace import Workspace, edited_library

from bert_judge.text import TEXT_VERSION

pytestmark = pytest.mark.workflow

CASCADE = {"kind": "cascade", "judges": ["overlap", "encoder", "noisy"], "dataset": "mix", "budget": 0.5}


@pytest.fixture(scope="module")
def combined(finished: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The finished run with a cascade of three of its judges. Tests must not change it."""
    made = finished.copy(tmp_path_factory.mktemp("combined") / "run")
    config = made.config
    config["judges"]["both"] = CASCADE
    config["scorers"].append("both")
    made.configure(config)
    jobs = made.done().jobs
    assert not {job for job in jobs if job.startswith(("Train", "Answers", "Training rows", "Verdicts of encoder on solid"))}
    return made


def planned_with(run: Workspace, section: str, **blocks: dict) -> set[str]:
    """Messages of the jobs that a run would start with other blocks in a section of the configuration."""
    before = run.config
    run.configure(before | {section: before[section] | blocks})
    try:
        return run.planned()
    finally:
        run.configure(before)


def table(run: Workspace, path: str) -> pd.DataFrame:
    return pd.read_parquet(run.folder / "results" / path)


@pytest.mark.parametrize("model", ["solid", "weak"])
def test_the_verdicts_are_those_of_whoever_was_sure(combined: Workspace, model: str) -> None:
    found = table(combined, f"labels/both/{model}/mini_test.parquet")
    assert found["sample_id"].tolist() == table(combined, f"candidates/{model}/mini_test.parquet")["sample_id"].tolist()
    # The encoder is asked about all answers anyway, the teacher only about what is left to it.
    asked = {"overlap": model, "encoder": model, "noisy": f"{model}@both@noisy"}
    said = {judge: table(combined, f"labels/{judge}/{name}/mini_test.parquet") for judge, name in asked.items()}
    verdicts = {judge: labels.set_index("sample_id")["verdict"] for judge, labels in said.items()}
    deciders = found["decided_by"]
    assert found["verdict"].tolist() == [verdicts[judge][i] for judge, i in zip(deciders, found["sample_id"], strict=True)]
    assert said["noisy"]["sample_id"].tolist() == found.loc[deciders == "noisy", "sample_id"].tolist()
    assert table(combined, f"scores/{model}/mini_test.parquet")["both_verdict"].tolist() == found["verdict"].tolist()


def test_the_teacher_is_not_asked_about_its_own_labels(combined: Workspace) -> None:
    assert combined.found("results/labels/encoder/@mix/validation.parquet")
    assert not combined.found("results/labels/noisy/@mix/*")


def test_the_report_shows_the_cascade_beside_its_judge(combined: Workspace) -> None:
    page = (combined.folder / "results/report.html").read_text("utf-8")
    assert "both" in page
    assert {"encoder", "both"} <= set(table(combined, "agreement.parquet")["judge"])


def test_a_second_run_has_nothing_to_do(combined: Workspace) -> None:
    assert combined.run().idle


def test_a_new_text_version_relabels_what_reads_words(combined: Workspace, tmp_path: Path) -> None:
    """The teacher, who knows the truth, keeps its labels; the cascade is fitted on those of its members."""
    old, new = (f"TEXT_VERSION = {version}" for version in (TEXT_VERSION, TEXT_VERSION + 1))
    planned = combined.planned_with(edited_library(tmp_path, "text/__init__.py", old, new))
    judges = ("strict", "overlap", "encoder", "both")
    labels = {f"Verdicts of {judge} on {model}, mini_test" for judge in judges for model in ("solid", "weak")}
    scores = {f"Scores of {model} on mini_test" for model in ("solid", "weak")}
    selected = {f"Select answers of {model} to mini_test that both escalates to noisy" for model in ("solid", "weak")}
    escalated = {f"Verdicts of noisy on {model}@both@noisy, mini_test" for model in ("solid", "weak")}
    held_out = {f"Verdicts of {judge} on @mix, validation" for judge in ("overlap", "encoder")}
    made_of_these = {*scores, *selected, *escalated, "Train encoder", "Fit both", "Evaluate cascades", "Standings", "Report"}
    assert planned == labels | held_out | made_of_these


def test_other_settings_judge_anew_and_train_nothing(combined: Workspace) -> None:
    planned = planned_with(combined, "judges", both=CASCADE | {"budget": 0.1})
    assert {"Fit both", "Verdicts of both on solid, mini_test"} <= planned
    assert not {job for job in planned if job.startswith(("Train", "Answers", "Training rows", "Verdicts of encoder"))}


def test_a_new_model_brings_its_own_jobs_only(combined: Workspace) -> None:
    planned = planned_with(combined, "models", new={"generator": "simulated", "p_correct": 0.5})
    assert "Select answers of new to mini_test that both escalates to noisy" in planned
    assert {job for job in planned if "solid" in job or "weak" in job or job.startswith(("Train", "Fit"))} == set()
