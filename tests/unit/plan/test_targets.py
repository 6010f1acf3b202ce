"""Which answers a target needs: exactly those, so that a job for many tables generates no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bert_judge import plan
from bert_judge.plan import batches
from bert_judge.runtime import resume

VLLM = {"generator": "vllm", "model": "owner/name"}
CONFIG: dict[str, Any] = {
    "models": {"a": VLLM, "b": VLLM},
    "tasks": {"train": ["sums_train"], "test": ["sums", "capitals"]},
    "datasets": {
        "mix": {"teacher": "strict", "tasks": ["sums_train"], "models": ["b"]},
        "second": {"teacher": "first", "tasks": ["sums_train"], "models": ["a"]},
    },
    "judges": {
        "strict": {"kind": "lexical", "metric": "exact_match"},
        "first": {"kind": "bert", "dataset": "mix"},
        "later": {"kind": "bert", "dataset": "second"},
        "dear": {"kind": "llm", "model": VLLM},
        "both": {"kind": "cascade", "judges": ["first", "dear"], "dataset": "mix", "budget": 0.1},
    },
    "scorers": ["strict", "first"],
}
TASKS = """
from bert_judge.tasks import Sample, task
for name in ("sums_train", "sums", "capitals"):
    task(name, family="math")(lambda: iter([Sample("1 + 1?", ("2",))]))
"""
TESTS = {(m, t) for m in "ab" for t in ("sums", "capitals")}
MIX, SECOND = ("b", "sums_train"), ("a", "sums_train")


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> plan.Plan:
    path = tmp_path_factory.mktemp("tasks") / "tasks_of_batches.py"
    path.write_text(TASKS)
    return plan.build_plan({**CONFIG, "task_files": [str(path)]})


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ([], TESTS | {MIX, SECOND}),
        (["all"], TESTS | {MIX, SECOND}),
        # The dataset of a judge that is no scorer is not needed.
        (["scores"], TESTS | {MIX}),
        (["results/report.html"], TESTS | {MIX, SECOND}),
        (["prepare"], set()),
        (["results/prepared/model-a.json", "results/tasks/sums.parquet"], set()),
        (["datasets"], {MIX, SECOND}),
        (["judges"], {MIX, SECOND}),
        (["results/datasets/mix/train.parquet"], {MIX}),
        (["results/judges/first/judge.json"], {MIX}),
        # A teacher that is trained itself.
        (["results/judges/later/judge.json"], {MIX, SECOND}),
        (["results/candidates/a/sums.parquet"], {("a", "sums")}),
        (["results/candidates/a/sums.parquet", "results/candidates/b/capitals.parquet"], {("a", "sums"), ("b", "capitals")}),
        (["results/labels/strict/a/sums.parquet"], {("a", "sums")}),
        (["results/labels/later/a/sums.parquet"], {("a", "sums"), MIX, SECOND}),
        (["results/scores/a/sums.parquet"], {("a", "sums"), MIX}),
    ],
)
def test_what_a_target_needs(planned: plan.Plan, asked: list[str], expected: set[tuple[str, str]]) -> None:
    assert planned.required_answers(asked or ["all"]) == expected


def test_a_job_knows_the_targets_of_its_run(planned: plan.Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    # Set, so that what the test sets goes with it.
    monkeypatch.setenv(batches.TARGETS_VARIABLE, "null")
    # A job that cannot tell answers nothing, rather than everything.
    assert batches.run_targets(False, ["results/candidates/a/sums.parquet"]) is None
    assert batches.run_targets(True, {"scores", "datasets"}) == ["datasets", "scores"]
    assert batches.run_targets(False, ["results/candidates/a/sums.parquet"]) == ["datasets", "scores"]


def made(planned: plan.Plan, folder: Path, *tasks: str) -> batches.Batches:
    return batches.plan_answer_batches(planned, "a", {("a", task) for task in tasks} | {("b", "capitals")}, folder)


def only_name(planned: batches.Batches, task: str) -> str:
    [name] = planned.names_by_task[task]
    return name


def answer(planned: plan.Plan, folder: Path, *tasks: str) -> resume.Batch:
    """Write the note of the batch that a run with these needs makes."""
    found = made(planned, folder, *tasks)
    batch = found.by_name[only_name(found, tasks[0])]
    resume.write_manifest(batch, folder / f"{batch.name}.json")
    return batch


def test_all_that_is_needed_is_one_batch(planned: plan.Plan, tmp_path: Path) -> None:
    found = made(planned, tmp_path, "sums", "capitals")
    assert only_name(found, "sums") == only_name(found, "capitals") != only_name(found, "sums_train")
    batch = found.by_name[only_name(found, "sums")]
    assert list(batch.specs) == ["capitals", "sums"]
    assert batch.specs["sums"] == {"answers": planned.candidates_spec("a", "sums"), "questions": planned.task_spec("sums")}
    # Its questions come from the user's file.
    assert {name.split()[0] for name in batch.inputs} == {"source"}


def test_a_table_stays_in_its_batch(planned: plan.Plan, tmp_path: Path) -> None:
    first = answer(planned, tmp_path, "sums", "capitals")
    for needs in [(), ("sums",), ("sums", "capitals"), ("capitals", "sums_train")]:
        found = made(planned, tmp_path, *needs)
        assert only_name(found, "sums") == only_name(found, "capitals") == first.name
        assert found.by_name[first.name] == first
        assert list(found.by_name[only_name(found, "sums_train")].specs) == ["sums_train"]


def test_other_settings_or_questions_are_another_batch(planned: plan.Plan, tmp_path: Path) -> None:
    first = answer(planned, tmp_path, "sums", "capitals")
    tasks = planned.config.tasks.model_copy(update={"limit": {"sums": 1}})
    limited = plan.Plan(planned.config.model_copy(update={"tasks": tasks}), planned.models)
    found = made(limited, tmp_path, "sums", "capitals")
    assert only_name(found, "capitals") == first.name
    assert list(found.by_name[only_name(found, "sums")].specs) == ["sums"]
    models = {name: model.model_copy(update={"max_new_tokens": 7}) for name, model in planned.models.items()}
    found = made(plan.Plan(planned.config, models), tmp_path, "sums", "capitals")
    assert list(found.by_name[only_name(found, "sums")].specs) == ["capitals", "sums"]
    assert only_name(found, "sums") != first.name


@pytest.mark.parametrize("content", ["", "{]", "[]", "null", '{"specs": {}}'])
def test_a_damaged_note_is_none(planned: plan.Plan, tmp_path: Path, content: str) -> None:
    name = answer(planned, tmp_path, "sums").name
    (tmp_path / f"{name}.json").write_text(content)
    assert only_name(made(planned, tmp_path, "sums", "capitals"), "sums") != name


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (
            [],
            {(judge, *pair) for judge in ("strict", "first") for pair in TESTS}
            | {("strict", *MIX), ("first", *SECOND)}
            # The cascade is no scorer, but it is fitted.
            | {("first", "@mix", "validation"), ("dear", "@mix", "validation")},
        ),
        (["candidates"], set()),
        (["results/candidates/a/sums.parquet", "results/tasks/sums.parquet"], set()),
        (["datasets"], {("strict", *MIX), ("first", *SECOND)}),
        (["results/judges/first/judge.json"], {("strict", *MIX)}),
        (["results/labels/later/a/sums.parquet"], {("later", "a", "sums"), ("strict", *MIX), ("first", *SECOND)}),
        (["results/scores/a/sums.parquet"], {("strict", "a", "sums"), ("first", "a", "sums"), ("strict", *MIX)}),
    ],
)
def test_which_verdicts_a_target_needs(planned: plan.Plan, asked: list[str], expected: set[tuple[str, str, str]]) -> None:
    assert planned.required_labels(asked or ["all"]) == expected


def test_batches_of_verdicts(planned: plan.Plan, tmp_path: Path) -> None:
    def found(plan: plan.Plan = planned, judge: str = "strict", *needed: tuple[str, str, str]) -> batches.Batches:
        return batches.plan_label_batches(
            plan, judge, "a", {("strict", "a", "sums"), ("strict", "a", "capitals"), *needed}, folder=tmp_path
        )

    first = found()
    name = only_name(first, "sums")
    assert name == only_name(first, "capitals") != only_name(first, "sums_train")
    assert name not in first.done
    assert first.by_name[name].inputs == {
        f"answers {task}": f"results/candidates/a/{task}.parquet" for task in ("capitals", "sums")
    }
    # Another judge's needs are no part of it, nor are its batches the same.
    assert only_name(found(planned, "first"), "sums") not in first.by_name
    resume.write_manifest(first.by_name[name], tmp_path / f"{name}.json")
    later = found(planned, "strict", ("strict", "a", "sums_train"))
    assert later.done == {name}
    assert only_name(later, "sums") == only_name(later, "capitals") == name
    assert list(later.by_name[only_name(later, "sums_train")].specs) == ["sums_train"]
    # New answers of one task are another batch, and leave the other table in its own.
    tasks = planned.config.tasks.model_copy(update={"limit": {"sums": 1}})
    limited = found(plan.Plan(planned.config.model_copy(update={"tasks": tasks}), planned.models))
    assert only_name(limited, "capitals") == name
    assert list(limited.by_name[only_name(limited, "sums")].specs) == ["sums"]


def test_a_cascade_needs_its_judges_on_what_is_left_to_them(planned: plan.Plan) -> None:
    asked = ["results/labels/both/a/sums.parquet"]
    taught = ("strict", *MIX)
    held_out = {("first", "@mix", "validation"), ("dear", "@mix", "validation")}
    own = {("both", "a", "sums"), ("first", "a", "sums"), ("dear", "a@both@dear", "sums")}
    assert planned.required_labels(asked or ["all"]) == {taught} | held_out | own
    # A selection has no answers of its own to generate.
    assert planned.required_answers(asked or ["all"]) == {MIX, ("a", "sums")}


@pytest.mark.parametrize(("model", "tasks"), [("a@both@dear", ["sums"]), ("@mix", ["validation"])])
def test_a_selection_is_judged_in_a_batch(planned: plan.Plan, tmp_path: Path, model: str, tasks: list[str]) -> None:
    needed = planned.required_labels(["results/labels/both/a/sums.parquet"])
    found = batches.plan_label_batches(planned, "dear", model, needed, folder=tmp_path)
    batch = found.by_name[only_name(found, tasks[0])]
    assert list(batch.specs) == tasks
    assert batch.inputs == {f"answers {task}": f"results/candidates/{model}/{task}.parquet" for task in tasks}
    # The store of what a model said is that of the model under test.
    assert batch.specs[tasks[0]]["verdicts"]["model"] == model.split("@both")[0]
