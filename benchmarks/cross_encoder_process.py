"""Score text pairs with sentence-transformers' `CrossEncoder`, with every backend of the Python that runs this script.

    PYTHON benchmarks/cross_encoder_process.py FOLDER MAX_LENGTH DTYPE… < requests

`peers.CrossEncoders` starts it. It imports nothing of this project, because the extras `onnx` and `openvino` of
sentence-transformers need other releases of transformers than this project, and than each other.

Input and output are lines of JSON. The first line of input is the list of all pairs; the answer has the versions and the names of
the ways to score, once every model is loaded and converted. Each further line is `[way, batch size, n]`, answered by the scores of
the first n pairs. Converted models are written into FOLDER.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import sys
from pathlib import Path

import numpy as np
import torch
from sentence_transformers import CrossEncoder, export_dynamic_quantized_onnx_model, export_optimized_onnx_model
from sentence_transformers import export_static_quantized_openvino_model as export_int8_openvino_model

PACKAGES = ("sentence-transformers", "transformers", "openvino", "onnxruntime")
# Pairs that choose the ranges of the 8-bit activations of OpenVINO; as many as sentence-transformers takes by default.
CALIBRATION_ROWS = 300


def load(folder: Path, longest: int, dtypes: list[str], pairs: list[list[str]]) -> dict[str, CrossEncoder]:
    def model(backend: str, **settings: object) -> CrossEncoder:
        return CrossEncoder(str(folder), max_length=longest, backend=backend, model_kwargs=settings)

    models = {f"PyTorch, {dtype}": model("torch", dtype=getattr(torch, dtype)) for dtype in dtypes}
    if torch.cuda.is_available():
        return models
    # Both extras bring optimum, without which sentence-transformers uses neither.
    has_optimum = importlib.util.find_spec("optimum") is not None
    if has_optimum and importlib.util.find_spec("openvino"):
        # OpenVINO's own choice of precision: bfloat16 where the CPU has it.
        models["OpenVINO"] = model("openvino")
        # Another one, because quantising changes the model.
        calibrate(model("openvino"), folder, pairs)
        models["OpenVINO, int8"] = model("openvino", file_name="openvino/openvino_model_qint8_quantized.xml")
    if has_optimum and importlib.util.find_spec("onnxruntime"):
        models["ONNX, float32"] = model("onnx")
        export_optimized_onnx_model(models["ONNX, float32"], "O3", str(folder))
        models["ONNX, float32, O3"] = model("onnx", file_name="onnx/model_O3.onnx")
        export_dynamic_quantized_onnx_model(models["ONNX, float32"], "avx512_vnni", str(folder))
        models["ONNX, int8"] = model("onnx", file_name="onnx/model_qint8_avx512_vnni.onnx")
    return models


def calibrate(model: CrossEncoder, folder: Path, pairs: list[list[str]]) -> None:
    """Write the model in int8, calibrated on the rows that it will score, which is the best case."""
    separator = model.tokenizer.sep_token
    texts = [{"text": f" {separator} ".join(pair)} for pair in pairs[:CALIBRATION_ROWS]]
    (folder / "calibration").mkdir()
    (folder / "calibration" / "train.jsonl").write_text("\n".join(map(json.dumps, texts)))
    export_int8_openvino_model(model, None, str(folder), str(folder / "calibration"), "default", "train", "text")


def score(model: CrossEncoder, size: int, pairs: list[list[str]]) -> list[float]:
    logits = model.predict(pairs, batch_size=size, show_progress_bar=False, activation_fn=torch.nn.Identity())
    wide = np.asarray(logits, float)
    return (1 / (1 + np.exp(wide[:, 0] - wide[:, 1]))).tolist()


def main() -> None:
    # Libraries print; only answers may reach the standard output.
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    folder, longest, *dtypes = sys.argv[1:]
    pairs = json.loads(sys.stdin.readline())
    models = load(Path(folder), int(longest), dtypes, pairs)
    installed = {item.metadata["Name"].lower(): item.version for item in importlib.metadata.distributions()}
    versions = ", ".join(f"{name} {installed[name]}" for name in PACKAGES if name in installed)
    print(json.dumps([versions, list(models)]), file=output, flush=True)
    for line in sys.stdin:
        way, size, n = json.loads(line)
        print(json.dumps(score(models[way], size, pairs[:n])), file=output, flush=True)


if __name__ == "__main__":
    main()
