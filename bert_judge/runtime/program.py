"""Which state of this program runs, and with which packages, for the provenance of what it writes."""

import hashlib
import importlib.metadata
import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from bert_judge import __version__

PACKAGE = Path(__file__).parents[1]
# Files of the package that decide what it does.
SOURCES = ("**/*.py", "**/*.yaml", "**/*.jinja")
# Packages whose version may change a verdict or a number.
PACKAGES = (
    *("lightgbm", "latex2sympy2-extended", "math-verify", "numpy", "openvino", "pandas", "scikit-learn", "scipy", "sympy"),
    *("tokenizers", "torch", "transformers", "vllm"),
)


@cache
def program() -> str:
    """Return name, version and 12 hex digits of a hash of the source, which tells apart two states of one version."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in SOURCES for path in PACKAGE.glob(pattern)}):
        digest.update(f"{path.relative_to(PACKAGE).as_posix()}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return f"bert-judge {__version__}+{digest.hexdigest()[:12]}"


@cache
def commit() -> str | None:
    """Return the commit of a checkout; None for an installed package."""
    if not (PACKAGE.parent / ".git").exists():
        return None
    try:
        command = ["git", "-C", str(PACKAGE.parent), "rev-parse", "HEAD"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        # No git, or a folder of another user.
        return None


@cache
def packages() -> Mapping[str, str]:
    """Return the installed ones of `PACKAGES` with their versions."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions
