"""Synthetic grids: simulated models × tasks of sums with three cheap judges, in a temporary folder. Lists every job of the
workflow's CPU stages with what Snakemake would pass to its script, so that `run_scripts.py` can run the same scripts without
Snakemake."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from bert_judge import plan, tables
from bert_judge.evaluation.standings import SCHEMAS

PROJECT = Path(__file__).parents[1]
WORKFLOW = ("Snakefile", "rules", "workflow_scripts", "profiles", "envs", "report")
RUNNER = Path(__file__).with_name("run_scripts.py")
JUDGES = {
    "truth": {"kind": "imported"},
    "strict": {"kind": "lexical", "metric": "exact_match", "extract": "final_answer"},
    "overlap": {"kind": "lexical", "metric": "rouge_l_recall", "threshold": 0.5},
}
TASKS = """
from bert_judge.tasks import Sample, task

def sums(first):
    for number in range(first, first + {rows}):
        other = number % 7 + 2
        yield Sample(f"A shop has {{number}} lamps and gets {{other}} more. How many are there?", (str(number + other),), "number")

for index in range({tasks}):
    task(f"sums-{{index:03d}}", family="math")(lambda index=index: sums(index * {rows}))
"""


class Size(NamedTuple):
    """Attributes: models, tasks, and rows of each task."""

    models: int
    tasks: int
    rows: int

    @property
    def answers(self) -> int:
        return self.models * self.tasks * self.rows


class Job(NamedTuple):
    """A job of the workflow: its script, and the attributes of the `snakemake` that the script sees."""

    script: str
    input: Mapping[str, Any]
    output: Mapping[str, str]
    spec: str
    log: str
    config: Mapping[str, Any]

    @property
    def targets(self) -> list[str]:
        return list(self.output.values())

    def line(self) -> str:
        """It as a line of JSON for `run_scripts.py`."""
        script = str(PROJECT / "workflow_scripts" / f"{self.script}.py")
        return json.dumps({**self._asdict(), "script": script})


def write(folder: Path, size: Size) -> None:
    """A copy of the workflow, its configuration and its task file."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in WORKFLOW:
        source = PROJECT / name
        shutil.copytree(source, folder / name) if source.is_dir() else shutil.copy2(source, folder / name)
    (folder / "grid_tasks.py").write_text(TASKS.format(rows=size.rows, tasks=size.tasks))
    known = {f"simulated-{number:03d}": 0.3 + 0.6 * number / size.models for number in range(size.models)}
    config = {
        "models": {name: {"generator": "simulated", "p_correct": share} for name, share in known.items()},
        "tasks": {"test": [f"sums-{n:03d}" for n in range(size.tasks)]},
        "task_files": ["grid_tasks.py"],
        "prompt_style": "soft",
        "judges": JUDGES,
        "scorers": list(JUDGES),
        "gold": "truth",
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))


def stages(folder: Path) -> dict[str, list[Job]]:
    """The jobs of a grid by their rule, in the order in which they can run."""
    # Specs hash the task file, which the configuration names relative to its folder.
    with contextlib.chdir(folder):
        return _plan_stages(plan.build_plan(yaml.safe_load(Path("config.yaml").read_text())))


def _plan_stages(made: plan.Plan) -> dict[str, list[Job]]:
    answers, scores = "results/candidates/{}/{}.parquet", "results/scores/{}/{}.parquet"
    verdicts = "results/labels/{}/{}/{}.parquet"
    questions = "results/tasks/{}.parquet"

    def job(script: str, made_of: Mapping[str, Any], output: str | Mapping[str, str], spec: plan.Spec) -> Job:
        named = {"table": output} if isinstance(output, str) else output
        return Job(script, made_of, named, tables.canonical(spec), f"{next(iter(named.values()))}.log", {"judges": JUDGES})

    def label_jobs() -> list[Job]:
        return [
            job("label", made.label_inputs(judge, m, t), verdicts.format(judge, m, t), made.labels_spec(judge, m, t))
            for judge in JUDGES
            for m, t in made.score_tables
        ]

    score_tables = [scores.format(m, t) for m, t in made.score_tables]
    standings = {name: f"results/{name}.parquet" for name in SCHEMAS}
    exports = {"csv": "csv", "markdown": "md", "latex": "tex", "plot": "svg"}
    files = standings | {name: f"results/standings.{suffix}" for name, suffix in exports.items()}
    return {
        "build_task": [
            job("build_task", {"source": str(made.source_file(t))}, questions.format(t), made.task_spec(t)) for t in made.tasks
        ],
        "simulate_candidates": [
            job("simulate_candidates", {"table": questions.format(t)}, answers.format(m, t), made.candidates_spec(m, t))
            for m, t in made.score_tables
        ],
        "label": label_jobs(),
        "build_scores": [
            job(
                "build_scores",
                {"candidates": answers.format(m, t), "labels": [verdicts.format(judge, m, t) for judge in made.config.scorers]},
                scores.format(m, t),
                made.scores_spec(m, t),
            )
            for m, t in made.score_tables
        ],
        "build_standings": [job("build_standings", {"scores": score_tables}, files, made.standings_spec())],
        "build_report": [
            job(
                "build_report",
                {"standings": list(standings.values()), "scores": score_tables}
                | {key: [] for key in ("audit", "attacks", "cascades", "ranks", "students", "judges")},
                "results/report.html",
                made.report_spec(),
            )
        ],
    }


def run_in_one_process(folder: Path, jobs: Sequence[Job], warm: bool = False) -> Mapping[str, float]:
    """Run the scripts of some jobs, one after the other, in a process of their own.

    Args:
        warm: run the first and the last job once more before, so that imports and first calls are not in the figures.

    Returns:
        `seconds` of the processor that the jobs took; `before` and `peak`: megabytes of the process before the jobs, and at most.
    """
    listed = folder / "jobs.jsonl"
    before = [*jobs[:1], *jobs[1:][-1:]] if warm else []
    listed.write_text("".join(f"{job.line()}\n" for job in [*before, *jobs]))
    command = [sys.executable, str(RUNNER), str(listed), str(len(before))]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr[-3000:]}")
    return json.loads(done.stdout)
