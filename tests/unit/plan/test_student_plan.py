"""Filters and students in a configuration: their names, their specs, and what is wrong with them."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from bert_judge import plan
from bert_judge.runtime.errors import ConfigError

RAW: dict[str, Any] = {
    "models": {
        "sim": {"generator": "simulated", "p_correct": 0.5},
        "base": {"generator": "hf", "model": "owner/base"},
        "pupil": {"generator": "student", "model": "owner/base", "filters": ["best", "chance", "all-of-it"]},
    },
    "tasks": {"train": ["facts_train"], "test": ["facts_test"]},
    "judges": {
        "truth": {"kind": "imported"},
        "contains": {"kind": "lexical", "metric": "contains"},
        "trained": {"kind": "bert", "dataset": "taught"},
    },
    "datasets": {"taught": {"teacher": "contains", "tasks": ["facts_train"]}},
    "filters": {
        "best": {"judge": "contains", "keep": [10, 12.5], "tasks": ["facts_train"]},
        "chance": {"judge": "random", "keep": 10, "tasks": ["facts_train"], "models": ["sim"]},
        "all-of-it": {"judge": "all", "tasks": ["facts_train"], "models": ["sim"]},
    },
    "scorers": ["contains"],
}
STUDENTS = {"pupil-best-10", "pupil-best-12.5", "pupil-chance-10", "pupil-all-of-it-100"}


def changed(**changes: Any) -> dict[str, Any]:
    """The configuration with `models__pupil={...}` laid over the block `models.pupil`."""
    raw = copy.deepcopy(RAW)
    for path, values in changes.items():
        block, _, key = path.partition("__")
        raw[block][key] = {**raw[block].get(key, {}), **values}
    return raw


def test_a_student_per_filter_and_percentage() -> None:
    made = plan.build_plan(RAW)
    assert set(made.models) == {"sim", "base", *STUDENTS}
    assert set(made.students) == STUDENTS
    assert made.filtered == [("best", "10"), ("best", "12.5"), ("chance", "10"), ("all-of-it", "100")]
    assert {model for model, _ in made.score_tables} == {"sim", "base", *STUDENTS}
    # One base model is fetched, whoever learns; and nobody learns from students unless told.
    assert {name for name in made.assets if not name.startswith("judge")} == {"model-base", "base-pupil"}
    assert made.filter_tables("best") == [("base", "facts_train"), ("sim", "facts_train")]
    assert made.dataset_tables("taught") == [("base", "facts_train"), ("sim", "facts_train")]


def test_a_spec_says_what_made_a_student() -> None:
    spec = plan.build_plan(RAW).candidates_spec("pupil-best-10", "facts_test")
    assert "filters" not in spec["settings"] and "training" not in spec["settings"]
    student = spec["student"]
    assert (student["base"], student["recipe"]) == ({"model": "owner/base", "revision": None}, "pupil")
    assert student["training"]["learning_rate"] == 1e-4
    assert student["families"] == {"facts_train": "short_answer"}
    kept = student["filter"]
    assert (kept["judge"], kept["keep"], kept["tables"]) == ("contains", 10.0, [["base", "facts_train"], ["sim", "facts_train"]])


@pytest.mark.parametrize(
    ("changes", "touched"),
    [
        ({"filters__best": {"keep": [10, 12.5, 30]}}, set()),
        ({"models__other": {"generator": "simulated", "p_correct": 0.1}}, {"pupil-best-10", "pupil-best-12.5"}),
        ({"filters__best": {"seed": 1}}, {"pupil-best-10", "pupil-best-12.5"}),
        ({"filters__chance": {"per_question": None}}, {"pupil-chance-10"}),
        ({"models__pupil": {"training": {"epochs": 3}}}, STUDENTS),
        ({"models__pupil": {"training": {"micro_batch_size": 4, "gradient_checkpointing": True}}}, set()),
        ({"models__pupil": {"filters": ["best", "chance"]}}, set()),
        ({"filters__chance": {"allow_test_questions": True}}, set()),
    ],
)
def test_a_change_touches_the_students_that_it_concerns(changes: dict[str, Any], touched: set[str]) -> None:
    before, after = plan.build_plan(RAW), plan.build_plan(changed(**changes))
    common = STUDENTS & set(after.students)
    assert {name for name in common if before.student_spec(name) != after.student_spec(name)} == touched
    answers = {n for n in common if before.candidates_spec(n, "facts_test") != after.candidates_spec(n, "facts_test")}
    assert answers == touched


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        (
            {"filters__best": {"judge": "nobody"}},
            "filters.best.judge: 'nobody' is not defined under judges; choose one of: truth",
        ),
        (
            {"filters__best": {"tasks": ["facts_test"]}},
            "filters.best.tasks: 'facts_test' is a test task; list it under tasks.train",
        ),
        ({"filters__best": {"tasks": ["none"]}}, "filters.best.tasks: 'none' is not listed under tasks.train; choose one of: "),
        (
            {"filters__best": {"models": ["none"]}},
            "filters.best.models: 'none' is not defined under models; choose one of: sim",
        ),
        ({"filters__best": {"models": ["pupil-chance-10"]}}, "filters.best.models: 'pupil-chance-10' is a student and cannot"),
        ({"datasets__taught": {"models": ["pupil-chance-10"]}}, "datasets.taught.models: 'pupil-chance-10' is a student and"),
        ({"filters__best": {"judge": "truth"}}, "filters.best.judge: 'truth' judges simulated models only"),
        ({"filters__best": {"keep": 0}}, "filters.best.keep: must be"),
        ({"filters__best": {"keep": [10, 101]}}, "filters.best.keep: must be"),
        ({"filters__best": {"keep": [10, 10.0]}}, "filters.best: keep lists 10 twice; remove one"),
        ({"filters__best": {"keep": None}}, "filters.best: keep is missing; set the percentage of the answers to keep"),
        ({"filters__all-of-it": {"keep": 20}}, "filters.all-of-it: judge `all` keeps everything; remove keep"),
        ({"filters__best": {"models": ["sim", "sim"]}}, "filters.best.models: 'sim' is listed twice; remove one"),
        (
            {"models__pupil": {"filters": ["none"]}},
            "models.pupil.filters: 'none' is not defined under filters; choose one of: best",
        ),
        ({"models__pupil": {"filters": []}}, "models.pupil.filters: must be a longer list"),
        (
            {"models__pupil": {"training": {"batch_size": 4, "micro_batch_size": 3}}},
            "models.pupil.training: batch_size 4 must be a",
        ),
        ({"models__pupil": {"model": "./none"}}, "models.pupil.model: './none': no such folder; fix the path"),
        (
            {"models__pupil-best-10": {"generator": "simulated", "p_correct": 1}},
            "models.pupil: a student would be called 'pupil-best-10', which is taken; rename one",
        ),
        ({"judges__all": {"kind": "lexical", "metric": "contains"}}, "filters.all-of-it.judge: 'all' is reserved for a selection"),
    ],
)
def test_what_is_wrong_is_told_in_one_line(changes: dict[str, Any], line: str) -> None:
    with pytest.raises(ConfigError) as caught:
        plan.build_plan(changed(**changes))
    assert [fault for fault in caught.value.errors if fault.startswith(line)], caught.value.errors


def test_targets_need_what_students_learn_from() -> None:
    made = plan.build_plan(RAW)
    train = {("base", "facts_train"), ("sim", "facts_train")}
    assert made.required_answers(["results/students/pupil-best-10/manifest.json"]) == train
    assert made.required_answers(["results/filtered/chance/10.parquet"]) == {("sim", "facts_train")}
    own = ("pupil-chance-10", "facts_test")
    assert made.required_answers(["results/candidates/pupil-chance-10/facts_test.parquet"]) == {
        own,
        ("sim", "facts_train"),
    }
    wanted = {("contains", *pair) for pair in train}
    assert made.required_labels(["results/filtered/best/10.parquet"]) == wanted


def test_the_base_model_of_the_comparison_is_the_one_that_answers_too() -> None:
    assert plan.build_plan(RAW).students_spec()["bases"] == {"pupil": "base"}
    other = changed(models__base={"model": "owner/other"})
    assert plan.build_plan(other).students_spec()["bases"] == {}
