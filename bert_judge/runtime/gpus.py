"""A check that a cluster job received the GPUs it requested, so that it fails at once instead of running on the CPU.

Outside a cluster job nothing is checked: there the same stages may run without a GPU.
"""

import os
import platform
import re
from collections.abc import Mapping

from bert_judge.runtime.errors import InputError

# Set by SLURM in every job.
JOB_VARIABLE = "SLURM_JOB_ID"
# Set by users who want a job to run without GPUs.
OVERRIDE_VARIABLE = "BERT_JUDGE_WITHOUT_GPU"


def requested_gpus(resources: Mapping[str, object]) -> int:
    """Return the number of GPUs in a job's resources: `gpu`, or a `gres` such as `gpu:a100:2`."""
    if count := resources.get("gpu"):
        return int(str(count))
    gres = re.search(r"\bgpu(?::[^:,]*[^:,\d][^:,]*)?(?::(\d+))?(?=,|$)", str(resources.get("gres") or ""))
    return int(gres[1] or 1) if gres else 0


def check_gpus(resources: Mapping[str, object]) -> None:
    """Compare the requested GPUs with the visible ones.

    Raises:
        InputError: fewer GPUs are visible than requested, or torch is built without GPU support.
    """
    requested = requested_gpus(resources)
    if not requested or JOB_VARIABLE not in os.environ or os.environ.get(OVERRIDE_VARIABLE):
        return
    import torch

    visible = torch.cuda.device_count()
    if visible >= requested:
        return
    problem = f"{platform.node()}: the job requested {requested} GPU{'s' if requested > 1 else ''}"
    if torch.version.cuda is None and torch.version.hip is None:
        raise InputError(
            f"{problem}, and torch {torch.__version__} is built for CPUs only; install its CUDA build, or set {OVERRIDE_VARIABLE}=1"
        )
    devices = os.environ.get("CUDA_VISIBLE_DEVICES", "not set")
    raise InputError(
        f"{problem}, and {visible} are visible (CUDA_VISIBLE_DEVICES: {devices}); check `nvidia-smi` there, exclude the node "
        f"(slurm-exclude-failed-nodes in the profile), or set {OVERRIDE_VARIABLE}=1"
    )
