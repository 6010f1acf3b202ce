"""A job that was given no GPU although it asked for one ends at once, instead of computing on the CPU until its time is up.

Only on a cluster: on a machine of one's own the same jobs run without a GPU, and are meant to.
"""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping

from bert_judge.runtime.errors import InputError

# Set by SLURM in every job.
IN_A_JOB = "SLURM_JOB_ID"
# Set by whoever wants the work done without GPUs all the same.
WITHOUT = "BERT_JUDGE_WITHOUT_GPU"


def asked(resources: Mapping[str, object]) -> int:
    """GPUs among a job's resources: `gpu`, or what a `gres` such as `gpu:a100:2` says."""
    if count := resources.get("gpu"):
        return int(str(count))
    found = re.search(r"\bgpu(?::[^:,]*[^:,\d][^:,]*)?(?::(\d+))?(?=,|$)", str(resources.get("gres") or ""))
    return int(found[1] or 1) if found else 0


def check(resources: Mapping[str, object]) -> None:
    """Compare what a job asked for with what torch sees.

    Args:
        resources: the job's.

    Raises:
        InputError: fewer GPUs are visible than were asked for, or torch is built without them.
    """
    wanted = asked(resources)
    if not wanted or IN_A_JOB not in os.environ or os.environ.get(WITHOUT):
        return
    import torch

    seen = torch.cuda.device_count()
    if seen >= wanted:
        return
    request = f"{platform.node()}: the job asked for {wanted} GPU{'s' if wanted > 1 else ''}"
    if torch.version.cuda is None and torch.version.hip is None:
        raise InputError(
            f"{request}, and torch {torch.__version__} is built for CPUs only; install its build for CUDA, or set {WITHOUT}=1"
        )
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "not set")
    raise InputError(
        f"{request}, and {seen} can be seen (CUDA_VISIBLE_DEVICES: {visible}); see `nvidia-smi` there, leave the node "
        f"out (slurm-exclude-failed-nodes in the profile), or set {WITHOUT}=1"
    )
