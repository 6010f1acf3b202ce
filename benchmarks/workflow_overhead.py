"""Overhead of the workflow: planning the paper's grid, and starting every job, stage by stage.

    python benchmarks/workflow_overhead.py [--models 3] [--tasks 4] [--rows 1000] [--jobs 500] [--configfile configs/paper.yaml]

The same work of a synthetic grid is done in three ways, each with the workflow's own scripts:

* one process that runs all jobs of a stage, after a warm-up job: the work itself;
* a plain shell loop with one `python` process per job: adds the interpreter and the imports;
* Snakemake, run for the stage's tables: adds planning, starting and recording the jobs.

Times are processor seconds of all processes, because other work on the machine stretches wall-clock time. The cost of a grid of
`--jobs` jobs is extrapolated from that of its stages for tables of `--rows` rows; the last line is the number of rows per table
at which the overhead is 15% of the work.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from grids import PROJECT, RUNNER, Job, Size, run_in_one_process, stages, write

SHARE = 0.15


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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=3)
    parser.add_argument("--tasks", type=int, default=4)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=500, help="jobs of the grid whose overhead is put together")
    parser.add_argument("--configfile", type=Path, default=PROJECT / "configs" / "paper.yaml")
    chosen = parser.parse_args()
    plan = planning(chosen.configfile)
    print(f"planning {chosen.configfile.name}: {plan.wall:.1f} s, processor {plan.processor:.1f} s, {plan.peak:.0f} MB")
    size = Size(chosen.models, chosen.tasks, chosen.rows)
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
    show_grid(found, size, chosen.jobs)


if __name__ == "__main__":
    main()
