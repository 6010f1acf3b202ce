"""Batches of a trained judge: at least two tables of a model that have no labels yet, split into shards of rows on request."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bert_judge import plan
from bert_judge.judges import Label, Row, decided
from bert_judge.judges.protocol import LazyJudge
from bert_judge.plan import batches
from bert_judge.runtime import resume

SIMULATED = {"generator": "simulated", "p_correct": 0.5}
CONFIG: dict[str, Any] = {
    "models": {"a": SIMULATED, "b": SIMULATED},
    "tasks": {"train": ["facts_train"], "test": ["facts_test", "word_problems_test", "multiple_choice_test"]},
    "datasets": {"mix": {"teacher": "truth", "tasks": ["facts_train"], "models": ["b"]}},
    "judges": {"truth": {"kind": "imported"}, "first": {"kind": "bert", "dataset": "mix"}},
    "scorers": ["truth", "first"],
}
NEEDED = {("first", "a", task) for task in CONFIG["tasks"]["test"]}


@pytest.fixture(scope="module")
def planned() -> plan.Plan:
    return plan.build_plan(CONFIG)


def found(
    planned: plan.Plan, folder: Path, alone: set[str] | None = None, needed: set[tuple[str, str, str]] = NEEDED
) -> batches.Batches:
    return batches.plan_label_batches(planned, "first", "a", needed, folder=folder, exists=(alone or set()).__contains__)


def together(made: batches.Batches) -> list[list[str]]:
    """The tasks of each batch that is not done."""
    return [sorted(batch.specs) for name, batch in made.by_name.items() if name not in made.done]


@pytest.mark.parametrize(
    ("alone", "expected"),
    [
        (set(), [["facts_test", "multiple_choice_test", "word_problems_test"]]),
        # A table that exists joins no batch; and one is no batch.
        ({"facts_test"}, [["multiple_choice_test", "word_problems_test"]]),
        ({"facts_test", "word_problems_test"}, []),
        ({"facts_test", "word_problems_test", "multiple_choice_test"}, []),
    ],
)
def test_what_is_judged_together(planned: plan.Plan, tmp_path: Path, alone: set[str], expected: list[list[str]]) -> None:
    made = found(planned, tmp_path, alone)
    assert together(made) == expected
    assert sorted(made.names_by_task) == sorted(task for batch in expected for task in batch)


def test_only_what_is_needed_and_its_own_answers(planned: plan.Plan, tmp_path: Path) -> None:
    others = {("first", "b", "facts_test"), ("truth", "a", "facts_test")}
    assert together(found(planned, tmp_path, needed=others | {("first", "a", "facts_test")})) == []
    [batch] = found(planned, tmp_path).by_name.values()
    assert batch.inputs == {f"answers {task}": f"results/candidates/a/{task}.parquet" for task in CONFIG["tasks"]["test"]}


def test_a_table_stays_in_its_batch_and_leaves_it_with_the_training(planned: plan.Plan, tmp_path: Path) -> None:
    [(name, batch)] = found(planned, tmp_path).by_name.items()
    resume.write_manifest(batch, tmp_path / f"{name}.json")
    everything = set(CONFIG["tasks"]["test"])
    again = found(planned, tmp_path, everything)
    assert again.names_by_task == {task: [name] for task in everything} and again.done == {name}
    # Retraining repeats all labels in one batch, although their tables exist.
    judges = {**CONFIG["judges"], "first": {**CONFIG["judges"]["first"], "training": {"epochs": 1}}}
    assert together(found(plan.build_plan({**CONFIG, "judges": judges}), tmp_path, everything)) == [sorted(everything)]


def with_shards(count: int) -> plan.Plan:
    judges = {**CONFIG["judges"], "first": {**CONFIG["judges"]["first"], "num_shards": count}}
    return plan.build_plan({**CONFIG, "judges": judges})


def shards(made: batches.Batches, task: str) -> list[str]:
    return [made.by_name[name].specs[task]["shard"] for name in made.names_by_task.get(task, [])]


def test_shards_cover_all_tables_of_a_model_and_a_single_one(tmp_path: Path) -> None:
    made = found(with_shards(3), tmp_path)
    assert together(made) == [sorted(CONFIG["tasks"]["test"])] * 3
    names = ["1-of-3", "2-of-3", "3-of-3"]
    assert all(shards(made, task) == names for task in CONFIG["tasks"]["test"])
    alone = found(with_shards(3), tmp_path, {"word_problems_test", "multiple_choice_test"})
    assert (together(alone), shards(alone, "facts_test")) == ([["facts_test"]] * 3, names)


@pytest.mark.parametrize(
    ("finished", "exists", "wanted", "names"),
    [
        # A table that its own job labelled: another number leaves it alone.
        ([], True, 2, []),
        # Labelled in three shards, or on the way to it: so it stays.
        ([1, 2, 3], True, 1, ["1-of-3", "2-of-3", "3-of-3"]),
        ([1, 2, 3], False, 2, ["1-of-3", "2-of-3", "3-of-3"]),
        ([2], False, 5, ["1-of-3", "2-of-3", "3-of-3"]),
    ],
)
def test_manifests_take_precedence_over_the_number_of_shards(
    tmp_path: Path, finished: list[int], exists: bool, wanted: int, names: list[str]
) -> None:
    needed = {("first", "a", "facts_test")}
    three = found(with_shards(3), tmp_path, needed=needed)
    for number in finished:
        batch = three.by_name[three.names_by_task["facts_test"][number - 1]]
        resume.write_manifest(batch, tmp_path / f"{batch.name}.json")
    made = found(with_shards(wanted), tmp_path, {"facts_test"} if exists else set(), needed)
    assert shards(made, "facts_test") == names
    assert len(together(made)) == len(names) - len(finished)


def test_the_number_of_shards_is_in_no_spec(planned: plan.Plan) -> None:
    four = with_shards(4)
    assert planned.training_spec("first") == four.training_spec("first")
    assert planned.labels_spec("first", "a", "facts_test") == four.labels_spec("first", "a", "facts_test")


class Kind:
    """A judge to which every answer is right."""

    def __init__(self) -> None:
        self.revisions: dict[str, str] = {}

    def judge(self, rows: Sequence[Row]) -> list[Label]:
        return [decided(1.0) for _ in rows]


def test_a_judge_is_loaded_once_and_only_when_a_row_comes() -> None:
    made: list[Kind] = []

    def load() -> Kind:
        made.append(Kind())
        return made[-1]

    judge = LazyJudge({"first": "r"}, load)
    assert judge.revisions == {"first": "r"} and made == []
    row = Row("0", 0, "a", "1 + 1?", ("2",), "2")
    assert [label.verdict for label in judge.judge([row]) + judge.judge([row, row])] == ["correct"] * 3
    assert len(made) == 1
