"""Programs that run an encoder: PyTorch, ONNX Runtime, OpenVINO. `choice.py` selects one."""

from __future__ import annotations

from pathlib import Path

from transformers import PreTrainedModel

from bert_judge.judges.bert.backends.base import Backend
from bert_judge.judges.bert.backends.choice import BackendChoice


def convert_model(choice: BackendChoice, model: PreTrainedModel, folder: Path | None = None) -> Backend:
    """Convert a model for a backend other than torch.

    Args:
        model: in eval mode; it is not changed.
        folder: caches the converted model for the next process; None caches nothing.

    Raises:
        InputError: this kind of model cannot be converted.
    """
    # Optional packages.
    if choice.backend == "onnx":
        from bert_judge.judges.bert.backends import onnx

        return onnx.convert(model, choice.precision, folder)
    from bert_judge.judges.bert.backends import openvino

    return openvino.convert(model, choice.precision, folder)
