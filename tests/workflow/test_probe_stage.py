"""A probe in the workflow: hidden states are read once, whatever is told from them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from helpers.workspace import Workspace, edited_library

from bert_judge import tables
from bert_judge.text import TEXT_VERSION

pytestmark = pytest.mark.workflow

RIGHT = {"head": "binary", "range": [0, 1]}
QUICK = {"classifiers": ["logistic"], "folds": 2, "max_concat_layers": 1, "pca_components": 5, "pooling": ["mean", "last"]}


@pytest.fixture(scope="module")
def probed(finished: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The finished run with a probe on the encoder's backbone. Tests must not change it."""
    made = finished.copy(tmp_path_factory.mktemp("probe") / "run")
    config = made.config
    backbone = config["judges"]["encoder"]["backbone"]
    config["judges"]["probe"] = {
        "kind": "probe",
        "dataset": "mix",
        "backbone": backbone,
        "aspects": {"correctness": RIGHT},
        **QUICK,
    }
    config["scorers"].append("probe")
    made.configure(config)
    made.done()
    return made


def features(run: Workspace) -> dict[Path, int]:
    """Table of hidden states → when it was written."""
    return {path.relative_to(run.folder): path.stat().st_mtime_ns for path in run.folder.glob("results/features/*/*/*.parquet")}


def test_every_answer_has_a_verdict_with_its_aspects(probed: Workspace) -> None:
    for model in ("solid", "weak"):
        labels = tables.read(probed.folder / f"results/labels/probe/{model}/mini_test.parquet", tables.LABELS)
        answers = tables.read(probed.folder / f"results/candidates/{model}/mini_test.parquet", tables.CANDIDATES)
        assert labels["sample_id"].tolist() == answers["sample_id"].tolist()
        assert all(set(aspects) == {"correctness"} for aspects in labels["aspects"])
        assert labels["score"].tolist() == pytest.approx([aspects["correctness"] for aspects in labels["aspects"]])
    metrics = json.loads((probed.folder / "results/judges/probe/metrics.json").read_text())["aspects"]["correctness"]
    assert set(metrics["test"]) == set(metrics["cross_validation"]) == {"probe", "majority", "length"}
    assert set(metrics["differences"]) == {"majority", "length"}
    card = (probed.folder / "results/judges/probe/README.md").read_text("utf-8")
    assert "| correctness | test split, never trained on | length |" in card
    assert "Reference-free probes" in (probed.folder / "results/report.html").read_text("utf-8")


def test_one_table_of_states_per_model_and_task(probed: Workspace) -> None:
    assert len({path.parts[2] for path in features(probed)}) == 1
    assert len(features(probed)) == 4


def test_a_second_run_has_nothing_to_do(probed: Workspace) -> None:
    assert probed.run().idle


def test_a_text_version_leaves_a_probe_that_words_did_not_teach(probed: Workspace, tmp_path: Path) -> None:
    old, new = (f"TEXT_VERSION = {version}" for version in (TEXT_VERSION, TEXT_VERSION + 1))
    planned = probed.planned_with(edited_library(tmp_path, "text/__init__.py", old, new))
    assert "Verdicts of encoder on solid, mini_test" in planned
    assert not {job for job in planned if "probe" in job or "idden states" in job}


def test_a_new_aspect_and_a_second_probe_read_no_states(probed: Workspace, tmp_path: Path) -> None:
    run = probed.copy(tmp_path / "run")
    before, config = features(run), run.config
    probe = config["judges"]["probe"]
    config["judges"]["probe"] = {**probe, "aspects": {"correctness": RIGHT, "other": RIGHT}}
    config["judges"]["second"] = {**probe, "classifiers": ["linear_svm"]}
    run.configure(config)
    assert not [job for job in run.planned() if "Hidden states" in job]
    assert features(run) == before


def test_a_new_model_is_read_alone(probed: Workspace, tmp_path: Path) -> None:
    run = probed.copy(tmp_path / "run")
    config = run.config
    config["models"]["new"] = {"generator": "simulated", "p_correct": 0.5}
    run.configure(config)
    jobs = run.planned()
    assert len([job for job in jobs if "Hidden states" in job]) == 1
    assert not [job for job in jobs if job.startswith(("Train", "Fit"))]


def test_another_prompt_has_states_of_its_own(probed: Workspace, tmp_path: Path) -> None:
    run = probed.copy(tmp_path / "run")
    config = run.config
    config["judges"]["probe"]["prompt"] = "{candidate}"
    run.configure(config)
    assert len([job for job in run.planned() if "Hidden states" in job]) == 4
