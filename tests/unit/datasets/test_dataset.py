"""Merging, folding, sampling, weighting and splitting of labelled answers; the check for test questions."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from helpers.dataset_tables import build, rows_of, spec_of, write_pair

from bert_judge import tables
from bert_judge.datasets.merge import balanced_weights, build_dataset, check_overlap, fold_duplicates, sample_mix
from bert_judge.runtime.errors import InputError


def test_question_is_in_one_split_across_tasks_and_models(tmp_path: Path) -> None:
    pairs = [("m1", "a"), ("m2", "a"), ("m1", "b")]
    paths = [write_pair(tmp_path, model, task, rows_of(60)) for model, task in pairs]
    train, validation, summary = build(tmp_path, spec_of(pairs), paths)
    assert not set(train["question"]) & set(validation["question"])
    # Equal answers of m1 and m2 to a question fold into one row.
    assert len(train) + len(validation) == 120 and summary["duplicates_folded"] == 60
    assert summary["train"]["rows"] == len(train) and summary["answers"] == 180
    assert 0.15 < len(validation) / 120 < 0.45


def test_labels_are_joined_by_id(tmp_path: Path) -> None:
    train, validation, _ = build(tmp_path, spec_of([("m", "a")]), [write_pair(tmp_path, "m", "a", rows_of(50))])
    for row in pd.concat([train, validation]).itertuples():
        assert row.label == float(row.candidate.startswith("Größe"))


def test_invalid_rows_are_dropped_and_counted(tmp_path: Path) -> None:
    rows = [*rows_of(40), *[(f"unsure {i}?", "r", "c", None) for i in range(7)]]
    train, validation, summary = build(tmp_path, spec_of([("m", "a")]), [write_pair(tmp_path, "m", "a", rows)])
    assert len(train) + len(validation) == 40
    assert summary["invalid_dropped"] == 7 and summary["invalid_reasons"] == {"unsure": 7}


def test_weak_teacher_labels_invalid_answers(tmp_path: Path) -> None:
    pairs = [("m", "a"), ("m", "b")]
    invalid_rows = [(f"unsure {i}?", "eine Größe", f"Größe {i}", None) for i in range(40)]
    paths = [write_pair(tmp_path, model, task, [*rows_of(40), *invalid_rows]) for model, task in pairs]
    # The weak teacher scores every answer 0.5, and gives no verdict on the last two.
    weak_rows = [(q, r, c, 0.5 if i < 78 else None) for i, (q, r, c, _) in enumerate([*rows_of(40), *invalid_rows])]
    (tmp_path / "weak_teacher").mkdir()
    _, labels = write_pair(tmp_path / "weak_teacher", "m", "a", weak_rows)
    out = [tmp_path / name for name in ("train.parquet", "validation.parquet", "weak.parquet", "summary.json")]
    augment = [{"kind": kind, "share": 1.0} for kind in ("stated", "denied")]
    spec = spec_of(pairs, augment=augment, weak_teacher={"teacher": "f", "weight": 2.5, "tables": [["m", "a"]]})
    outputs = dict(zip(("validation", "validation_weak", "summary"), out[1:], strict=True))
    build_dataset(spec, [c for c, _ in paths], [label for _, label in paths], out[0], **outputs, weak_labels=[labels])
    train, validation, held_out = (tables.read(path, tables.DATASET) for path in out[:3])
    weak = train[train["question"].str.startswith("unsure")]
    # Weak labels change neither the teacher's labels nor other tasks, and are not augmented.
    assert set(weak["weight"]) == {2.5} and set(train["weight"]) == {1.0, 2.5}
    assert set(weak["label"]) == {0.5} and set(weak["task"]) == {"a"} and set(weak["model"]) == {"m"}
    assert not (train.loc[~train["question"].str.startswith("unsure"), "label"] == 0.5).any()
    assert not validation["question"].str.startswith("unsure").any()
    assert not {"unsure 38?", "unsure 39?"} & set(weak["question"])
    # The split depends on the question only.
    assert 15 <= len(weak) < 38 and len(weak) + len(held_out) == 38
    assert set(held_out["label"]) == {0.5} and set(held_out["weight"]) == {2.5}
    assert not set(held_out["question"]) & set(train["question"])
    summary = json.loads(out[3].read_text())
    assert summary["weak_teacher"] == len(weak) and summary["invalid_dropped"] == 80
    without, _, _ = build(tmp_path, spec_of(pairs, augment=augment), paths)
    pd.testing.assert_frame_equal(without, train.iloc[: len(without)])


def test_duplicates_with_different_labels_get_the_mean(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "task": "a",
            "question": ["q", "q", "q"],
            "references": [["r"]] * 3,
            "candidate": ["c", "c", "d"],
            "label": [1.0, 0.0, 1.0],
            "rationale": ["It is right.", "It is wrong.", "Right."],
        }
    )
    columns = ["candidate", "label", "rationale"]
    folded = fold_duplicates(frame.assign(aspects=None))[columns].values.tolist()
    assert folded == [["c", 0.5, "It is right."], ["d", 1.0, "Right."]]
    # The mean is the other verdict.
    folded = fold_duplicates(frame.assign(aspects=None, label=[0.5, 0.0, 1.0]))[columns].fillna("").values.tolist()
    assert folded == [["c", 0.25, ""], ["d", 1.0, "Right."]]


def table(models: int = 3, per_model: int = 40) -> pd.DataFrame:
    rows = [(f"{m}-{i}", f"m{m}", 0, f"t{i % 2}") for m in range(models) for i in range(per_model)]
    return pd.DataFrame(rows, columns=["sample_id", "model", "attempt", "task"])


def test_mix_limits_tasks_models_and_total() -> None:
    sampled = sample_mix(table(), {"per_task": {"t0": 30}, "per_model": {"m1": 5}, "total": 50}, seed=0)
    assert len(sampled) == 50
    assert (sampled["task"] == "t0").sum() <= 30 and (sampled["model"] == "m1").sum() <= 5


def test_new_model_does_not_change_the_sample_of_others() -> None:
    mix = {"per_task": {}, "per_model": {"m0": 10, "m1": 10}, "total": None}
    before, after = sample_mix(table(2), mix, seed=0), sample_mix(table(3), mix, seed=0)
    assert set(before["sample_id"]) == set(after.loc[after["model"] != "m2", "sample_id"])
    assert set(before["sample_id"]) != set(sample_mix(table(2), mix, seed=1)["sample_id"])


def test_balanced_weights_give_both_classes_the_same_total() -> None:
    labels = pd.Series([1.0] * 30 + [0.0] * 10)
    weights = balanced_weights(labels)
    assert weights[labels == 1].sum() == pytest.approx(weights[labels == 0].sum())
    assert weights.mean() == pytest.approx(1)
    assert balanced_weights(pd.Series([1.0, 1.0])).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("rows", "settings", "message"),
    [
        ([("q?", "r", "c", None)], {}, "no labelled answer"),
        ([], {}, "no labelled answer"),
        ([("q?", "r", "c", 1.0)], {}, "split has no rows"),
    ],
)
def test_too_few_rows_are_an_error(tmp_path: Path, rows: list[Any], settings: dict[str, Any], message: str) -> None:
    paths = [write_pair(tmp_path, "m", "a", rows)]
    with pytest.raises(InputError, match=message) as error:
        build(tmp_path, spec_of([("m", "a")], **settings), paths)
    assert "\n" not in str(error.value) and "datasets.d" in str(error.value)
    assert not (tmp_path / "train.parquet").exists()


def test_missing_label_is_an_error(tmp_path: Path) -> None:
    candidates, _ = write_pair(tmp_path, "m", "a", rows_of(5))
    _, labels = write_pair(tmp_path, "m", "b", rows_of(5))
    with pytest.raises(InputError, match="no label for"):
        build(tmp_path, spec_of([("m", "a")]), [(candidates, labels)])


def write_task(path: Path, task: str, questions: list[str]) -> Path:
    rows = [(tables.sample_id(task, q, ["r"]), q, ["r"], None, "text") for q in questions]
    tables.write(pd.DataFrame(rows, columns=tables.TASK.names), path, tables.TASK, {})
    return path


@pytest.fixture
def dataset(tmp_path: Path) -> tuple[Path, Path]:
    build(tmp_path, spec_of([("m", "a")]), [write_pair(tmp_path, "m", "a", rows_of(40))])
    return tmp_path / "train.parquet", tmp_path / "validation.parquet"


@pytest.mark.parametrize("question", ["Frage 3?", "  FRAGE\t3? ", "Frage 3?\n(A) ja\n(B) nein"])
def test_test_question_in_the_training_data_is_an_error(tmp_path: Path, dataset: tuple[Path, Path], question: str) -> None:
    tests = {
        "fresh": write_task(tmp_path / "fresh.parquet", "fresh", ["neu?"]),
        "b": write_task(tmp_path / "b.parquet", "b", [question]),
    }
    spec = {"dataset": "d", "allow_test_questions": False, "test": ["b", "fresh"]}
    with pytest.raises(InputError, match=r"(?i)frage\s+3") as error:
        check_overlap(spec, dataset, tests, tmp_path / "overlap.json")
    assert "'b'" in str(error.value) and "\n" not in str(error.value)
    assert not (tmp_path / "overlap.json").exists()
    check_overlap({**spec, "allow_test_questions": True}, dataset, tests, tmp_path / "overlap.json")
    assert json.loads((tmp_path / "overlap.json").read_text()) == {"shared_questions": {"fresh": 0, "b": 1}}
