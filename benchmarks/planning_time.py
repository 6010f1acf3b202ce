"""Time that Snakemake takes to plan the paper's grid, its number of jobs, here and on SLURM, and the jobs that a 37th model adds.

    python benchmarks/planning_time.py [--configfile configs/paper.yaml] [--runs 3] [--limit 20]

Works on a copy of the workflow in an empty folder, without a network. It plans the whole grid `--runs` times and prints the jobs
and the wall-clock and processor seconds of the fastest run. Then it creates empty files in place of all results, marks them as
finished (`--touch`), and plans twice more: the same configuration, which must have nothing to do, and one with a 37th model,
which must plan only that model's jobs and the summaries. Exits with status 1 if the fastest run took longer than `--limit`, or if
a job of another model is planned.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

PROJECT = Path(__file__).parents[1]
WORKFLOW = ("Snakefile", "rules", "workflow_scripts", "profiles", "envs", "report")
STATS = re.compile(r"^([a-z_0-9]+) +(\d+)$", re.MULTILINE)
OUTPUTS = re.compile(r"^results/\S+", re.MULTILINE)
NEW = "a-37th-model"
# Jobs that are about all models.
# They run on the login node, or are no jobs.
NOT_SUBMITTED = ("prepare_asset", "all", "total")
SUMMARIES = ("Standings", "Standings as CSV, Markdown, LaTeX and SVG", "Report")


@dataclass(frozen=True)
class Planned:
    """A dry run: seconds of wall clock and of the processor, and jobs per rule."""

    wall: float
    processor: float
    jobs: Mapping[str, int]
    text: str


def snakemake(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "snakemake", "--cores", "2", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ | {"HF_HUB_OFFLINE": "1"})
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{(done.stdout + done.stderr)[-3000:]}")
    return done.stdout + done.stderr


def planned(folder: Path, config: str) -> Planned:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    started, before = time.monotonic(), used.ru_utime + used.ru_stime
    text = snakemake(folder, "--dry-run", "--configfile", config)
    wall = time.monotonic() - started
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    jobs = {rule: int(count) for rule, count in STATS.findall(text.partition("Job stats:")[2])}
    return Planned(wall, used.ru_utime + used.ru_stime - before, jobs, text)


def submissions(jobs: Mapping[str, int], summary: str, profile: Mapping[str, Any]) -> Counter[str]:
    """Return the SLURM jobs of a grid by the name of their group or rule.

    Jobs of a group share as many submissions as `group-components` allows; its name may have that of the model, which is the folder
    of a job's only output.

    Args:
        jobs: planned jobs per rule.
        summary: Snakemake's table of all outputs.
    """
    groups, components = profile["groups"], profile["group-components"]
    counts = Counter({rule: count for rule, count in jobs.items() if rule not in {*groups, *NOT_SUBMITTED}})
    outputs = [line.split("\t")[:3] for line in summary.splitlines() if line.startswith("results/")]
    members = Counter((groups[rule], Path(path).parent.name) for path, _, rule in outputs if rule in groups)
    for (group, _), count in members.items():
        counts[group] += math.ceil(count / components[group])
    return counts


def with_another_model(config: Path, target: Path) -> None:
    """The configuration with a 37th model: the first one's settings under another name."""
    raw = yaml.safe_load(config.read_text("utf-8"))
    raw["models"][NEW] = dict(next(iter(raw["models"].values())))
    target.write_text(yaml.safe_dump(raw, sort_keys=False, allow_unicode=True), "utf-8")


def pretend_all_is_made(folder: Path, config: str) -> int:
    """Put an empty file in place of every result, and have Snakemake take them for made."""
    outputs = sorted(set(OUTPUTS.findall(snakemake(folder, "--summary", "--configfile", config))))
    for name in outputs:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        os.utime(path, (1_700_000_000, 1_700_000_000))
    snakemake(folder, "--touch", "--configfile", config)
    return len(outputs)


def show(jobs: Mapping[str, int]) -> None:
    for rule, count in jobs.items():
        print(f"  {rule:<26} {count:>6,}")


def foreign(text: str) -> list[str]:
    """Messages of planned jobs that are neither the new model's nor summaries."""
    messages = re.findall(r"^(?:Job \d+|localrule \S+|rule \S+): (.+)$", text, re.MULTILINE)
    return [message for message in messages if NEW not in message and message not in SUMMARIES]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--configfile", type=Path, default=PROJECT / "configs" / "paper.yaml")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--limit", type=float, default=20.0, help="most seconds that planning may take")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in WORKFLOW:
            source = PROJECT / part
            shutil.copytree(source, folder / part) if source.is_dir() else shutil.copy2(source, folder / part)
        shutil.copy2(chosen.configfile, folder / "grid.yaml")
        with_another_model(chosen.configfile, folder / "more.yaml")
        runs = [planned(folder, "grid.yaml") for _ in range(chosen.runs)]
        best = min(runs, key=lambda run: run.wall)
        print(f"{chosen.configfile.name}: jobs of the whole grid")
        show(best.jobs)
        profile = yaml.safe_load((folder / "profiles" / "slurm" / "config.yaml").read_text("utf-8"))
        jobs = submissions(best.jobs, snakemake(folder, "--summary", "--configfile", "grid.yaml"), profile)
        print(f"SLURM jobs with the profile `slurm`: {jobs.total():,}")
        show(jobs)
        load = os.getloadavg()[0]
        print(f"planned in {best.wall:.1f} s (processor {best.processor:.1f} s), the fastest of {len(runs)}; load {load:.1f}")
        print(f"{pretend_all_is_made(folder, 'grid.yaml'):,} results taken for made")
        again = planned(folder, "grid.yaml")
        print(f"planned again: {'nothing to be done' if 'Nothing to be done' in again.text else again.jobs}")
        more = planned(folder, "more.yaml")
        print("with a 37th model")
        show(more.jobs)
        others = foreign(more.text)
        print(f"jobs of other models: {len(others)}", *others[:5], sep="\n  ")
    sys.exit(int(best.wall > chosen.limit or bool(others) or "Nothing to be done" not in again.text))


if __name__ == "__main__":
    main()
