"""Time and memory of the workflow's CPU stages as rows, models and tasks grow.

    python benchmarks/growth.py [--models 2] [--tasks 1] [--rows 500] [--factors 3 10] [--plot docs/images/growth.svg]

A synthetic grid (simulated models, sums as tasks, three cheap judges) is enlarged along one axis at a time: rows per table,
models, or tasks. Every stage runs in one process without Snakemake; printed are processor microseconds per answer of the grid and
the peak memory of that process. A flat line means that the time grows linearly with the answers. Planning is a whole `snakemake
--dry-run`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
from grids import Size, run_in_one_process, stages, write
from workflow_overhead import snakemake

SIDES = ("rows", "models", "tasks")


class Measured(NamedTuple):
    """Attributes: processor seconds of a stage on a whole grid, and the peak memory of its process in megabytes."""

    seconds: float
    peak: float


def measured(folder: Path, size: Size) -> dict[str, Measured]:
    """Every stage on a grid, and its planning. The folder is emptied first: task files of one path may be loaded again."""
    shutil.rmtree(folder, ignore_errors=True)
    write(folder, size)
    plan = snakemake(folder, "--dry-run", "--quiet")
    found = {}
    for stage, jobs in stages(folder).items():
        used = run_in_one_process(folder, jobs, warm=True)
        found[stage] = Measured(used["seconds"], used["peak"])
        print(f"{size}: {stage}: {found[stage]}", file=sys.stderr, flush=True)
    return {**found, "planning": Measured(plan.processor, plan.peak)}


def enlarged(base: Size, side: str, factor: int) -> Size:
    return base._replace(**{side: getattr(base, side) * factor})


def show(base: Size, grids: Mapping[Size, Mapping[str, Measured]], factor: int) -> None:
    """Tables in Markdown: the base, and each side `factor` times as long."""
    sizes = [base, *(enlarged(base, side, factor) for side in SIDES)]
    header = f"| stage | base | {' | '.join(f'{side} ×{factor}' for side in SIDES)} |\n|---|---|---|---|---|"
    listed = [stage for stage in grids[base] if stage != "planning"]
    print(f"base: {base.models} models × {base.tasks} tasks × {base.rows:,} rows; load {os.getloadavg()[0]:.1f}")
    print(f"\nprocessor microseconds per answer\n\n{header}")
    for stage in listed:
        print(f"| {stage} | {' | '.join(f'{1e6 * grids[size][stage].seconds / size.answers:,.0f}' for size in sizes)} |")
    print(f"\npeak megabytes of the process\n\n{header}")
    for stage in (*listed, "planning"):
        print(f"| {stage} | {' | '.join(f'{grids[size][stage].peak:,.0f}' for size in sizes)} |")
    told = ", ".join(f"{grids[size]['planning'].seconds:.1f}" for size in sizes)
    print(f"\nplanning, processor seconds: {told} for {', '.join(str(jobs_of(size)) for size in sizes)} jobs")


def jobs_of(size: Size) -> int:
    return 5 * size.models * size.tasks + size.tasks + 2


def draw(base: Size, grids: Mapping[Size, Mapping[str, Measured]], factors: Sequence[int], target: Path) -> None:
    """Time per answer above, memory below; a column per side, a line per stage."""
    mpl.use("svg")
    # The same drawing gives the same bytes; text stays text.
    mpl.rcParams.update({"svg.hashsalt": "growth", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, len(SIDES), figsize=(10, 6), sharex=True, sharey="row", layout="constrained")
    steps = [1, *factors]
    for column, side in enumerate(SIDES):
        sizes = [enlarged(base, side, step) for step in steps]
        for stage in [name for name in grids[base] if name != "planning"]:
            times = [1e6 * grids[size][stage].seconds / size.answers for size in sizes]
            axes[0, column].plot(steps, times, marker="o", label=stage)
            axes[1, column].plot(steps, [grids[size][stage].peak for size in sizes], marker="o")
        axes[0, column].set(title=f"more {side}", yscale="log")
        axes[1, column].set(xscale="log", xticks=steps, xticklabels=[f"×{step}" for step in steps], ylim=(0, None))
        axes[1, column].minorticks_off()
    axes[0, 0].set_ylabel("processor µs per answer")
    axes[1, 0].set_ylabel("peak memory, MB")
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    figure.suptitle(f"Simulated grid; at ×1: models {base.models}, tasks {base.tasks}, rows of a table {base.rows:,}")
    target.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(target, format="svg", metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=2)
    parser.add_argument("--tasks", type=int, default=1)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--factors", type=int, nargs="+", default=[3, 10])
    parser.add_argument("--plot", type=Path, help="where the drawing goes, as SVG")
    chosen = parser.parse_args()
    base = Size(chosen.models, chosen.tasks, chosen.rows)
    sizes = [base, *(enlarged(base, side, factor) for side in SIDES for factor in chosen.factors)]
    with tempfile.TemporaryDirectory() as name:
        grids = {size: measured(Path(name).resolve() / "grid", size) for size in sizes}
    show(base, grids, max(chosen.factors))
    if chosen.plot:
        draw(base, grids, sorted(chosen.factors), chosen.plot)


if __name__ == "__main__":
    main()
