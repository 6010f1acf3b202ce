"""Scripts and modules in a process of their own, as a user runs them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(*arguments: object, folder: Path, **variables: str) -> str:
    """What Python prints with these arguments.

    Args:
        folder: where it runs.
        variables: of the environment; the hub is not asked.
    """
    settings = os.environ | {"HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)} | variables
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=settings, cwd=folder, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.strip()
