"""One judge through the whole suite, without a workflow."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bert_judge.evaluation.attacks.rates import build_rates
from bert_judge.evaluation.attacks.suite import write_attacks
from bert_judge.judges.protocol import Judge
from bert_judge.labels.stage import label_table
from bert_judge.plan import ATTACKS


class Tables(NamedTuple):
    """What a trial leaves in its folder."""

    candidates: Path
    families: Path
    labels: Path
    rates: Path
    examples: Path


def try_judge(judge: Judge, labels_spec: Mapping[str, Any], task: Path, rows: int, seed: int, folder: Path) -> Tables:
    """Make the suite's answers, have them judged, count how often the judge was fooled; what was killed goes on where it was.

    Args:
        labels_spec: what `Plan.labels_spec` says of the judge: its name, `task` and settings.
        task: the task's table, whose questions are used.
        rows, seed: see `suite.attacked`.
        folder: where the tables go.

    Raises:
        InputError: the task's table cannot be read, or the judge refuses its input.
    """
    made = Tables(*(folder / f"{name}.parquet" for name in Tables._fields))
    name, asked = labels_spec["judge"], labels_spec["task"]
    write_attacks({"task": asked, "rows": rows, "seed": seed}, task, made.candidates, made.families)
    label_table({**labels_spec, "model": ATTACKS}, made.candidates, made.labels, judge, folder / ".work")
    build_rates(
        {"judges": [name], "tasks": [asked]},
        {asked: made.candidates},
        {asked: made.families},
        {(name, asked): made.labels},
        made.rates,
        made.examples,
    )
    return made
