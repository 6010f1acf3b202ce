"""Baselines of a probe that load its backbone: they learn what there is to learn, and stand beside the probe on the same rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import tiny_models
import torch

from bert_judge import tables
from bert_judge.assets import prepare
from bert_judge.judges.probe.config import BaselineTraining, ProbeJudgeConfig
from bert_judge.judges.probe.metrics import measured
from bert_judge.judges.probe.training import prompted
from bert_judge.judges.probe.training.aspect_heads import IGNORED, AspectHeads
from bert_judge.judges.probe.training.predict import tell_test_part
from bert_judge.plan import make
from bert_judge.runtime.errors import ConfigError, InputError

TRAIN, TEST = 96, 32
ASPECTS = {
    "right": {"head": "binary", "range": [0, 1], "positive_from": None, "description": "it is right"},
    "tone": {"head": "ordinal", "range": [1, 3], "positive_from": None, "description": None},
}
# Nine in ten rows are of one class: who always tells it is right in nine of ten cases.
RARE = 10
WORDS = ("noon", "train", "hour")
TRAINING = BaselineTraining(epochs=20, num_evals=4, learning_rate=2e-3, lora_learning_rate=1e-2, validation_fraction=0.25)


class Toy(NamedTuple):
    """A dataset whose answers say in a word what there is to tell, and a backbone with random weights."""

    folder: Path
    backbone: Path

    def tell(self, baseline: str, out: Path, **changes: Any) -> tuple[pd.DataFrame, dict[str, Any]]:
        made = {"judge": "p", "baseline": baseline, "dataset": "d", "backbone": "b", "revision": None, "max_length": 48}
        spec = {**made, "aspects": ASPECTS, "prompt": "{question} {candidate}", "training": TRAINING.model_dump(), **changes}
        parts = self.folder / "train.parquet", self.folder / "validation.parquet"
        tell_test_part(spec, *parts, self.backbone, out / "predictions.parquet", out / "note.json", out / "work")
        return tables.read(out / "predictions.parquet", tables.PREDICTIONS), json.loads((out / "note.json").read_text("utf-8"))


def toy(folder: Path, model: Path) -> Toy:
    manifest = folder / "backbone.json"
    prepare.prepare({"repository": str(model), "revision": None, "remote_code": False}, manifest)
    numbers = np.arange(TRAIN + TEST)
    right, tone = numbers % RARE > 0, 1 + numbers % 3
    said = [f"{'Paris' if good else 'Jupiter'} {f'{WORDS[mark - 1]} ' * 3}" for good, mark in zip(right, tone, strict=True)]
    rows = pd.DataFrame({"question": [f"Größe {n // 2}?" for n in numbers], "attempt": numbers % 2, "candidate": said})
    rows = rows.assign(model="m", task="t", references=[["r"]] * len(rows), label=right.astype(float), weight=1.0)
    rows["sample_id"] = [tables.sample_id("t", question, ["r"]) for question in rows["question"]]
    # Not every row has every aspect.
    values = [
        {"right": float(good)} | ({"tone": float(mark)} if n % 7 else {})
        for n, (good, mark) in enumerate(zip(right, tone, strict=True))
    ]
    rows["aspects"] = pd.Series(values, dtype=object)
    tables.write(rows[:TRAIN], folder / "train.parquet", tables.DATASET, {})
    tables.write(rows[TRAIN:], folder / "validation.parquet", tables.DATASET, {})
    return Toy(folder, manifest)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    folder = tmp_path_factory.mktemp("encoder")
    return toy(folder, tiny_models.encoder(folder / "model"))


@pytest.fixture(scope="module")
def language_model(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    folder = tmp_path_factory.mktemp("lm")
    return toy(folder, tiny_models.causal_lm(folder / "model", "llama"))


def of_aspect(told: pd.DataFrame, aspect: str) -> pd.DataFrame:
    return told[told["aspect"] == aspect]


@pytest.mark.parametrize("baseline", ["fine_tuned", "lora"])
def test_a_tuned_backbone_learns_and_tells_the_rare_class_too(encoder: Toy, tmp_path: Path, baseline: str) -> None:
    told, note = encoder.tell(baseline, tmp_path)
    for aspect in ASPECTS:
        rows = of_aspect(told, aspect)
        figures = measured(rows["truth"].to_numpy(), rows["prediction"].to_numpy(), rows["question"].to_numpy())
        assert figures["macro_f1"][0] > 0.8, (aspect, note)
        assert set(note["predicted_classes"][aspect]) == set(rows["truth"])
    assert set(told["split"]) == {"test"} and set(told["predictor"]) == {baseline}
    assert not (tmp_path / "work").exists()
    assert note["rows"] + note["held_out_rows"] == TRAIN and 1 <= note["best_step"] <= note["steps"]


def test_a_language_model_is_tuned_beside_frozen_weights(language_model: Toy, tmp_path: Path) -> None:
    small = TRAINING.model_dump() | {"epochs": 1, "num_evals": 1, "rows": 40}
    told, note = language_model.tell("lora", tmp_path, training=small)
    assert note["rows"] + note["held_out_rows"] == 40
    whole = sum(weights.numel() for weights in tiny_weights(language_model))
    assert 0 < note["weights"] < whole
    assert len(of_aspect(told, "right")) == TEST


def tiny_weights(made: Toy) -> list[torch.Tensor]:
    from transformers import AutoModelForCausalLM

    return list(AutoModelForCausalLM.from_pretrained(prepare.load_manifest(made.backbone).path).parameters())


def test_nothing_is_learnt_from_the_test_part(encoder: Toy, tmp_path: Path) -> None:
    """With the test part's labels turned round, the same is told."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "train.parquet").write_bytes((encoder.folder / "train.parquet").read_bytes())
    rows = tables.read(encoder.folder / "validation.parquet", tables.DATASET)
    rows["aspects"] = pd.Series([{"right": 1 - found["right"], "tone": 2.0} for found in rows["aspects"]], dtype=object)
    tables.write(rows, other / "validation.parquet", tables.DATASET, {})
    small = TRAINING.model_dump() | {"epochs": 2, "num_evals": 2}
    one, _ = encoder.tell("fine_tuned", tmp_path / "a", training=small)
    two, _ = encoder._replace(folder=other).tell("fine_tuned", tmp_path / "b", training=small)
    key = ["aspect", "sample_id", "attempt"]
    both = one.merge(two, on=key)
    assert (both["told_x"] == both["told_y"]).all() and len(both) == len(one)
    right = both["aspect"] == "right"
    assert (both.loc[right, "truth_x"] != both.loc[right, "truth_y"]).all()


def test_a_training_that_was_stopped_goes_on(encoder: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = TRAINING.model_dump() | {"epochs": 2, "num_evals": 3}
    whole, first = encoder.tell("fine_tuned", tmp_path / "whole", training=small)
    with monkeypatch.context() as patched:
        # As SIGTERM after the first step: it is saved, and the process ends.
        patched.setattr("bert_judge.runtime.sigterm.stop_requested", lambda: True)
        with pytest.raises(SystemExit):
            encoder.tell("fine_tuned", tmp_path / "again", training=small)
    assert list((tmp_path / "again" / "work").glob("*/checkpoint-1/trainer_state.json"))
    again, second = encoder.tell("fine_tuned", tmp_path / "again", training=small)
    assert again["prediction"].tolist() == whole["prediction"].tolist()
    assert (first["best_step"], first["held_out_f1"]) == (second["best_step"], pytest.approx(second["held_out_f1"]))


def test_a_language_model_is_asked_about_each_aspect(language_model: Toy, tmp_path: Path) -> None:
    told, note = language_model.tell("prompted", tmp_path)
    assert note == {"not_asked": 0}
    assert set(of_aspect(told, "tone")["prediction"]) <= {1, 2, 3} and set(of_aspect(told, "right")["prediction"]) <= {0, 1}
    assert len(of_aspect(told, "right")) == TEST


def test_what_could_not_be_asked_is_a_wrong_class(language_model: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bert_judge.candidates.generators.hf import HFGenerator
    from bert_judge.candidates.generators.protocol import error_completion

    monkeypatch.setattr(HFGenerator, "generate", lambda _, asked: [error_completion("too long") for _ in asked])
    told, note = language_model.tell("prompted", tmp_path)
    assert set(told["prediction"]) == {prompted.NONE} and note == {"not_asked": len(told)}


def test_an_encoder_cannot_be_asked(encoder: Toy, tmp_path: Path) -> None:
    told, note = encoder.tell("prompted", tmp_path)
    assert told.empty and note == {"absent": "the backbone is an encoder, which writes no answer to a question"}


def test_too_few_questions_are_told(encoder: Toy, tmp_path: Path) -> None:
    rows = tables.read(encoder.folder / "train.parquet", tables.DATASET)[:2]
    tables.write(rows, tmp_path / "train.parquet", tables.DATASET, {})
    (tmp_path / "validation.parquet").write_bytes((encoder.folder / "validation.parquet").read_bytes())
    with pytest.raises(InputError, match=r"baseline_training\.validation_fraction: 2 rows have too few questions"):
        encoder._replace(folder=tmp_path).tell("lora", tmp_path)


def test_a_folder_without_a_model_is_told(encoder: Toy, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    content = json.loads(encoder.backbone.read_text("utf-8"))
    (tmp_path / "empty").mkdir()
    broken.write_text(json.dumps(content | {"path": str(tmp_path / "empty")}), "utf-8")
    with pytest.raises(InputError, match="empty"):
        encoder._replace(backbone=broken).tell("fine_tuned", tmp_path)


def test_rare_classes_count_as_much_as_others_and_unknown_ones_not_at_all() -> None:
    heads = AspectHeads({"a": np.array([1, 2, 5]), "b": np.array([0, 1])})
    classes = {"a": (np.array([0, 1, 2, 3]), np.array([1, 1, 1, 5, 9])), "b": (np.array([4]), np.array([7, 7, 7, 7, 1]))}
    targets = heads.targets(classes, 5)
    assert targets.tolist() == [[0, IGNORED], [0, IGNORED], [0, IGNORED], [2, IGNORED], [IGNORED, 1]]
    weights = heads.weights(targets)
    assert weights[0].tolist() == pytest.approx([4 / 6, 0, 2]) and weights[1].tolist() == [0, 1]
    logits = torch.zeros(5, heads.width)
    assert heads.loss(logits, torch.from_numpy(targets), weights).item() == pytest.approx((np.log(3) + np.log(2) / 5 * 5) / 2)
    assert heads.told(np.eye(5, dtype="float32"))["a"].tolist() == [1, 2, 5, 1, 1]
    always_one = heads.macro_f1(np.tile([1.0, 0, 0, 0, 1], (5, 1)), targets)
    assert always_one == pytest.approx((6 / 7 / 2 + 1) / 2)


PROBED = {
    "models": {"solid": {"generator": "simulated", "p_correct": 0.9}},
    "tasks": {"train": ["facts_train"], "test": ["facts_test"]},
    "judges": {
        "teacher": {"kind": "simulated", "label_noise": 0.0},
        "p": {"kind": "probe", "dataset": "d", "aspects": {"correctness": {"range": [0, 1]}}},
    },
    "datasets": {"d": {"teacher": "teacher", "tasks": ["facts_train"]}},
    "scorers": ["p"],
}


def planned(**probe: Any) -> Any:
    return make({**PROBED, "judges": {**PROBED["judges"], "p": {**PROBED["judges"]["p"], **probe}}})


def test_baselines_change_neither_the_probe_nor_each_other() -> None:
    plain = planned()
    more = planned(baselines=["length", "fine_tuned", "lora"], baseline_training={"epochs": 2, "micro_batch_size": 8})
    assert plain.probe_spec("p") == more.probe_spec("p")
    assert plain.measures_spec("p") != more.measures_spec("p")
    faster = planned(baselines=["lora"], baseline_training={"epochs": 2, "learning_rate": 1e-5})
    assert more.baseline_spec("p", "lora") == faster.baseline_spec("p", "lora")
    assert more.baseline_spec("p", "fine_tuned") != faster.baseline_spec("p", "fine_tuned")
    assert plain.probe("p").asked == [] and more.probe("p").asked == ["fine_tuned", "lora"]


def test_a_model_for_all_aspects_reads_no_aspect() -> None:
    assert "{aspect}" not in planned(prompt="{aspect}: {candidate}").baseline_spec("p", "lora")["prompt"]
    assert planned(prompt="{candidate}").baseline_spec("p", "lora")["prompt"] == "{candidate}"


@pytest.mark.parametrize(
    ("probe", "says"),
    [
        ({"baselines": ["lora", "lora"]}, "baselines lists lora twice"),
        ({"baselines": ["roberta"]}, "baselines"),
        ({"baseline_training": {"batch_size": 16, "micro_batch_size": 5}}, "batch_size 16 must be a multiple of micro_batch_size"),
        ({"baseline_training": {"validation_fraction": 0}}, "validation_fraction"),
    ],
)
def test_settings_of_no_use_are_refused(probe: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        planned(**probe)


def test_one_name_is_a_list() -> None:
    assert ProbeJudgeConfig(kind="probe", dataset="d", baselines="length").baselines == ["length"]
