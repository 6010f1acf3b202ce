"""Filter and fine-tune: answers are chosen, students learn from them and are models like any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers import tiny_models
from helpers.workspace import Workspace
from safetensors.numpy import load_file
from test_kills import resumed
from test_reruns import SUMMARY_JOBS

from bert_judge import tables

pytestmark = pytest.mark.workflow

WORTH = "Evaluate students"


def school_config(base: Path) -> dict[str, Any]:
    return {
        "models": {
            "solid": {"generator": "simulated", "p_correct": 0.9},
            "base": {"generator": "hf", "model": str(base), "dtype": "float32", "max_new_tokens": 4},
            "pupil": {
                "generator": "student",
                "model": str(base),
                "dtype": "float32",
                "max_new_tokens": 4,
                "filters": ["best", "chance"],
                "training": {"epochs": 10, "batch_size": 4, "learning_rate": 1e-3},
            },
        },
        "tasks": {"train": ["mini_train"], "test": ["mini_test"]},
        "task_files": ["mini_tasks.py"],
        "prompt_style": "strict",
        "judges": {"noisy": {"kind": "imported", "label_noise": 0.05}, "strict": {"kind": "lexical", "metric": "exact_match"}},
        "filters": {
            "best": {"judge": "noisy", "keep": 20, "tasks": ["mini_train"], "models": ["solid"]},
            "chance": {"judge": "random", "keep": 20, "tasks": ["mini_train"], "models": ["solid"]},
        },
        "scorers": ["strict"],
    }


@pytest.fixture(scope="module")
def schooled(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A run with two students that has ended well. Tests must not change it."""
    folder = tmp_path_factory.mktemp("schooled")
    made = Workspace.create(folder / "run", school_config(tiny_models.causal_lm(folder / "tiny", template=None)))
    made.done()
    return made


@pytest.fixture
def school(schooled: Workspace, tmp_path: Path) -> Workspace:
    return schooled.copy(tmp_path / "run")


def own_tables(student: str) -> set[str]:
    return {
        *(f"results/students/{student}/{name}" for name in ("config.json", "model.safetensors", "metrics.json", "README.md")),
        *(f"results/students/{student}/{name}" for name in ("manifest.json", "tokenizer.json", "tokenizer_config.json")),
        f"results/students/{student}/generation_config.json",
        f"results/candidates/{student}/mini_test.parquet",
        f"results/labels/strict/{student}/mini_test.parquet",
        f"results/scores/{student}/mini_test.parquet",
    }


def test_students_flow_to_score_tables_and_the_report(schooled: Workspace) -> None:
    kept = tables.read(schooled.folder / "results/filtered/best/20.parquet", tables.FILTERED)
    # A fifth of sixty answers, and with so many right ones all of them are.
    assert (len(kept), set(kept["score"]), set(kept["model"])) == (12, {1.0}, {"solid"})
    worth = tables.read(schooled.folder / "results/students.parquet", tables.STUDENTS)
    worth = worth[worth["level"] == "task"]
    assert dict(zip(worth["model"], worth["answers"], strict=True)) == {"pupil-best-20": 12, "pupil-chance-20": 12, "base": 0}
    assert dict(zip(worth["model"], worth["control"], strict=True))["pupil-best-20"] == "pupil-chance-20"
    scores = tables.read(schooled.folder / "results/scores/pupil-best-20/mini_test.parquet", tables.scores_schema(["strict"]))
    assert len(scores) == 30
    spec = tables.provenance(schooled.folder / "results/candidates/pupil-best-20/mini_test.parquet")["spec"]
    assert '"student"' in spec and '"learning_rate":0.001' in spec and '"judge":"noisy"' in spec
    page = (schooled.folder / "results/report.html").read_text()
    assert 'id="students"' in page
    assert schooled.done("--dry-run").idle
    assert schooled.done("--dry-run", "students", "candidates", "labels").idle


def test_a_new_percentage_makes_its_own_table_and_student_and_the_summaries(school: Workspace) -> None:
    config = school.config
    config["filters"]["best"]["keep"] = [20, 50]
    school.configure(config)
    own = {"Train student pupil-best-50", "Answers of pupil-best-50 to mini_test", "Scores of pupil-best-50 on mini_test"}
    own |= {"Select 50% of the answers by best", "Verdicts of strict on pupil-best-50, mini_test"}
    assert school.planned() == {*own, *SUMMARY_JOBS, WORTH}


def test_a_new_model_touches_no_student(school: Workspace) -> None:
    config = school.config
    config["models"]["weak"] = {"generator": "simulated", "p_correct": 0.3}
    school.configure(config)
    own = {"Answers of weak to mini_test (simulated)", "Verdicts of strict on weak, mini_test", "Scores of weak on mini_test"}
    assert school.planned() == {*own, *SUMMARY_JOBS, WORTH}


def test_a_new_model_that_a_filter_chooses_from_trains_its_students_again(school: Workspace) -> None:
    config = school.config
    config["models"]["weak"] = {"generator": "simulated", "p_correct": 0.3}
    config["filters"]["best"]["models"] = ["solid", "weak"]
    school.configure(config)
    planned = school.planned()
    assert {"Train student pupil-best-20", "Answers of pupil-best-20 to mini_test"} <= planned
    assert "Train student pupil-chance-20" not in planned


def test_a_killed_training_goes_on_and_ends_with_the_same_weights(school: Workspace, schooled: Workspace) -> None:
    student = "results/students/pupil-best-20"
    for name in own_tables("pupil-best-20"):
        (school.folder / name).unlink()
    school.kill_when(lambda: school.has_checkpoint("students/pupil-best-20"))
    assert not school.found(f"{student}/manifest.json")
    resumed(school)
    assert "resuming from step" in school.log("students/pupil-best-20")
    weights = [load_file(place.folder / student / "model.safetensors") for place in (school, schooled)]
    assert weights[0].keys() == weights[1].keys()
    for name, values in weights[0].items():
        assert values == pytest.approx(weights[1][name], abs=1e-5), name
    assert not school.found("results/.work/students/*")


def test_a_question_of_a_test_is_refused_before_anything_is_learnt(school: Workspace) -> None:
    config = school.config
    config["tasks"]["test"].append("leaking_test")
    school.configure(config)
    result = school.run("results/candidates/pupil-best-20/leaking_test.parquet")
    assert result.code != 0
    log = school.log("overlap/filters/best/leaking_test")
    assert "filters.best: 1 questions of test task 'leaking_test' are in the training data (from 'mini_train')" in log
