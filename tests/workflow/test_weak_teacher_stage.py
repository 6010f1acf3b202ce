"""A dataset whose teacher leaves answers open asks another judge about them, in the tasks that are named and nowhere else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.workspace import Workspace

from bert_judge import tables

pytestmark = pytest.mark.workflow
DATASET = "results/datasets/answers/train.parquet"
# Of a number, half an overlap would be none.
WORDS = [f"{first}e{second}en" for first in "bdfgklmn" for second in "lmnrt"]
WEAK_TEACHER = {"teacher": "overlap", "tasks": ["capitals"]}


@pytest.fixture
def labelled(tmp_path: Path) -> Workspace:
    """Forty answers in each of two files; people have no verdict on every other one."""
    config: dict[str, Any] = {
        "data": ".",
        "imports": {name: {"path": f"{name}.jsonl"} for name in ("capitals", "rivers")},
        "models": {f"{name}-m": {"generator": "imported", "from": name, "model_name": "m"} for name in ("capitals", "rivers")},
        "tasks": {
            "train": ["capitals", "rivers"],
            "test": ["exam"],
            "imported": {
                "capitals": {"from": "capitals", "family": "short_answer"},
                "rivers": {"from": "rivers", "family": "short_answer", "question_split": [0, 0.7]},
                "exam": {"from": "rivers", "family": "short_answer", "question_split": [0.7, 1]},
            },
        },
        "datasets": {"answers": {"teacher": "people", "tasks": ["capitals", "rivers"], "validation_fraction": 0.2}},
        "judges": {
            "people": {"kind": "imported", "from": ["capitals", "rivers"]},
            "overlap": {"kind": "lexical", "metric": "rouge_l_recall", "threshold": 0.5},
        },
        "scorers": ["people"],
    }
    workspace = Workspace.create(tmp_path / "run", config)
    for name in ("capitals", "rivers"):
        rows = [
            {
                "model": "m",
                "question": f"{name}, Frage {i}?",
                "references": [f"Größe {WORDS[i]}"],
                "candidate": f"die Größe {WORDS[i] if i % 3 else 'andere'}",
                "label": None if i % 2 else float(bool(i % 3)),
            }
            for i in range(40)
        ]
        (workspace.folder / f"{name}.jsonl").write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return workspace


def test_open_answers_of_the_named_task_are_trained_on(labelled: Workspace) -> None:
    labelled.done(DATASET)
    before = tables.read(labelled.folder / DATASET, tables.DATASET)
    assert set(before["label"]) == {0.0, 1.0}

    config = labelled.config
    config["datasets"]["answers"]["weak_teacher"] = WEAK_TEACHER
    labelled.configure(config)
    assert labelled.done(DATASET).jobs == {"Verdicts of overlap on capitals-m, capitals", "Training rows of answers"}
    after = tables.read(labelled.folder / DATASET, tables.DATASET)
    weak = after.iloc[len(before) :]
    assert set(weak["task"]) == {"capitals"} and set(weak["label"]) == {0.5, 1.0}
    assert labelled.done(DATASET).idle
    folder = (labelled.folder / DATASET).parent
    assert len(weak) == json.loads((folder / "summary.json").read_text())["weak_teacher"]
    held_out = tables.read(folder / "validation_weak.parquet", tables.DATASET)
    assert len(held_out) and not set(held_out["question"]) & set(after["question"])
