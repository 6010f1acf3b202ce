"""Backends: the automatic choice, and agreement with torch."""

import logging
from pathlib import Path

import numpy as np
import pytest
import torch
from helpers import tiny_models

from bert_judge.encoder import backend as backend_choice
from bert_judge.encoder import checkpoint
from bert_judge.encoder.backend import Backend, BackendChoice, choose_backend, compute_logits
from bert_judge.encoder.torch_model import TorchBackend
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.runtime import hardware
from bert_judge.runtime.errors import InputError

LARGE = 10_000_000
CPU, GPU = "cpu", "cuda"
# Tolerance of a logit, relative to the range of the logits, and for bfloat16 to the largest logit.
ERRORS = {"float32": 1e-3, "bfloat16": 0.04, "int8": 0.5}
CANDIDATES = ["Paris", "It is Paris, I think.", "no " * 40, "Größe 東京", "", "the capital of Mars is a fox " * 9]


def machine(
    monkeypatch: pytest.MonkeyPatch, int8: bool = True, dtype: str = "float32", openvino: bool = True, amx: bool = False
) -> None:
    monkeypatch.setattr(hardware, "supports_amx", lambda: amx)
    monkeypatch.setattr(hardware, "supports_int8", lambda: int8)
    monkeypatch.setattr(hardware, "best_dtype", lambda device: dtype)
    monkeypatch.setattr(backend_choice, "has_openvino", lambda: openvino)


@pytest.mark.parametrize(
    ("settings", "device", "parameters", "hardware_of", "expected", "reason"),
    [
        (("auto", "auto"), CPU, LARGE, {}, ("openvino", "int8"), "rechecked in float32"),
        (("auto", "auto"), CPU, LARGE, {"openvino": False}, ("torch", "float32"), "pip install 'bert-judge[openvino]"),
        (("auto", "auto"), CPU, LARGE, {"int8": False}, ("openvino", "float32"), "the fastest on this CPU"),
        (("auto", "auto"), CPU, 1000, {"int8": False}, ("torch", "float32"), "too small"),
        (("auto", "auto"), CPU, LARGE, {"dtype": "bfloat16"}, ("openvino", "bfloat16"), "fastest precision of this CPU"),
        (
            ("auto", "auto"),
            CPU,
            LARGE,
            {"dtype": "bfloat16", "openvino": False},
            ("torch", "bfloat16"),
            "pip install 'bert-judge[openvino]",
        ),
        (("auto", "auto"), CPU, 1000, {"dtype": "bfloat16"}, ("torch", "bfloat16"), "too small"),
        (("auto", "auto"), CPU, 1000, {}, ("torch", "float32"), "too small"),
        (("auto", "auto"), GPU, LARGE, {"dtype": "bfloat16"}, ("torch", "bfloat16"), "fastest precision of this CUDA"),
        (("auto", "float32"), CPU, LARGE, {}, ("torch", "float32"), "as configured"),
        (("auto", "int8"), CPU, 1000, {}, ("openvino", "int8"), "as configured"),
        (("auto", "int8"), CPU, 1000, {"int8": False}, ("openvino", "int8"), "float32 is faster"),
        (("openvino", "auto"), CPU, LARGE, {"int8": False}, ("openvino", "float32"), "as configured"),
        (("torch", "auto"), CPU, LARGE, {}, ("torch", "float32"), "as configured"),
        (("openvino", "auto"), CPU, 1000, {}, ("openvino", "int8"), "as configured"),
        (("openvino", "auto"), CPU, 1000, {"dtype": "bfloat16"}, ("openvino", "bfloat16"), "as configured"),
    ],
)
def test_choose_backend(
    monkeypatch: pytest.MonkeyPatch,
    settings: tuple[str, str],
    device: str,
    parameters: int,
    hardware_of: dict[str, object],
    expected: tuple[str, str],
    reason: str,
) -> None:
    machine(monkeypatch, **hardware_of)
    choice_ = choose_backend(*settings, device, parameters)
    assert (choice_.backend, choice_.precision) == expected
    assert reason in choice_.reason


@pytest.mark.parametrize(
    ("hardware_of", "has_scales", "expected"),
    [
        ({"dtype": "bfloat16"}, True, "int8"),
        ({"dtype": "bfloat16"}, False, "bfloat16"),
        ({"dtype": "bfloat16", "amx": True}, True, "bfloat16"),
        ({"dtype": "bfloat16", "int8": False}, True, "bfloat16"),
        ({"int8": False}, True, "float32"),
        ({}, True, "int8"),
    ],
)
def test_int8_is_chosen_where_scales_make_it_the_fastest(
    monkeypatch: pytest.MonkeyPatch, hardware_of: dict[str, object], has_scales: bool, expected: str
) -> None:
    machine(monkeypatch, **hardware_of)
    choice = choose_backend("auto", "auto", CPU, LARGE, needs_torch=False, has_scales=has_scales)
    assert choice[:2] == ("openvino", expected)
    assert choose_backend("auto", "auto", GPU, LARGE, needs_torch=False, has_scales=has_scales).backend == "torch"


@pytest.mark.parametrize(
    ("settings", "installed", "message"),
    [
        (("openvino", "int8"), False, "pip install 'bert-judge[openvino]"),
        (("auto", "int8"), False, "pip install 'bert-judge[openvino]"),
        (("tensorflow", "auto"), True, "unknown value 'tensorflow'; choose one of auto, torch, openvino"),
        (("torch", "int4"), True, "unknown value 'int4'; choose one of auto, float32, bfloat16, int8"),
        (("torch", "int8"), True, "torch does not support int8; choose the backend openvino"),
        (("openvino", "bfloat16"), True, "this CPU does not compute in bfloat16; choose int8, float32 or auto"),
    ],
)
def test_an_unsupported_choice_gives_one_line_with_the_fix(
    monkeypatch: pytest.MonkeyPatch, settings: tuple[str, str], installed: bool, message: str
) -> None:
    machine(monkeypatch, openvino=installed)
    with pytest.raises(InputError) as caught:
        choose_backend(*settings, CPU, LARGE)
    assert message in str(caught.value) and "\n" not in str(caught.value)


def converted(precision: str, loaded: checkpoint.Checkpoint) -> Backend:
    pytest.importorskip("openvino")
    from bert_judge.encoder import conversion

    return conversion.convert(loaded.model, precision)


@pytest.mark.parametrize("architecture", tiny_models.ENCODERS)
@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
def test_openvino_agrees_with_torch_whatever_the_batch(tmp_path: Path, architecture: str, precision: str) -> None:
    loaded = checkpoint.load(tiny_models.encoder(tmp_path / "model", architecture))
    with torch.no_grad():
        for parameter in loaded.model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(5)  # rows of a fresh model hardly differ
    if (architecture, precision) == ("deberta-v2", "int8"):
        with pytest.raises(InputError, match="cannot be run in int8"):
            converted(precision, loaded)
        return
    if precision == "bfloat16" and hardware.best_dtype(CPU) != "bfloat16":
        pytest.skip("this CPU does not compute in bfloat16")
    backend = converted(precision, loaded)
    rows = loaded.encoder.encode(["What is the capital of France?"] * 6, CANDIDATES, ["Paris"] * 6)
    pad = loaded.tokenizer.pad_token_id
    exact = compute_logits(TorchBackend(loaded.model), rows, pad)
    together = compute_logits(backend, rows, pad)
    size = np.abs(exact).max() if precision == "bfloat16" else np.ptp(exact)
    np.testing.assert_allclose(together, exact, atol=size * ERRORS[precision])
    # One by one, and turned round in small batches.
    alone = np.concatenate([compute_logits(backend, [row], pad) for row in rows])
    turned = compute_logits(backend, rows[::-1], pad, batch_tokens=100)[::-1]
    company = size * ERRORS["bfloat16" if precision == "bfloat16" else "float32"]
    np.testing.assert_allclose(alone, together, atol=company)
    np.testing.assert_allclose(turned, together, atol=company)


@pytest.mark.parametrize("architecture", ["eurobert", "modernbert"])
def test_gated_layers_are_not_fused(tmp_path: Path, architecture: str) -> None:
    """The fused operation divides by zero in bfloat16 on AMX, where a stream has one thread."""
    pytest.importorskip("openvino")
    from bert_judge.encoder import conversion

    loaded = checkpoint.load(tiny_models.encoder(tmp_path / "model", architecture))
    model = conversion._convert(loaded.model, "float32")
    products = [product for product, _ in conversion._products_with_weights(model)]
    gated = [product for product in products if conversion._is_gated(product.input_value(0).get_node())]
    assert [product.get_transpose_b() for product in gated] == [False] * loaded.model.config.num_hidden_layers


class Rounded:
    """Torch with an error in every logit."""

    batch_tokens, parallel_batches, length_multiple, name, logit_error = 512, 2, 1, "rounded", 0.1

    def __init__(self, exact: TorchBackend, shift: float) -> None:
        self.exact, self.shift = exact, shift

    def run(self, batch: dict[str, np.ndarray]) -> np.ndarray:
        output = self.exact.run(batch)
        signs = np.where(batch["input_ids"].sum(axis=1) % 2, 1, -1)
        output[:, 1] += signs * self.shift
        return output


def judge_and_rows(folder: Path, precision: str = "auto") -> tuple[BERTJudge, tuple[list[str], list[list[str]], list[str]]]:
    judge = BERTJudge(tiny_models.encoder(folder / "model"), precision=precision)
    judge.checkpoint.trained = True
    words = ["Paris", "Mars", "noon", "fox", "seven", "judges", "capital", "planet"]
    candidates = [f"{one} {other}" for one in words for other in words]
    return judge, (["Which?"] * 64, [["Paris", "Mars"]] * 64, candidates)


def test_rounding_changes_no_verdict(tmp_path: Path) -> None:
    judge, rows = judge_and_rows(tmp_path, "float32")
    exact = judge.explain(*rows)
    judge.threshold = float(np.median(exact.scores))
    verdicts = exact.scores >= judge.threshold
    assert 0 < verdicts.sum() < 64
    model = judge.checkpoint.model
    for shift, equal in ((Rounded.logit_error * 0.99, True), (Rounded.logit_error * 50, False)):
        judge.engine.choice = BackendChoice("openvino", "int8", "test")
        judge.engine._compiled["int8"] = Rounded(TorchBackend(model), shift)
        rounded = judge.explain(*rows)
        assert np.array_equal(rounded.scores >= judge.threshold, verdicts) == equal
    np.testing.assert_array_equal(rounded.tokens, exact.tokens)


def test_an_automatic_choice_falls_back_to_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> Backend:
        raise InputError("this model cannot be converted")

    judge, rows = judge_and_rows(tmp_path)
    exact = judge.predict(*rows)
    pytest.importorskip("openvino")
    monkeypatch.setattr("bert_judge.encoder.conversion.convert", refuse)
    judge.engine.choice = BackendChoice("openvino", "int8", "test")
    with caplog.at_level(logging.WARNING):
        np.testing.assert_array_equal(judge.predict(*rows), exact)
    assert "cannot be converted" in caplog.text and judge.engine.choice.backend == "torch"
    judge.engine.choice, judge.engine._is_explicit = BackendChoice("openvino", "int8", "test"), True
    with pytest.raises(InputError, match="cannot be converted"):
        judge.predict(*rows)


def test_the_choice_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        BERTJudge(tiny_models.encoder(tmp_path / "model"), precision="float32")
    [line] = [record.getMessage() for record in caplog.records if "torch on" in record.getMessage()]
    assert "float32" in line
