"""The compute device, its fast number formats and its cores. torch, which takes two seconds to import, is asked only for GPUs.

A cluster job checks that it received the GPUs it requested, so that it fails at once instead of running on the CPU.
"""

import importlib.util
import os
import platform
import re
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from bert_judge.runtime.errors import InputError

# On Linux, one of these exists where a driver of NVIDIA or AMD is loaded.
GPU_FILES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
CPU_INFO = Path("/proc/cpuinfo")


def has_torch() -> bool:
    """Return whether torch is installed, without importing it."""
    return importlib.util.find_spec("torch") is not None


@cache
def best_device() -> str:
    """Return "cuda", "mps" or "cpu", whichever is available first."""
    if not has_torch() or (sys.platform == "linux" and not any(Path(file).exists() for file in GPU_FILES)):
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda"
    return "mps" if torch.backends.mps.is_available() else "cpu"


def best_dtype(device: str) -> str:
    """Return "bfloat16" if the hardware computes in it, else "float32"."""
    if device == "cuda":
        import torch

        return "bfloat16" if torch.cuda.is_bf16_supported(including_emulation=False) else "float32"
    return "bfloat16" if _cpu_flags() & {"avx512_bf16", "amx_bf16"} else "float32"


def supports_int8() -> bool:
    """Return whether the CPU has 8-bit dot-product instructions (four times the float32 rate)."""
    return bool(_cpu_flags() & {"avx512_vnni", "avx_vnni", "amx_int8"})


def supports_amx() -> bool:
    """Return whether the CPU has bfloat16 matrix instructions (AMX)."""
    return "amx_bf16" in _cpu_flags()


@cache
def num_threads() -> int:
    """Return OMP_NUM_THREADS, or else the number of physical cores that this process may use."""
    configured = os.environ.get("OMP_NUM_THREADS", "")
    if configured.isdecimal() and int(configured):
        return int(configured)
    # The first verdict by words does not need it.
    import joblib

    cores: int = joblib.cpu_count(only_physical_cores=True)
    return cores


@cache
def _cpu_flags() -> frozenset[str]:
    """Return the names of instruction sets, as Linux and torch write them; empty where neither is there."""
    if CPU_INFO.is_file():
        flags = re.search(r"^flags\s*:(.*)$", CPU_INFO.read_text("utf-8"), re.MULTILINE)
        return frozenset(flags[1].split() if flags else ())
    if not has_torch():
        return frozenset()
    import torch

    return frozenset(name for name, present in torch.cpu.get_capabilities().items() if present is True)


# --- GPUs of a cluster job ---

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
