"""Run Snakemake in forks of one process that has already imported it: each start saves more than a second of imports."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

SITE = Path(__file__).with_name("site")
PRELOADED = ["snakemake.cli", "snakemake.api", "bert_judge.plan"]

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(PRELOADED)


def run_snakemake(arguments: Sequence[str], folder: Path, environment: Mapping[str, str], output: Path) -> int:
    """Run `snakemake` with these arguments in a folder; return its exit code.

    Args:
        output: file that receives stdout and stderr.
    """
    process = _context.Process(target=_main, args=(list(arguments), str(folder), dict(environment), str(output)))
    process.start()
    process.join()
    assert process.exitcode is not None
    return process.exitcode


def _main(arguments: list[str], folder: str, environment: dict[str, str], output: str) -> None:
    descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    runpy.run_path(str(SITE / "sitecustomize.py"))
    sys.argv = ["snakemake", *arguments]
    sys.path[:] = [path for path in sys.path if not path.startswith(str(SITE.parents[1]))]
    sys.path.insert(0, folder)
    from snakemake import cli

    cli.main()
