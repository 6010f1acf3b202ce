"""The judges of a configuration that has none: those that suit its tasks."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bert_judge import tasks
from bert_judge.assets.prepare import GENERAL
from bert_judge.config.validation import entries, listed_tasks, strings
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.package_data import read_yaml
from bert_judge.tasks.registry import published_sources

# Name of the judge that chooses another for each task.
SUITED = "suited"


def add_suited_judges(raw: dict[str, Any]) -> None:
    """Add judges and scorers to a configuration that has neither: the judges that suit each test task, and `general` beside them.

    Tasks of one kind are scored by the judges themselves, tasks of several kinds by a judge of kind `per_task`.
    """
    if "judges" in raw or "scorers" in raw:
        return
    known = read_yaml(Path(__file__).with_name("suited_judges.yaml"))
    names = listed_tasks(raw, "test")
    by_task = {task: known["suited"].get(_hint(raw, task), [GENERAL]) for task in names}
    used = dict.fromkeys([GENERAL, *(name for judges in by_task.values() for name in judges)])
    raw["judges"] = {name: known["judges"][name] for name in used}
    special = {task: judges for task, judges in by_task.items() if judges != [GENERAL]}
    if special:
        raw["judges"][SUITED] = {"kind": "per_task", "judges": [GENERAL], "tasks": special}
    raw["scorers"] = [*([SUITED] if special else []), GENERAL]


def _hint(raw: Mapping[str, Any], task: str) -> str:
    """Return the judge that a task names, or else its family; empty for an unknown task, which another check reports."""
    own = entries(raw, "tasks", "imported") | entries(raw, "tasks", "sources")
    if task in own:
        return str(own[task].get("judge") or own[task].get("family"))
    if source := published_sources().get(task):
        return source.judge or source.family
    try:
        tasks.load_files(strings(raw.get("task_files")))
        return tasks.find(task).judge or tasks.find(task).family
    except InputError:
        return ""
