"""Pairs in the workflow: tables per two models, a judge that is trained on some and compares others, and what a new model adds."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from helpers.workspace import Workspace

from bert_judge import tables

pytestmark = pytest.mark.workflow

LINES = [
    {"question": f"Name fruit {n}.", "answer_a": f"apple {n}", "answer_b": f"stone {n}", "label": "A", "votes": "1,1,2"}
    for n in range(20)
]


def with_pairs(run: Workspace, backbone: Path) -> Workspace:
    """The configuration with a set to learn from, one to compare, and one of a file."""
    (run.folder / "people.jsonl").write_text("\n".join(map(json.dumps, LINES)), "utf-8")
    config = run.config
    training = {"epochs": 1, "batch_size": 4}
    config["imports"] = {"people": {"path": "people.jsonl"}}
    config["judges"]["better"] = {"kind": "pairwise", "pairs": "learn", "backbone": str(backbone), "training": training}
    config["pairs"] = {
        "learn": {"tasks": ["mini_train"], "gold": "truth", "models": ["solid", "weak"]},
        "arena": {"tasks": ["mini_test"], "gold": "truth", "judges": ["better"]},
        "people": {"from": "people", "judges": ["better"]},
    }
    run.configure(config)
    return run


@pytest.fixture(scope="module")
def paired(finished: Workspace, backbone: Path, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The finished run with pairs. Tests must not change its results."""
    made = with_pairs(finished.copy(tmp_path_factory.mktemp("pairs") / "run"), backbone)
    made.done("preferences")
    return made


def table(run: Workspace, path: str) -> dict[str, list]:
    return pq.read_table(run.folder / "results" / path).to_pydict()


def test_every_pair_has_a_verdict_and_a_label(paired: Workspace) -> None:
    for name, part in (("arena", "solid@weak"), ("people", "imported")):
        pairs = table(paired, f"pairs/{name}/{part}.parquet")
        found = table(paired, f"labels/better/pairs/{name}.parquet")
        assert found["pair_id"] == pairs["pair_id"]
        assert set(found["verdict"]) <= {"A", "B", "tie"}
        assert all(found["consistent"])
    assert {*table(paired, "pairs/arena/solid@weak.parquet")["label"]} <= {"A", "B", "tie"}
    assert table(paired, "pairs/people/imported.parquet")["votes"] == [["A", "A", "B"]] * len(LINES)
    assert "it has no position bias" in (paired.folder / "results/judges/better/README.md").read_text()
    assert "agreement" in json.loads((paired.folder / "results/judges/better/metrics.json").read_text())["validation"]


def test_a_second_run_has_nothing_to_do(paired: Workspace) -> None:
    assert paired.run("preferences").idle


def test_a_new_model_adds_only_its_own_pairs(paired: Workspace, tmp_path: Path) -> None:
    run = paired.copy(tmp_path / "run")
    config = run.config
    config["models"]["new"] = {"generator": "simulated", "p_correct": 0.5}
    run.configure(config)
    before, old = run.times(), table(run, "labels/better/pairs/arena.parquet")
    planned = run.planned("preferences")
    assert {"Pairs of new@solid in arena", "Pairs of new@weak in arena", "Preferences of better on arena"} <= planned
    assert not {job for job in planned if "solid@weak" in job or "people" in job or job.startswith("Train")}
    run.done("preferences")
    assert "results/pairs/arena/solid@weak.parquet" not in run.changed_since(before)
    found = table(run, "labels/better/pairs/arena.parquet")
    assert len(found["pair_id"]) == 3 * len(old["pair_id"])
    # The encoder was asked about pairs of the new model's two meetings alone, and about equal pairs once.
    log, count = run.log("labels/better/pairs/arena"), len(old["pair_id"])
    asked = [int(number) for number in re.findall(r"/(\d+) pairs, ", log)]
    assert len(asked) == 2 and max(asked) == count
    assert f"{count} of {count} pairs are already done" in log
    assert run.run("preferences").idle


def test_another_label_trains_anew_and_another_file_does_not(paired: Workspace, tmp_path: Path) -> None:
    run = paired.copy(tmp_path / "run")
    config = run.config
    config["imports"]["people"]["path"] = str(run.folder / "people.jsonl")
    config["pairs"]["learn"]["seed"] = 1
    run.configure(config)
    assert "Train better" in run.planned("preferences")
    config["pairs"]["learn"]["seed"] = 0
    config["pairs"]["people"]["question_split"] = [0.0, 0.5]
    run.configure(config)
    planned = run.planned("preferences")
    assert "Pairs of the file of people" in planned
    assert not {job for job in planned if job.startswith("Train") or "arena" in job or "learn" in job}


def test_a_broken_file_fails_with_one_line_and_leaves_the_old_table(paired: Workspace, tmp_path: Path) -> None:
    run = paired.copy(tmp_path / "run")
    before = run.contents()
    (run.folder / "people.jsonl").write_text('{"question": "q", "answer_a": "x", "answer_b": "y", "label": "perhaps"}', "utf-8")
    config = run.config
    config["imports"]["people"]["path"] = str(run.folder / "people.jsonl")
    run.configure(config)
    assert run.run("results/pairs/people/imported.parquet").code != 0
    assert "use A, B or tie" in run.log("pairs/people/imported")
    assert "Traceback" not in run.log("pairs/people/imported")
    assert run.contents() == before


def test_killed_while_it_compares_and_then_finished(paired: Workspace, tmp_path: Path) -> None:
    run = paired.copy(tmp_path / "run")
    expected = table(run, "labels/better/pairs/arena.parquet")
    (run.folder / "results/labels/better/pairs/arena.parquet").unlink()
    shutil.rmtree(run.folder / "results/.work/store/preferences")
    run.kill_when(lambda: bool(run.found("results/.work/store/preferences/better/*.parquet")), "preferences")
    assert not run.found("results/labels/better/pairs/arena.parquet")
    run.done("--unlock")
    run.done("--rerun-incomplete", "preferences")
    assert table(run, "labels/better/pairs/arena.parquet") == expected
    assert list(tables.provenance(run.folder / "results/labels/better/pairs/arena.parquet")["revisions"]) == ["better"]
