"""What a configuration asks for: the models, the tables, and for each table the spec that fully describes it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bert_judge.config import files as config_files
from bert_judge.config import parse
from bert_judge.plan import checks as plan_faults
from bert_judge.plan import launches, model_keys, pair_checks, student_checks
from bert_judge.plan.probes import ProbeSpecs
from bert_judge.plan.ranks import RankSpecs
from bert_judge.plan.resolved_config import ATTACKS
from bert_judge.plan.specs import Spec
from bert_judge.plan.students import StudentSpecs
from bert_judge.runtime.errors import ConfigError

__all__ = ["ATTACKS", "STAGE_VERSIONS", "Plan", "Spec", "make"]

# Raised when the meaning of a stage's output changes, so that old outputs are made anew.
STAGE_VERSIONS = {
    "prepared": 1,
    "task": 1,
    "candidates": 2,
    "labels": 2,
    "dataset": 3,
    "overlap": 1,
    "judge": 3,
    "features": 1,
    "probe": 4,
    "baseline": 1,
    "probe_measures": 1,
    "filtered": 1,
    "student": 1,
    "cascade": 1,
    "scores": 1,
    "standings": 2,
    "audit": 1,
    "attacks": 1,
    "pairs": 1,
    "pair_judge": 1,
    "tuned_judge": 1,
    "preferences": 1,
    "ranks": 1,
    "report": 1,
}


class Plan(RankSpecs, ProbeSpecs, StudentSpecs):
    """A checked configuration: its names resolved, and a spec for each of its tables."""


def make(raw: Mapping[str, Any], written: Iterable[str | Path] = ()) -> Plan:
    """Check a configuration completely and resolve it.

    Args:
        raw: what the configuration says.
        written: the files that it comes from; they are checked for what `raw` does not show, such as a key that is there twice.

    Raises:
        ConfigError: with one line per fault, all of them at once.
    """
    config, faults = None, config_files.faults(written)
    try:
        config = parse(raw)
    except ConfigError as error:
        faults += error.errors
    data = _data_folder(raw)
    path_faults = plan_faults.of_paths(raw, data)
    faults += [*plan_faults.of_tasks(raw), *path_faults, *plan_faults.of_folders(raw)]
    parts = (plan_faults, pair_checks, student_checks, launches)
    faults += [fault for part in parts for fault in part.of_fit(config)] if config else []
    if config is None or path_faults:
        # The rest of the checks reads the files of a sound configuration.
        raise ConfigError(faults)
    in_files, file_faults = plan_faults.models_in_files(config, data)
    models, name_faults = model_keys.expand(config, in_files)
    plan = Plan(config, data, models)
    # Without the models of a file that cannot be read, how the rest fits together is anybody's guess.
    faults += [*file_faults, *name_faults, *([] if file_faults else _use_faults(plan, in_files))]
    if faults:
        raise ConfigError(faults)
    return plan


def _use_faults(plan: Plan, in_files: Mapping[str, Sequence[str]]) -> list[str]:
    return [*plan_faults.of_use(plan, in_files), *pair_checks.of_use(plan), *student_checks.of_use(plan)]


def _data_folder(raw: Mapping[str, Any]) -> Path | None:
    folder = raw.get("data") or os.environ.get("BERT_JUDGE_DATA")
    return Path(folder).expanduser() if isinstance(folder, str) else None
