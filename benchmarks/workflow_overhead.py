"""Overhead of the workflow: planning the paper's grid, and starting every job, stage by stage; and how its stages grow.

    python benchmarks/workflow_overhead.py jobs [--models 3] [--tasks 4] [--rows 1000] [--jobs 500] [--configfile FILE]
    python benchmarks/workflow_overhead.py growth [--models 2] [--tasks 1] [--rows 500] [--factors 3 10] [--plot FILE]

jobs: the same work of a synthetic grid is done in three ways, each with the workflow's own scripts:

* one process that runs all jobs of a stage, after a warm-up job: the work itself;
* a plain shell loop with one `python` process per job: adds the interpreter and the imports;
* Snakemake, run for the stage's tables: adds planning, starting and recording the jobs.

Times are processor seconds of all processes, because other work on the machine stretches wall-clock time. The cost of a grid of
`--jobs` jobs is extrapolated from that of its stages for tables of `--rows` rows; the last line is the number of rows per table
at which the overhead is 15% of the work.

growth: a synthetic grid is enlarged along one axis at a time: rows per table, models, or tasks. Every stage runs in one process
without Snakemake; printed are processor microseconds per answer of the grid and the peak memory of that process. A flat line means
that the time grows linearly with the answers. Planning is a whole `snakemake --dry-run`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
from grids import PROJECT, RUNNER, Job, Size, run_in_one_process, stages, write

SHARE = 0.15
SIDES = ("rows", "models", "tasks")


@dataclass(frozen=True)
class Used:
    """Attributes: seconds by the clock and of the processor, and the peak memory of the largest process, in megabytes."""

    wall: float
    processor: float
    peak: float


@dataclass(frozen=True)
class Stage:
    """Processor seconds of all jobs of a stage, in three ways."""

    jobs: int
    work: float
    loop: float
    snakemake: float

    @property
    def start(self) -> float:
        """Seconds per job that a process of its own costs."""
        return (self.loop - self.work) / self.jobs

    @property
    def own(self) -> float:
        """Seconds per job that Snakemake costs beyond that."""
        return (self.snakemake - self.loop) / self.jobs


def used_by(command: Sequence[str], folder: Path) -> Used:
    """What a command and all that it started used; the benchmark ends when it fails."""
    printed = folder / "printed"
    started = time.monotonic()
    with printed.open("w") as out:
        process = subprocess.Popen(command, cwd=folder, stdout=out, stderr=out, env=os.environ | {"HF_HUB_OFFLINE": "1"})
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)[:200]} failed:\n{printed.read_text()[-3000:]}")
    return Used(time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def snakemake(folder: Path, *arguments: str) -> Used:
    return used_by([sys.executable, "-m", "snakemake", "--cores", "2", *arguments], folder)


def shell_loop(folder: Path, jobs: Sequence[Job]) -> Used:
    """A `python` per job, one after the other."""
    lines = folder / "loop"
    lines.mkdir(exist_ok=True)
    for number, job in enumerate(jobs):
        (lines / f"{number:04d}.jsonl").write_text(job.line())
    listed = " ".join(f"loop/{number:04d}.jsonl" for number in range(len(jobs)))
    loop = f'for job in {listed}; do "{sys.executable}" "{RUNNER}" $job || exit 1; done'
    return used_by(["bash", "-c", loop], folder)


def measured(folder: Path, jobs: Sequence[Job]) -> Stage:
    targets = [job.targets[0] for job in jobs]
    work = run_in_one_process(folder, jobs, warm=True)["seconds"]
    loop = shell_loop(folder, jobs)
    for job in jobs:
        for path in job.targets:
            (folder / path).unlink()
    return Stage(len(jobs), work, loop.processor, snakemake(folder, *targets).processor)


def planning(config: Path) -> Used:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, Size(1, 1, 1))
        return snakemake(folder, "--dry-run", "--quiet", "--configfile", str(config.resolve()))


def counts(size: Size, jobs: int) -> dict[str, int]:
    """Jobs per stage of the grid of this many tasks that has `jobs` jobs, as nearly as whole models allow."""
    per_model = 5 * size.tasks
    models = max(1, round((jobs - size.tasks - 2) / per_model))
    tables = models * size.tasks
    per_table = {"simulate_candidates": tables, "label": 3 * tables, "build_scores": tables}
    return {"build_task": size.tasks, **per_table, "build_standings": 1, "build_report": 1}


def show_stages(found: Mapping[str, Stage]) -> None:
    print("| stage | jobs | work, s a job | its own process, s a job | Snakemake beyond that, s a job |\n|---|---|---|---|---|")
    for name, stage in found.items():
        print(f"| {name} | {stage.jobs} | {stage.work / stage.jobs:.2f} | {stage.start:.2f} | {stage.own:.2f} |")


def show_grid(found: Mapping[str, Stage], size: Size, jobs: int) -> None:
    """The overhead of a whole grid, from what its stages cost."""
    of_stage = counts(size, jobs)

    def total(name: str) -> float:
        return sum(count * getattr(found[stage], name) for stage, count in of_stage.items())

    work = sum(count * found[stage].work / found[stage].jobs for stage, count in of_stage.items())
    start, own = total("start"), total("own")
    print(f"\na grid of {sum(of_stage.values())} jobs with {size.rows:,} rows a table, processor seconds:")
    print(f"  work {work:.0f}, processes {start:.0f}, Snakemake {own:.0f}")
    print(f"  overhead of the workflow: {(start + own) / work:.0%} of the work; of a plain shell loop: {start / work:.0%}")
    print(f"  Snakemake beyond the loop: {own / (work + start):.0%} of the loop's time")
    print(f"  the overhead is {SHARE:.0%} of the work at about {size.rows * (start + own) / (SHARE * work):,.0f} rows a table")


def measure_jobs(options: argparse.Namespace) -> None:
    plan = planning(options.configfile)
    print(f"planning {options.configfile.name}: {plan.wall:.1f} s, processor {plan.processor:.1f} s, {plan.peak:.0f} MB")
    size = Size(options.models, options.tasks, options.rows)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        write(folder, size)
        found: dict[str, Stage] = {}
        for stage, jobs in stages(folder).items():
            found[stage] = measured(folder, jobs)
            print(f"{stage}: {found[stage]}", file=sys.stderr, flush=True)
        again = snakemake(folder)
    print(f"a grid of {size.models} simulated models × {size.tasks} tasks × {size.rows:,} rows, load {os.getloadavg()[0]:.1f}\n")
    show_stages(found)
    print(f"\na run of it that has nothing to do: processor {again.processor:.1f} s, {again.peak:.0f} MB")
    show_grid(found, size, options.jobs)


class StageUsage(NamedTuple):
    """Attributes: processor seconds of a stage on a whole grid, and the peak memory of its process in megabytes."""

    seconds: float
    peak: float


def measure_grid(folder: Path, size: Size) -> dict[str, StageUsage]:
    """Run every stage on a grid, and its planning. The folder is emptied first: task files of one path may be loaded again."""
    shutil.rmtree(folder, ignore_errors=True)
    write(folder, size)
    plan = snakemake(folder, "--dry-run", "--quiet")
    usage = {}
    for stage, jobs in stages(folder).items():
        used = run_in_one_process(folder, jobs, warm=True)
        usage[stage] = StageUsage(used["seconds"], used["peak"])
        print(f"{size}: {stage}: {usage[stage]}", file=sys.stderr, flush=True)
    return {**usage, "planning": StageUsage(plan.processor, plan.peak)}


def enlarged(base: Size, side: str, factor: int) -> Size:
    return base._replace(**{side: getattr(base, side) * factor})


def show_growth(base: Size, grids: Mapping[Size, Mapping[str, StageUsage]], factor: int) -> None:
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
    seconds = ", ".join(f"{grids[size]['planning'].seconds:.1f}" for size in sizes)
    print(f"\nplanning, processor seconds: {seconds} for {', '.join(str(jobs_of(size)) for size in sizes)} jobs")


def jobs_of(size: Size) -> int:
    return 5 * size.models * size.tasks + size.tasks + 2


def draw(base: Size, grids: Mapping[Size, Mapping[str, StageUsage]], factors: Sequence[int], target: Path) -> None:
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


def measure_growth(options: argparse.Namespace) -> None:
    base = Size(options.models, options.tasks, options.rows)
    sizes = [base, *(enlarged(base, side, factor) for side in SIDES for factor in options.factors)]
    with tempfile.TemporaryDirectory() as name:
        grids = {size: measure_grid(Path(name).resolve() / "grid", size) for size in sizes}
    show_growth(base, grids, max(options.factors))
    if options.plot:
        draw(base, grids, sorted(options.factors), options.plot)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for name, measure, (models, tasks, rows) in (("jobs", measure_jobs, (3, 4, 1000)), ("growth", measure_growth, (2, 1, 500))):
        command = commands.add_parser(name)
        command.set_defaults(measure=measure)
        command.add_argument("--models", type=int, default=models)
        command.add_argument("--tasks", type=int, default=tasks)
        command.add_argument("--rows", type=int, default=rows)
    jobs, growth = commands.choices.values()
    jobs.add_argument("--jobs", type=int, default=500, help="jobs of the grid whose overhead is put together")
    jobs.add_argument("--configfile", type=Path, default=PROJECT / "configs" / "paper.yaml")
    growth.add_argument("--factors", type=int, nargs="+", default=[3, 10])
    growth.add_argument("--plot", type=Path, help="where the drawing goes, as SVG")
    options = parser.parse_args()
    options.measure(options)


if __name__ == "__main__":
    main()
