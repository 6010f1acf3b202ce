"""Test the benchmark of baselines that load a probe's backbone: they learn the labels, and predict the rows of the probe."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch
from helpers import tiny_models

from bert_judge import tables
from bert_judge.assets import prepare
from bert_judge.judges.probe.fit import AspectLabels
from bert_judge.judges.probe.train import aspect_labels, class_metrics

BENCHMARKS = Path(__file__).parents[4] / "benchmarks"
TRAIN, TEST = 96, 32
ASPECTS = {
    "right": {"head": "binary", "range": [0, 1], "positive_from": None},
    "tone": {"head": "ordinal", "range": [1, 3], "positive_from": None},
}
# Nine in ten rows have one class, so always predicting it has an accuracy of 0.9.
RARE = 10
WORDS = ("noon", "train", "hour")
TRAINING = {"evaluations": 4, "learning_rate": 2e-3, "lora_learning_rate": 1e-2, "validation_fraction": 0.25}


@pytest.fixture(scope="module")
def benchmark() -> Any:
    """Load the script as a module."""
    sys.path.insert(0, str(BENCHMARKS))
    spec = importlib.util.spec_from_file_location("probe_baselines", BENCHMARKS / "probe_baselines.py")
    assert spec is not None and spec.loader is not None
    module = sys.modules["probe_baselines"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path.remove(str(BENCHMARKS))
    del sys.modules["probe_baselines"]


class Toy(NamedTuple):
    """A dataset whose answers contain their class as a word, and a backbone with random weights."""

    rows: pd.DataFrame
    labels: list[AspectLabels]
    backbone: prepare.Manifest

    def predict(self, benchmark: Any, baseline: str, **settings: Any) -> dict[str, np.ndarray]:
        predict = benchmark.predict_prompted if baseline == "prompted" else benchmark.predict_fine_tuned
        features = {"prompt": "{question} {candidate}", "max_length": 48}
        arguments = self.backbone, baseline, features, self.rows, self.labels
        return predict(*arguments, benchmark.Settings(**{**TRAINING, "epochs": 20, **settings}))


def toy(folder: Path, model: Path) -> Toy:
    manifest = folder / "backbone.json"
    prepare.prepare({"repository": str(model), "revision": None, "remote_code": False}, manifest)
    numbers = np.arange(TRAIN + TEST)
    correct, tone = numbers % RARE > 0, 1 + numbers % 3
    # Each word three times: one word among four is too weak, and some seeds and processors miss it.
    texts = [f"{'Paris' if good else 'Jupiter'} {WORDS[mark - 1]} " * 3 for good, mark in zip(correct, tone, strict=True)]
    rows = pd.DataFrame({"question": [f"Größe {n // 2}?" for n in numbers], "attempt": numbers % 2, "candidate": texts})
    rows = rows.assign(model="m", label=correct.astype(float))
    rows["sample_id"] = [tables.sample_id("t", question, ["r"]) for question in rows["question"]]
    # Not every row has every aspect.
    values = [
        {"right": float(good)} | ({"tone": float(mark)} if n % 7 else {})
        for n, (good, mark) in enumerate(zip(correct, tone, strict=True))
    ]
    rows["aspects"] = pd.Series(values, dtype=object)
    labels = [aspect_labels(name, head, rows, TRAIN) for name, head in ASPECTS.items()]
    return Toy(rows, labels, prepare.load_manifest(manifest))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Toy:
    folder = tmp_path_factory.mktemp("encoder")
    return toy(folder, tiny_models.encoder(folder / "model"))


@pytest.mark.parametrize("baseline", ["fine_tuned", "lora"])
def test_fine_tuned_backbone_predicts_the_rare_class(benchmark: Any, encoder: Toy, baseline: str) -> None:
    predictions = encoder.predict(benchmark, baseline)
    for aspect in encoder.labels:
        truth = aspect.classes[aspect.test]
        metrics = class_metrics(truth, predictions[aspect.name], aspect.questions[aspect.test])
        assert metrics["macro_f1"][0] > 0.8
        assert set(predictions[aspect.name]) == set(truth)


def test_language_model_is_trained_and_prompted(benchmark: Any, tmp_path: Path) -> None:
    language_model = toy(tmp_path, tiny_models.causal_lm(tmp_path / "model", "llama"))
    for predictions in (
        language_model.predict(benchmark, "lora", epochs=1, evaluations=1),
        language_model.predict(benchmark, "prompted"),
    ):
        assert set(predictions["tone"]) <= {1, 2, 3} and set(predictions["right"]) <= {0, 1}
        assert [len(classes) for classes in predictions.values()] == [len(aspect.test) for aspect in language_model.labels]


def test_loss_is_balanced_over_classes_and_ignores_missing_labels(benchmark: Any) -> None:
    ignored = benchmark.IGNORED
    heads = benchmark.AspectHeads({"a": np.array([1, 2, 5]), "b": np.array([0, 1])})
    classes = {"a": (np.array([0, 1, 2, 3]), np.array([1, 1, 1, 5, 9])), "b": (np.array([4]), np.array([7, 7, 7, 7, 1]))}
    targets = heads.targets(classes, 5)
    assert targets.tolist() == [[0, ignored], [0, ignored], [0, ignored], [2, ignored], [ignored, 1]]
    weights = heads.class_weights(targets)
    assert weights[0].tolist() == pytest.approx([4 / 6, 0, 2]) and weights[1].tolist() == [0, 1]
    logits = torch.zeros(5, heads.num_logits)
    assert heads.loss(logits, torch.from_numpy(targets), weights).item() == pytest.approx((np.log(3) + np.log(2) / 5 * 5) / 2)
    assert heads.predict(np.eye(5, dtype="float32"))["a"].tolist() == [1, 2, 5, 1, 1]
    constant = heads.macro_f1(np.tile([1.0, 0, 0, 0, 1], (5, 1)), targets)
    assert constant == pytest.approx((6 / 7 / 2 + 1) / 2)
