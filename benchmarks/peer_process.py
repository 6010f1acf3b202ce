"""Score text pairs with sentence-transformers' `CrossEncoder`, with every backend of the Python that runs this script, or with
vLLM's classification.

    PYTHON benchmarks/peer_process.py cross-encoder|vllm FOLDER MAX_LENGTH DTYPE… < requests

`peers.PeerProcess` starts it. It imports nothing of this project, because vLLM pins its own torch, and the extras `onnx` and
`openvino` of sentence-transformers need other releases of transformers than this project, and than each other.

Input and output are lines of JSON. The first line of input is the list of all pairs; the answer has the versions and the names of
the ways to score, once every model is loaded and converted. Each further line is `[way, batch size, n]`, answered by the scores of
the first n pairs. Converted models are written into FOLDER. vLLM takes the last DTYPE, and chooses its own batches.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

PACKAGES = ("sentence-transformers", "transformers", "openvino", "onnxruntime")
# Pairs that choose the ranges of the 8-bit activations of OpenVINO; as many as sentence-transformers takes by default.
CALIBRATION_ROWS = 300
# Share of the GPU's memory for vLLM: an encoder has no cache, and other models are on this GPU.
MEMORY_SHARE = 0.3


class CrossEncoderPeer:
    """Score with `CrossEncoder` on every backend that this Python has."""

    def __init__(self, folder: Path, longest: int, dtypes: list[str], pairs: list[list[str]]) -> None:
        import sentence_transformers as st

        def model(backend: str, **settings: object) -> Any:
            return st.CrossEncoder(str(folder), max_length=longest, backend=backend, model_kwargs=settings)

        self.models = {f"PyTorch, {dtype}": model("torch", dtype=getattr(torch, dtype)) for dtype in dtypes}
        # Both extras bring optimum, without which sentence-transformers uses neither.
        has_optimum = not torch.cuda.is_available() and importlib.util.find_spec("optimum") is not None
        if has_optimum and importlib.util.find_spec("openvino"):
            # OpenVINO's own choice of precision: bfloat16 where the CPU has it.
            self.models["OpenVINO"] = model("openvino")
            # Another one, because quantising changes the model. Calibrated on the rows that it will score, which is the best case.
            unquantised = model("openvino")
            separator = unquantised.tokenizer.sep_token
            texts = [{"text": f" {separator} ".join(pair)} for pair in pairs[:CALIBRATION_ROWS]]
            (folder / "calibration").mkdir()
            (folder / "calibration" / "train.jsonl").write_text("\n".join(map(json.dumps, texts)))
            st.export_static_quantized_openvino_model(
                unquantised, None, str(folder), str(folder / "calibration"), "default", "train", "text"
            )
            self.models["OpenVINO, int8"] = model("openvino", file_name="openvino/openvino_model_qint8_quantized.xml")
        if has_optimum and importlib.util.find_spec("onnxruntime"):
            self.models["ONNX, float32"] = model("onnx")
            st.export_optimized_onnx_model(self.models["ONNX, float32"], "O3", str(folder))
            self.models["ONNX, float32, O3"] = model("onnx", file_name="onnx/model_O3.onnx")
            st.export_dynamic_quantized_onnx_model(self.models["ONNX, float32"], "avx512_vnni", str(folder))
            self.models["ONNX, int8"] = model("onnx", file_name="onnx/model_qint8_avx512_vnni.onnx")
        installed = {item.metadata["Name"].lower(): item.version for item in importlib.metadata.distributions()}
        self.versions = ", ".join(f"{name} {installed[name]}" for name in PACKAGES if name in installed)

    def score(self, way: str, size: int, pairs: list[list[str]]) -> list[float]:
        logits = self.models[way].predict(pairs, batch_size=size, show_progress_bar=False, activation_fn=torch.nn.Identity())
        wide = np.asarray(logits, float)
        return (1 / (1 + np.exp(wide[:, 0] - wide[:, 1]))).tolist()


class VLLMPeer:
    """Score with vLLM's classification."""

    def __init__(self, folder: Path, longest: int, dtypes: list[str], pairs: list[list[str]]) -> None:
        # Before vLLM is imported. A single process, so that its memory is that of this one.
        os.environ |= {"VLLM_ENABLE_V1_MULTIPROCESSING": "0", "VLLM_NO_USAGE_STATS": "1", "VLLM_LOGGING_LEVEL": "WARNING"}
        import vllm

        self.vllm, self.longest = vllm, longest
        engine = vllm.LLM(
            model=str(folder),
            runner="pooling",
            dtype=dtypes[-1],
            max_model_len=longest,
            gpu_memory_utilization=MEMORY_SHARE,
            # Compiling takes minutes on a CPU.
            enforce_eager=not torch.cuda.is_available(),
        )
        self.models = {dtypes[-1]: engine}
        self.versions = f"vLLM {vllm.__version__}"

    def score(self, way: str, size: int, pairs: list[list[str]]) -> list[float]:
        model = self.models[way]
        encoded = model.get_tokenizer()([tuple(pair) for pair in pairs], truncation=True, max_length=self.longest)
        rows = list(zip(encoded["input_ids"], encoded["token_type_ids"], strict=True))
        # vLLM takes the segments as the place of the first token of the second text.
        segments = [{"compressed_token_type_ids": types.index(1)} for _, types in rows]
        params = [self.vllm.PoolingParams(task="classify", extra_kwargs=segment) for segment in segments]
        outputs = model.classify([{"prompt_token_ids": ids} for ids, _ in rows], pooling_params=params, use_tqdm=False)
        return [output.outputs.probs[1] for output in outputs]


def main() -> None:
    # Libraries print; only answers may reach the standard output.
    output = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    name, folder, longest, *dtypes = sys.argv[1:]
    pairs = json.loads(sys.stdin.readline())
    peer = {"cross-encoder": CrossEncoderPeer, "vllm": VLLMPeer}[name](Path(folder), int(longest), dtypes, pairs)
    print(json.dumps([peer.versions, list(peer.models)]), file=output, flush=True)
    for line in sys.stdin:
        way, size, n = json.loads(line)
        print(json.dumps(peer.score(way, size, pairs[:n])), file=output, flush=True)


if __name__ == "__main__":
    main()
