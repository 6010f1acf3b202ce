"""Static int8: ranges of activations, measured on training rows and kept in the judge's folder."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from helpers import tiny_models
from safetensors.numpy import load_file, save_file

from bert_judge.encoder.judge_folder import CHECKSUMS
from bert_judge.encoder.weights import INPUTS_FILE, LOGIT_ERROR, PREFIXES, Linear, Matrix, input_name
from bert_judge.judges.bert.judge import BERTJudge
from bert_judge.runtime import hardware
from bert_judge.runtime.errors import InputError

openvino = pytest.importorskip("bert_judge.encoder.openvino")

WORDS = ["Paris", "Mars", "noon", "fox", "seven", "judges", "capital", "planet"]
CANDIDATES = [f"{one} and {other} " * repeats for one in WORDS for other in WORDS for repeats in (1, 4)]
ROWS = ["Which?"] * len(CANDIDATES), [["Paris", "Mars"]] * len(CANDIDATES), CANDIDATES


def save_judge(folder: Path, architecture: str = "bert") -> BERTJudge:
    judge = BERTJudge(tiny_models.encoder(folder / "backbone", architecture))
    with torch.no_grad():
        for parameter in judge.checkpoint.model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(4)  # rows of a fresh model hardly differ
    judge.checkpoint.trained = True
    judge.save(folder / "judge")
    return judge


@pytest.mark.parametrize("architecture", ["bert", "roberta", "mpnet"])
def test_scales_are_written_and_used(tmp_path: Path, architecture: str) -> None:
    save_judge(tmp_path, architecture)
    folder = tmp_path / "judge"
    error = openvino.write_input_scales(folder, *ROWS)
    if architecture not in PREFIXES:
        assert error is None and not (folder / INPUTS_FILE).exists()
        return
    judge, exact = BERTJudge(folder, precision="int8"), BERTJudge(folder, backend="openvino", precision="float32")
    assert judge.engine.logit_error == pytest.approx(error) and 0 < error <= 0.25
    rounded, expected = (model.engine.score(model.checkpoint.encoder.encode_answers(*ROWS)).logits for model in (judge, exact))
    assert 0 < np.quantile(np.abs(rounded - expected), 0.9) <= 2 * error
    assert np.corrcoef(rounded, expected)[0, 1] > 0.9
    if hardware.supports_int8():
        nodes = judge.engine._compiled["int8"].compiled.get_runtime_model().get_ordered_ops()
        kinds = [node.get_rt_info() for node in nodes]
        products = [str(kind["runtimePrecision"].astype(str)) for kind in kinds if "Full" in str(kind["layerType"].astype(str))]
        # Six per layer, and two of the head.
        assert sum(kind in ("u8", "i8") for kind in products) == 12 and len(products) == 14


@pytest.mark.parametrize("sign", [1, -1])
def test_products_of_the_largest_values_are_exact(sign: int) -> None:
    """Pairs of 8-bit products overflow 16 bits on CPUs without VNNI."""
    layer = Linear(Matrix(np.full((64, 64), sign, np.float32), None), np.zeros(64, np.float32))
    weights: Any = SimpleNamespace(
        layers=[SimpleNamespace(query=layer)],
        input_scales={input_name(0, "query"): np.ones(64, np.float32)},
        embedding_norm=SimpleNamespace(bias=layer.bias),
        heads=4,
    )
    states = openvino.ops.parameter([1, -1, 64], np.float32)
    graph = openvino.openvino.Model(openvino._Builder(weights, int8=True)._project(states, 0, "query"), [states], "product")
    backend = openvino.OpenvinoBackend(graph, 64, "int8")
    [output] = backend.compiled([np.ones((1, 32, 64), np.float32)]).values()
    np.testing.assert_allclose(output, sign * 64.0, rtol=0.01)


def test_scales_are_the_largest_inputs_whatever_the_padding(tmp_path: Path) -> None:
    judge = save_judge(tmp_path)
    openvino.write_input_scales(tmp_path / "judge", *ROWS)
    saved = load_file(tmp_path / "judge" / INPUTS_FILE)
    largest: dict[str, np.ndarray] = {}

    def record(name: str) -> Callable[..., None]:
        def hook(module: object, inputs: tuple) -> None:
            largest[name] = np.maximum(largest.get(name, 0.0), np.abs(inputs[0].numpy()).max((0, 1)))

        return hook

    for i, layer in enumerate(judge.checkpoint.model.bert.encoder.layer):
        layer.attention.self.key.register_forward_pre_hook(record(input_name(i, "query")))
        layer.output.dense.register_forward_pre_hook(record(input_name(i, "output")))
    # Every second row sets the scales.
    for row in judge.checkpoint.encoder.encode(ROWS[0], CANDIDATES, ["Paris"] * len(CANDIDATES))[::2]:
        with torch.inference_mode():
            judge.checkpoint.model(input_ids=torch.tensor([row.ids]), token_type_ids=torch.tensor([row.types]))
    for name, values in largest.items():
        np.testing.assert_allclose(saved[name], values, rtol=1e-3)


def test_a_judge_that_int8_would_change_gets_no_scales(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    judge, folder = save_judge(tmp_path), tmp_path / "judge"
    judge.save(folder, int8=True)
    for _ in range(2):
        openvino.write_input_scales(folder, *ROWS)
        assert INPUTS_FILE in (folder / CHECKSUMS).read_text("utf-8")
        BERTJudge(folder)
    judge.save(folder)
    assert not (folder / INPUTS_FILE).exists(), "those of other weights"
    monkeypatch.setitem(openvino.LOGIT_ERRORS, "int8", 0.0)
    assert openvino.write_input_scales(folder, *ROWS) > 0
    assert not (folder / INPUTS_FILE).exists()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (input_name(1, "output"), np.full(64, np.nan, np.float32), "NaN or infinity"),
        (input_name(0, "query"), np.ones(31, np.float32), "has the shape"),
        (LOGIT_ERROR, np.ones(2, np.float32), "has the shape"),
        (input_name(0, "intermediate"), np.ones(32, np.float64), "has the type float64"),
        (input_name(0, "attention_output"), None, "is missing"),
    ],
)
def test_a_damaged_file_is_one_line(tmp_path: Path, name: str, value: np.ndarray | None, message: str) -> None:
    save_judge(tmp_path)
    folder = tmp_path / "judge"
    openvino.write_input_scales(folder, *ROWS)
    tensors = load_file(folder / INPUTS_FILE) | {name: value}
    save_file({key: tensor for key, tensor in tensors.items() if tensor is not None}, folder / INPUTS_FILE)
    with pytest.raises(InputError, match=message) as caught:
        BERTJudge(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("is_int8", [False, True])
def test_strided_weights_are_saved_as_they_are(tmp_path: Path, is_int8: bool) -> None:
    """safetensors 0.8.0 stores the memory of a transposed array without an error."""
    judge = save_judge(tmp_path)
    parameter = judge.checkpoint.model.bert.encoder.layer[0].attention.self.query.weight
    parameter.data = parameter.data.T.contiguous().T
    weights = parameter.detach().numpy()
    assert not weights.flags.c_contiguous
    judge.save(tmp_path / "strided", int8=is_int8)
    loaded = BERTJudge(tmp_path / "strided", backend="torch", precision="float32").checkpoint.model
    stored = loaded.bert.encoder.layer[0].attention.self.query.weight.detach().numpy()
    np.testing.assert_allclose(stored, weights, atol=np.abs(weights).max() / 100)
