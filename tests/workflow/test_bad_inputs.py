"""Bad input ends in a line that names the place and the remedy, an exit code above 0, and earlier results as they were."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.workspace import Workspace

pytestmark = pytest.mark.workflow

Rows = list[dict[str, Any]]
CONFIG_FAULTS: list[tuple[str, Callable[[dict[str, Any]], None], str]] = [
    (
        "unknown key",
        lambda c: c.update(modles={}),
        "modles: unknown key",
    ),
    (
        "unknown key of a block",
        lambda c: c["models"]["solid"].update(knowlege=0.5),
        "models.solid.knowlege: unknown key",
    ),
    (
        "number out of range",
        lambda c: c["models"]["weak"].update(p_correct=1.8),
        "models.weak.p_correct: must be less than or equal to 1; got 1.8",
    ),
    (
        "text instead of a number",
        lambda c: c["judges"]["overlap"].update(threshold="high"),
        "judges.overlap.threshold: must be a valid number, unable to parse string as a number; got 'high'",
    ),
    (
        "unknown kind",
        lambda c: c["judges"].update(oracle={"kind": "psychic"}),
        "judges.oracle",
    ),
    (
        "a name that can be no folder",
        lambda c: c["judges"].update({"a/b": {"kind": "imported"}}),
        "judges.a/b: ",
    ),
    (
        "dangling judge",
        lambda c: c["scorers"].append("nobody"),
        "scorers: 'nobody' is not defined",
    ),
    (
        "dangling dataset",
        lambda c: c["judges"]["encoder"].update(dataset="none"),
        "judges.encoder.dataset: 'none' is not defined",
    ),
    (
        "dangling teacher",
        lambda c: c["datasets"]["mix"].update(teacher="absent"),
        "datasets.mix.teacher: 'absent' is not defined",
    ),
    (
        "dangling task",
        lambda c: c["tasks"]["test"].append("missing_task"),
        "tasks.test: unknown task 'missing_task'",
    ),
    (
        "task twice",
        lambda c: c["tasks"]["test"].append("mini_test"),
        "'mini_test' is listed twice",
    ),
    (
        "missing imported file",
        lambda c: c.update(imports={"old": {"path": "/nowhere/old.parquet"}}),
        "/nowhere/old.parquet: no such file",
    ),
]


@pytest.fixture(scope="module")
def told(finished: Workspace, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What one run says about a configuration with all those faults."""
    run = finished.copy(tmp_path_factory.mktemp("faults") / "run")
    before = run.contents()
    config = run.config
    for _, spoil, _ in CONFIG_FAULTS:
        spoil(config)
    run.configure(config)
    result = run.run()
    assert result.code != 0
    assert run.contents() == before
    assert "Traceback" not in result.text
    return result.text


@pytest.mark.parametrize("expected", [case[2] for case in CONFIG_FAULTS], ids=[case[0] for case in CONFIG_FAULTS])
def test_faults_of_the_configuration_are_told_all_at_once(told: str, expected: str) -> None:
    lines = [line for line in told.splitlines() if expected in line]
    assert len(lines) == 1, told


def test_a_broken_configuration_file(run: Workspace) -> None:
    before = run.contents()
    (run.folder / "config.yaml").write_text("gold: truth\ngold: strict\n")
    result = run.run()
    assert result.code != 0
    assert "'gold' is there twice" in result.text
    assert "Traceback" not in result.text
    assert run.contents() == before


def test_a_task_file_that_is_not_there(run: Workspace) -> None:
    before = run.contents()
    run.configure(run.config | {"task_files": ["nowhere.py"]})
    result = run.run()
    assert result.code != 0
    assert "task_files: nowhere.py: no such Python file" in result.text
    assert run.contents() == before


def rows() -> Rows:
    """Twenty questions, two models, every third answer wrong."""
    return [
        {
            "id": f"{model}-{number}",
            "question": f"Wie viel ist {number} plus 2? (№ {number})",
            "references": [str(number + 2)],
            "candidate": f"Es sind {number + 2 + (number % 3 == 0)}.",
            "model": model,
            "label": int(number % 3 != 0),
        }
        for model in ("old-one", "old-two")
        for number in range(20)
    ]


def jsonl(records: Rows) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def changed(position: int, **values: Any) -> bytes:
    """The file with other values in one row."""
    records = rows()
    records[position].update(values)
    return jsonl(records)


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A finished run on answers from a file. Tests must not change it."""
    config = {
        "data": "data",
        "imports": {"old": {"path": "old.jsonl", "columns": {"id": "id"}}},
        "models": {"old-*": {"generator": "imported", "from": "old"}},
        "tasks": {"test": ["old_questions"], "imported": {"old_questions": {"from": "old"}}},
        "judges": {
            "person": {"kind": "imported", "from": "old"},
            "contains": {"kind": "lexical", "metric": "contains"},
        },
        "scorers": ["person", "contains"],
        "gold": "person",
    }
    workspace = Workspace.create(tmp_path_factory.mktemp("imported") / "run", config)
    (workspace.folder / "data").mkdir()
    (workspace.folder / "data/old.jsonl").write_bytes(jsonl(rows()))
    workspace.done()
    return workspace


def test_imported_answers_are_scored(imported: Workspace) -> None:
    assert imported.done("--dry-run").idle
    assert len(imported.found("results/scores/*/old_questions.parquet")) == 2


# The unit tests of the importers have the others.
FILE_FAULTS: dict[str, tuple[bytes | None, str]] = {
    "gone": (None, "old.jsonl: no such file; fix the path"),
    "not JSON": (jsonl(rows())[:-20], "old.jsonl: line 40 is not JSON"),
    "repeated id": (changed(3, id="old-one-2"), "old.jsonl: the id 'old-one-2' occurs at line 3 and again at line 4"),
}


@pytest.mark.parametrize("fault", FILE_FAULTS)
def test_a_bad_file_of_answers(imported: Workspace, tmp_path: Path, fault: str) -> None:
    run = imported.copy(tmp_path / "run")
    before = run.contents()
    content, expected = FILE_FAULTS[fault]
    file = run.folder / "data/old.jsonl"
    file.unlink() if content is None else file.write_bytes(content)
    result = run.run()
    assert result.code != 0
    assert len(result.told(expected)) == 1, result.text
    assert "Traceback" not in result.text
    assert run.contents() == before


def test_a_test_question_in_the_training_data_is_named(run: Workspace) -> None:
    config = run.config
    config["tasks"]["test"].append("leaking_test")
    run.configure(config)
    before = run.contents()
    result = run.run()
    assert result.code != 0
    assert "datasets.mix: 1 questions of test task 'leaking_test' are in the training data" in result.text
    assert "How much is 59 and 5?" in result.text
    # No verdict of the judge on the task that it was trained on, and no table that holds one.
    assert not run.found("results/labels/encoder/*/leaking_test.parquet")
    after = run.contents()
    assert {path: after[path] for path in before} == before


def test_a_shared_question_may_be_allowed(run: Workspace) -> None:
    config = run.config
    config["tasks"]["test"].append("leaking_test")
    config["datasets"]["mix"]["allow_test_questions"] = True
    run.configure(config)
    planned = run.planned()
    assert "Verdicts of encoder on solid, leaking_test" in planned
    assert "Train encoder" not in planned
