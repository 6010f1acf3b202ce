"""The attack suite for a single judge, without a workflow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bert_judge.evaluation.attacks.rates import build_rates
from bert_judge.evaluation.attacks.suite import write_attacks
from bert_judge.judges.protocol import Judge
from bert_judge.labels.stage import label_table
from bert_judge.plan import ATTACKS


class AttackTables(NamedTuple):
    """The tables that `attack_judge` writes."""

    candidates: Path
    families: Path
    labels: Path
    rates: Path
    examples: Path


def attack_judge(
    judge: Judge, labels_spec: Mapping[str, Any], task_table: Path, rows: int, seed: int, folder: Path
) -> AttackTables:
    """Generate the suite's answers, label them and compute the error rates; an interrupted run resumes.

    Args:
        labels_spec: `Plan.labels_spec` of the judge: its name, `task` and settings.
        task_table: table of the questions.
        rows, seed: see `suite.generate_attacks`.
        folder: output folder.

    Raises:
        InputError: the task's table cannot be read, or the judge refuses its input.
    """
    outputs = AttackTables(*(folder / f"{name}.parquet" for name in AttackTables._fields))
    name, task = labels_spec["judge"], labels_spec["task"]
    write_attacks({"task": task, "rows": rows, "seed": seed}, task_table, outputs.candidates, outputs.families)
    label_table({**labels_spec, "model": ATTACKS}, outputs.candidates, outputs.labels, judge, folder / ".work")
    build_rates(
        {"judges": [name], "tasks": [task]},
        {task: outputs.candidates},
        {task: outputs.families},
        {(name, task): outputs.labels},
        outputs.rates,
        outputs.examples,
    )
    return outputs
