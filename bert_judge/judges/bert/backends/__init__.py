"""Programs that run an encoder: PyTorch, ONNX Runtime, OpenVINO. `choice.py` picks one, a file each makes it."""

from __future__ import annotations

from pathlib import Path

from transformers import PreTrainedModel

from bert_judge.judges.bert.backends.choice import BackendChoice
from bert_judge.judges.bert.backends.protocol import Backend


def convert_model(choice: BackendChoice, model: PreTrainedModel, folder: Path | None = None) -> Backend:
    """The back end of a choice other than torch, with a converted copy of the model.

    Args:
        model: in eval mode; stays as it is.
        folder: keeps what was converted for the next process; None keeps nothing.

    Raises:
        InputError: this kind of model cannot be converted.
    """
    # Only here: neither package is needed by those who stay on torch.
    if choice.backend == "onnx":
        from bert_judge.judges.bert.backends import onnx

        return onnx.convert(model, choice.precision, folder)
    from bert_judge.judges.bert.backends import openvino

    return openvino.convert(model, choice.precision, folder)
