"""Baselines of a probe that load its backbone: they learn the labels, and predict the rows of the probe."""

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
from bert_judge.judges.probe.training import prompted
from bert_judge.judges.probe.training.baselines import predict_test_split
from bert_judge.judges.probe.training.evaluate import class_metrics
from bert_judge.judges.probe.training.fine_tuning import IGNORED, AspectHeads
from bert_judge.plan import make
from bert_judge.runtime.errors import ConfigError, InputError

TRAIN, TEST = 96, 32
ASPECTS = {
    "right": {"head": "binary", "range": [0, 1], "positive_from": None, "description": "it is right"},
    "tone": {"head": "ordinal", "range": [1, 3], "positive_from": None, "description": None},
}
# Nine in ten rows have one class, so always predicting it has an accuracy of 0.9.
RARE = 10
WORDS = ("noon", "train", "hour")
TRAINING = BaselineTraining(epochs=20, num_evals=4, learning_rate=2e-3, lora_learning_rate=1e-2, validation_fraction=0.25)


class Toy(NamedTuple):
    """A dataset whose answers contain their class as a word, and a backbone with random weights."""

    folder: Path
    backbone: Path

    def predict(self, baseline: str, out: Path, **changes: Any) -> tuple[pd.DataFrame, dict[str, Any]]:
        made = {"judge": "p", "baseline": baseline, "dataset": "d", "backbone": "b", "revision": None, "max_length": 48}
        spec = {**made, "aspects": ASPECTS, "prompt": "{question} {candidate}", "training": TRAINING.model_dump(), **changes}
        parts = self.folder / "train.parquet", self.folder / "validation.parquet"
        predict_test_split(spec, *parts, self.backbone, out / "predictions.parquet", out / "note.json", out / "work")
        return tables.read(out / "predictions.parquet", tables.PREDICTIONS), json.loads((out / "note.json").read_text("utf-8"))


def toy(folder: Path, model: Path) -> Toy:
    manifest = folder / "backbone.json"
    prepare.prepare({"repository": str(model), "revision": None, "remote_code": False}, manifest)
    numbers = np.arange(TRAIN + TEST)
    correct, tone = numbers % RARE > 0, 1 + numbers % 3
    texts = [f"{'Paris' if good else 'Jupiter'} {f'{WORDS[mark - 1]} ' * 3}" for good, mark in zip(correct, tone, strict=True)]
    rows = pd.DataFrame({"question": [f"Größe {n // 2}?" for n in numbers], "attempt": numbers % 2, "candidate": texts})
    rows = rows.assign(model="m", task="t", references=[["r"]] * len(rows), label=correct.astype(float), weight=1.0)
    rows["sample_id"] = [tables.sample_id("t", question, ["r"]) for question in rows["question"]]
    # Not every row has every aspect.
    values = [
        {"right": float(good)} | ({"tone": float(mark)} if n % 7 else {})
        for n, (good, mark) in enumerate(zip(correct, tone, strict=True))
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


def of_aspect(predictions: pd.DataFrame, aspect: str) -> pd.DataFrame:
    return predictions[predictions["aspect"] == aspect]


@pytest.mark.parametrize("baseline", ["fine_tuned", "lora"])
def test_fine_tuned_backbone_predicts_the_rare_class(encoder: Toy, tmp_path: Path, baseline: str) -> None:
    predictions, note = encoder.predict(baseline, tmp_path)
    for aspect in ASPECTS:
        rows = of_aspect(predictions, aspect)
        metrics = class_metrics(rows["truth"].to_numpy(), rows["prediction"].to_numpy(), rows["question"].to_numpy())
        assert metrics["macro_f1"][0] > 0.8, (aspect, note)
        assert set(note["predicted_classes"][aspect]) == set(rows["truth"])
    assert set(predictions["split"]) == {"test"} and set(predictions["predictor"]) == {baseline}
    assert not (tmp_path / "work").exists()
    assert note["rows"] + note["held_out_rows"] == TRAIN and 1 <= note["best_step"] <= note["steps"]


def test_lora_trains_few_weights_of_a_language_model(language_model: Toy, tmp_path: Path) -> None:
    small = TRAINING.model_dump() | {"epochs": 1, "num_evals": 1, "rows": 40}
    predictions, note = language_model.predict("lora", tmp_path, training=small)
    assert note["rows"] + note["held_out_rows"] == 40
    whole = sum(weights.numel() for weights in tiny_weights(language_model))
    assert 0 < note["weights"] < whole
    assert len(of_aspect(predictions, "right")) == TEST


def tiny_weights(made: Toy) -> list[torch.Tensor]:
    from transformers import AutoModelForCausalLM

    return list(AutoModelForCausalLM.from_pretrained(prepare.load_manifest(made.backbone).path).parameters())


def test_test_labels_do_not_change_predictions(encoder: Toy, tmp_path: Path) -> None:
    """Flipped labels of the test split give the same predictions."""
    other = tmp_path / "other"
    other.mkdir()
    (other / "train.parquet").write_bytes((encoder.folder / "train.parquet").read_bytes())
    rows = tables.read(encoder.folder / "validation.parquet", tables.DATASET)
    rows["aspects"] = pd.Series([{"right": 1 - found["right"], "tone": 2.0} for found in rows["aspects"]], dtype=object)
    tables.write(rows, other / "validation.parquet", tables.DATASET, {})
    small = TRAINING.model_dump() | {"epochs": 2, "num_evals": 2}
    one, _ = encoder.predict("fine_tuned", tmp_path / "a", training=small)
    two, _ = encoder._replace(folder=other).predict("fine_tuned", tmp_path / "b", training=small)
    key = ["aspect", "sample_id", "attempt"]
    both = one.merge(two, on=key)
    assert (both["prediction_x"] == both["prediction_y"]).all() and len(both) == len(one)
    right = both["aspect"] == "right"
    assert (both.loc[right, "truth_x"] != both.loc[right, "truth_y"]).all()


def test_stopped_training_resumes(encoder: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = TRAINING.model_dump() | {"epochs": 2, "num_evals": 3}
    whole, first = encoder.predict("fine_tuned", tmp_path / "whole", training=small)
    with monkeypatch.context() as patched:
        # Like SIGTERM after the first step, which is saved before the process exits.
        patched.setattr("bert_judge.runtime.sigterm.stop_requested", lambda: True)
        with pytest.raises(SystemExit):
            encoder.predict("fine_tuned", tmp_path / "again", training=small)
    assert list((tmp_path / "again" / "work").glob("*/checkpoint-1/trainer_state.json"))
    again, second = encoder.predict("fine_tuned", tmp_path / "again", training=small)
    assert again["prediction"].tolist() == whole["prediction"].tolist()
    assert (first["best_step"], first["held_out_f1"]) == (second["best_step"], pytest.approx(second["held_out_f1"]))


def test_language_model_is_prompted_for_each_aspect(language_model: Toy, tmp_path: Path) -> None:
    predictions, note = language_model.predict("prompted", tmp_path)
    assert note == {"no_completion": 0}
    assert set(of_aspect(predictions, "tone")["prediction"]) <= {1, 2, 3} and set(
        of_aspect(predictions, "right")["prediction"]
    ) <= {0, 1}
    assert len(of_aspect(predictions, "right")) == TEST


def test_missing_completion_is_an_error_class(language_model: Toy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bert_judge.candidates.generators.hf import HFGenerator
    from bert_judge.candidates.generators.protocol import error_completion

    monkeypatch.setattr(HFGenerator, "generate", lambda _, requests: [error_completion("too long") for _ in requests])
    predictions, note = language_model.predict("prompted", tmp_path)
    assert set(predictions["prediction"]) == {prompted.NO_CLASS} and note == {"no_completion": len(predictions)}


def test_encoder_cannot_be_prompted(encoder: Toy, tmp_path: Path) -> None:
    predictions, note = encoder.predict("prompted", tmp_path)
    assert predictions.empty and note == {"absent": "the backbone is an encoder, which cannot generate text"}


def test_too_few_questions_are_an_error(encoder: Toy, tmp_path: Path) -> None:
    rows = tables.read(encoder.folder / "train.parquet", tables.DATASET)[:2]
    tables.write(rows, tmp_path / "train.parquet", tables.DATASET, {})
    (tmp_path / "validation.parquet").write_bytes((encoder.folder / "validation.parquet").read_bytes())
    with pytest.raises(InputError, match=r"baseline_training\.validation_fraction: 2 rows have too few questions"):
        encoder._replace(folder=tmp_path).predict("lora", tmp_path)


def test_folder_without_a_model_is_an_error(encoder: Toy, tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    content = json.loads(encoder.backbone.read_text("utf-8"))
    (tmp_path / "empty").mkdir()
    broken.write_text(json.dumps(content | {"path": str(tmp_path / "empty")}), "utf-8")
    with pytest.raises(InputError, match="empty"):
        encoder._replace(backbone=broken).predict("fine_tuned", tmp_path)


def test_loss_is_balanced_over_classes_and_ignores_missing_labels() -> None:
    heads = AspectHeads({"a": np.array([1, 2, 5]), "b": np.array([0, 1])})
    classes = {"a": (np.array([0, 1, 2, 3]), np.array([1, 1, 1, 5, 9])), "b": (np.array([4]), np.array([7, 7, 7, 7, 1]))}
    targets = heads.targets(classes, 5)
    assert targets.tolist() == [[0, IGNORED], [0, IGNORED], [0, IGNORED], [2, IGNORED], [IGNORED, 1]]
    weights = heads.class_weights(targets)
    assert weights[0].tolist() == pytest.approx([4 / 6, 0, 2]) and weights[1].tolist() == [0, 1]
    logits = torch.zeros(5, heads.num_logits)
    assert heads.loss(logits, torch.from_numpy(targets), weights).item() == pytest.approx((np.log(3) + np.log(2) / 5 * 5) / 2)
    assert heads.predict(np.eye(5, dtype="float32"))["a"].tolist() == [1, 2, 5, 1, 1]
    constant = heads.macro_f1(np.tile([1.0, 0, 0, 0, 1], (5, 1)), targets)
    assert constant == pytest.approx((6 / 7 / 2 + 1) / 2)


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


def test_baselines_do_not_change_other_specs() -> None:
    plain = planned()
    more = planned(baselines=["length", "fine_tuned", "lora"], baseline_training={"epochs": 2, "micro_batch_size": 8})
    assert plain.probe_spec("p") == more.probe_spec("p")
    assert plain.measures_spec("p") != more.measures_spec("p")
    faster = planned(baselines=["lora"], baseline_training={"epochs": 2, "learning_rate": 1e-5})
    assert more.baseline_spec("p", "lora") == faster.baseline_spec("p", "lora")
    assert more.baseline_spec("p", "fine_tuned") != faster.baseline_spec("p", "fine_tuned")
    assert more.baseline_spec("p", "prompted")["definition"]
    assert plain.probe("p").backbone_baselines == [] and more.probe("p").backbone_baselines == ["fine_tuned", "lora"]


def test_prompt_of_a_baseline_for_all_aspects_has_no_aspect() -> None:
    assert "{aspect}" not in planned(prompt="{aspect}: {candidate}").baseline_spec("p", "lora")["prompt"]
    assert planned(prompt="{candidate}").baseline_spec("p", "lora")["prompt"] == "{candidate}"


@pytest.mark.parametrize(
    ("probe", "message"),
    [
        ({"baselines": ["lora", "lora"]}, "baselines lists lora twice"),
        ({"baselines": ["roberta"]}, "baselines"),
        ({"baseline_training": {"batch_size": 16, "micro_batch_size": 5}}, "batch_size 16 must be a multiple of micro_batch_size"),
        ({"baseline_training": {"validation_fraction": 0}}, "validation_fraction"),
    ],
)
def test_invalid_settings_are_an_error(probe: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        planned(**probe)


def test_single_baseline_is_a_list() -> None:
    assert ProbeJudgeConfig(kind="probe", dataset="d", baselines="length").baselines == ["length"]
