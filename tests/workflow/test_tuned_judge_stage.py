"""A language model that is tuned to compare, in the workflow: trained, asked, and left alone by what does not concern it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tiny_models
from test_pairs_stage import LINES, table
from workspace import Workspace

from bert_judge import tables
from bert_judge.judges.llm.judge import PROBABILITY

pytestmark = pytest.mark.workflow

FOLDER = "results/judges/writer"
LABELS = "labels/writer/pairs/{}.parquet"


def small_config(folder: Path) -> dict[str, Any]:
    """Two models that meet, a file of people's labels, and a language model that learns from a part of it."""
    people = {"from": "people"}
    return {
        "imports": {"people": {"path": str(folder / "people.jsonl"), "pair_columns": {"reason": "why"}}},
        "models": {name: {"generator": "simulated", "p_correct": share} for name, share in (("solid", 0.9), ("weak", 0.3))},
        "tasks": {"test": ["mini_test"]},
        "task_files": ["mini_tasks.py"],
        "judges": {
            "strict": {"kind": "lexical", "metric": "exact_match"},
            "writer": {
                "kind": "pairwise",
                "pairs": "learn",
                "model": {"generator": "hf", "model": str(folder / "tiny"), "dtype": "float32"},
                "scores": True,
                "reasoning": False,
                "validation_fraction": 0.3,
                "tuning": {"epochs": 2, "batch_size": 2, "learning_rate": 1e-3},
            },
        },
        "scorers": ["strict"],
        "pairs": {
            "learn": {**people, "question_split": [0, 0.7]},
            "people": {**people, "question_split": [0.7, 1], "judges": ["writer"]},
            "arena": {"tasks": ["mini_test"], "rows": 3, "judges": ["writer"]},
        },
    }


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A run with a tuned judge that has ended well. Tests must not change it."""
    folder = tmp_path_factory.mktemp("tuned")
    tiny_models.causal_lm(folder / "tiny", window=2048)
    lines = [{**line, "why": f"Answer A is fruit {n}."} for n, line in enumerate(LINES)]
    (folder / "people.jsonl").write_text("\n".join(map(json.dumps, lines)), "utf-8")
    run = Workspace.create(folder / "run", small_config(folder))
    run.done("preferences", "ranks")
    return run


def test_it_is_trained_on_reasons_and_asked_for_scores(tuned: Workspace) -> None:
    metrics = json.loads((tuned.folder / FOLDER / "metrics.json").read_text())
    assert metrics["training"]["reasons"] == metrics["training"]["pairs"] > 4
    assert metrics["validation"]["n"] >= 1
    for name in ("people", "arena"):
        found = table(tuned, LABELS.format(name))
        assert set(found["reason"]) == {PROBABILITY}
        assert all(0 < score < 1 for score in found["score"])
    assert tables.provenance(tuned.folder / "results" / LABELS.format("people"))["revisions"]["writer"].startswith("local:")
    measured = tables.read(tuned.folder / "results/pair_agreement.parquet", tables.PAIR_AGREEMENT)
    assert "writer" in set(measured["judge"])


def test_a_second_run_has_nothing_to_do(tuned: Workspace) -> None:
    assert tuned.run("preferences", "ranks", "judges").idle


def test_a_new_model_adds_only_its_own_pairs(tuned: Workspace, tmp_path: Path) -> None:
    run = tuned.copy(tmp_path / "run")
    config = run.config
    config["models"]["new"] = {"generator": "simulated", "p_correct": 0.5}
    run.configure(config)
    planned = run.planned("preferences")
    assert {"Pairs of new@solid in arena", "Pairs of new@weak in arena", "Preferences of writer on arena"} <= planned
    assert not {job for job in planned if "solid@weak" in job or "people" in job or job.startswith(("Tune", "Train"))}


def test_more_writing_asks_anew_and_trains_nothing(tuned: Workspace, tmp_path: Path) -> None:
    run = tuned.copy(tmp_path / "run")
    config = run.config
    config["judges"]["writer"]["reasoning"] = True
    run.configure(config)
    assert run.planned("preferences") == {"Preferences of writer on arena", "Preferences of writer on people"}
    config["judges"]["writer"]["tuning"]["epochs"] = 9
    run.configure(config)
    assert "Fine-tune pairwise judge writer" in run.planned("preferences")
