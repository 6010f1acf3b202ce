"""Sources in a configuration: their faults, their specs and assets, and that a new one makes no other task stale."""

import copy
from pathlib import Path
from typing import Any

import pytest

from bert_judge import plan, tables
from bert_judge.runtime.errors import ConfigError
from bert_judge.tasks.registry import published_sources


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "quiz.jsonl").write_text('{"question": "q", "answer": "a"}\n')
    (tmp_path / "answers.jsonl").write_text('{"question": "q", "references": ["a"], "candidate": "a", "model": "m"}\n')
    return tmp_path


def raw(data: Path) -> dict[str, Any]:
    return {
        "data": str(data),
        "models": {"m": {"generator": "simulated", "p_correct": 0.5}},
        "tasks": {"test": ["facts_test", "gsm8k_test"]},
        "judges": {"exact": {"kind": "lexical", "metric": "exact_match"}},
        "scorers": ["exact"],
    }


def with_source(data: Path, **entry: Any) -> dict[str, Any]:
    """A configuration with the source `quiz`; a key that is None is left out."""
    whole = {"path": "quiz.jsonl", "family": "short_answer", **entry}
    changed = raw(data)
    changed["tasks"] |= {"sources": {"quiz": {key: value for key, value in whole.items() if value is not None}}}
    return changed


def faults(raw: dict[str, Any]) -> list[str]:
    with pytest.raises(ConfigError) as told:
        plan.build_plan(raw)
    return told.value.errors


CHOICES = {"choices": "options"}
BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no place": ({"path": None}, "tasks.sources.quiz: give either the repository of a data set or the path of a file"),
    "two places": ({"repository": "a/b"}, "tasks.sources.quiz: give either the repository of a data set or the path of a file"),
    "split of a file": ({"split": "train"}, "tasks.sources.quiz: a file has no split; remove what is set here"),
    "no such file": ({"path": "quizz.jsonl"}, "tasks.sources.quiz.path: {data}/quizz.jsonl: no such file"),
    "no family": ({"family": None}, "tasks.sources.quiz.family: is missing; expected: task family"),
    "unknown family": (
        {"family": "poetry"},
        "tasks.sources.quiz.family: must be 'multiple_choice', 'reading', 'math' or 'short_answer'",
    ),
    "unknown key": ({"colums": {}}, "tasks.sources.quiz.colums: unknown key; did you mean 'columns'?"),
    "unknown column": ({"columns": {"answers": "a"}}, "tasks.sources.quiz.columns.answers: unknown key; did you mean 'answer'?"),
    "choice without options": ({"family": "multiple_choice"}, "tasks.sources.quiz: a multiple-choice task needs columns.choices"),
    "choice with two answers": (
        {"family": "multiple_choice", "columns": {**CHOICES, "answer": ["a", "b"]}},
        "tasks.sources.quiz: a multiple-choice task has one column for the answer",
    ),
    "options of another family": (
        {"columns": CHOICES},
        "tasks.sources.quiz: columns.choices, columns.labels and shuffle belong to",
    ),
    "reading without a text": ({"family": "reading"}, "tasks.sources.quiz: a reading task needs columns.context"),
    "form of another family": (
        {"answer_form": "boxed"},
        "tasks.sources.quiz: the answer_form boxed belongs to math, not short_answer",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_source_is_told_in_one_line(case: str, data: Path) -> None:
    changes, line = BAD[case]
    found = faults(with_source(data, **changes))
    assert len([fault for fault in found if fault.startswith(line.format(data=data))]) == 1, found
    assert all("\n" not in fault for fault in found)


TASKS: dict[str, tuple[dict[str, Any], str]] = {
    "a function's name": (
        {"sources": {"facts_test": {"path": "quiz.jsonl", "family": "math"}}},
        "tasks.sources.facts_test: a task function has this name; choose another",
    ),
    "an imported task's name": (
        {"sources": {"quiz": {"path": "quiz.jsonl", "family": "math"}}, "imported": {"quiz": {"from": "answers"}}},
        "tasks.sources.quiz: an imported task has this name; choose another",
    ),
    "limit of no task": ({"limit": {"mmlu_test": 5}}, "tasks.limit: 'mmlu_test' is listed neither under train nor under test"),
    "limit of an imported task": (
        {"test": ["facts_test", "old"], "imported": {"old": {"from": "answers"}}, "limit": {"old": 5}},
        "tasks.limit: 'old' is an imported task; take a part of it with tasks.imported.old.question_split",
    ),
    "limit of nothing": ({"limit": {"gsm8k_test": 0}}, "tasks.limit.gsm8k_test: must be greater than 0; got 0"),
    # What is known depends on the task files that this process has loaded.
    "unknown task": ({"test": ["gsm8k"]}, "tasks.test: unknown task 'gsm8k'; did you mean 'gsm8k_test'?"),
}


@pytest.mark.parametrize("case", TASKS)
def test_a_bad_list_of_tasks_is_told_in_one_line(case: str, data: Path) -> None:
    changes, line = TASKS[case]
    changed = raw(data) | {"imports": {"answers": {"path": "answers.jsonl"}}}
    changed["tasks"] |= changes
    found = faults(changed)
    assert len([fault for fault in found if fault.startswith(line)]) == 1, found


def test_a_users_function_may_not_hide_a_published_task(data: Path) -> None:
    code = (
        "from bert_judge.tasks import Sample, task\n\n\n"
        '@task("drop_test", family="math")\ndef f():\n    yield Sample("q", ("a",))\n'
    )
    (data / "mine.py").write_text(code)
    from bert_judge.tasks import registry

    try:
        found = faults(raw(data) | {"task_files": [str(data / "mine.py")]})
    finally:
        registry._tasks.pop("drop_test", None)
    assert found == ["task_files: 'drop_test' is the name of a published task; choose another"]


def test_a_data_set_of_the_hub_is_an_asset_and_a_file_is_none(data: Path) -> None:
    changed = with_source(data)
    changed["tasks"]["test"].append("quiz")
    made = plan.build_plan(changed)
    assert made.assets == {
        "task-gsm8k_test": {
            "repository": "openai/gsm8k",
            "revision": published_sources()["gsm8k_test"].revision,
            "data_set": {"config": ["main"], "split": "test"},
        }
    }
    assert made.source_file("quiz") == data / "quiz.jsonl"
    assert made.source_file("gsm8k_test") is None and made.source_file("facts_test") is None
    assert (made.family("quiz"), made.family("gsm8k_test"), made.family("facts_test")) == ("short_answer", "math", "short_answer")
    assert str(data) not in tables.canonical(made.task_spec("quiz"))


def test_the_configurations_own_definition_takes_the_place_of_a_published_task(data: Path) -> None:
    changed = raw(data) | {"imports": {"answers": {"path": "answers.jsonl"}}}
    changed["tasks"] |= {"imported": {"gsm8k_test": {"from": "answers", "family": "short_answer"}}}
    made = plan.build_plan(changed)
    assert made.assets == {} and made.family("gsm8k_test") == "short_answer"
    assert "source" not in made.task_spec("gsm8k_test")

    changed = raw(data)
    changed["tasks"] |= {"sources": {"gsm8k_test": {"path": "quiz.jsonl", "family": "math"}}}
    made = plan.build_plan(changed)
    assert made.assets == {} and made.source_file("gsm8k_test") == data / "quiz.jsonl"


def test_a_new_source_or_limit_touches_no_other_task(data: Path) -> None:
    before = plan.build_plan(raw(data))
    changed = with_source(data)
    changed["tasks"]["test"].append("quiz")
    changed["tasks"]["limit"] = {"quiz": 3}
    after = plan.build_plan(changed)
    for task in before.tasks:
        assert after.task_spec(task) == before.task_spec(task)
        assert after.candidates_spec("m", task) == before.candidates_spec("m", task)
    assert before.task_spec("facts_test") == {"task": "facts_test"}


def test_a_limit_is_part_of_its_tasks_spec_only(data: Path) -> None:
    changed = copy.deepcopy(raw(data))
    changed["tasks"]["limit"] = {"gsm8k_test": 100}
    before, after = plan.build_plan(raw(data)), plan.build_plan(changed)
    assert after.task_spec("gsm8k_test") == {**before.task_spec("gsm8k_test"), "limit": 100}
    assert after.candidates_spec("m", "gsm8k_test") == before.candidates_spec("m", "gsm8k_test")
    assert after.assets == before.assets
