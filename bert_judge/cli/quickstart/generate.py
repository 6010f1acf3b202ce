"""Generate a model's answers to the questions of one file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bert_judge import plan
from bert_judge.assets.prepare import prepare
from bert_judge.candidates.stage import generate_candidates, load_model
from bert_judge.cli.quickstart.configurations import FILE
from bert_judge.tasks.build import build_task


def generate(raw: Mapping[str, Any], name: str, work: Path) -> Path:
    """Run the stages of a configuration from `configurations.generation`.

    Args:
        raw: the configuration.
        name: name of its model.
        work: folder that keeps every answer, so that an interrupted call resumes. Cleared by the caller.

    Returns:
        Path of the table of answers (`tables.CANDIDATES`).

    Raises:
        InputError: the file or the settings are invalid, or the model cannot be loaded.
    """
    planned = plan.build_plan(raw)
    spec, questions, answers = planned.candidates_spec(name, FILE), work / "questions.parquet", work / "answers.parquet"
    build_task(planned.task_spec(FILE), questions, planned.import_path(FILE))
    manifest = None
    if asset := planned.assets.get(f"model-{name}"):
        manifest = work / "model.json"
        prepare(asset, manifest)
    generate_candidates(spec, questions, answers, load_model(spec, work / "store", raw["models"][name], manifest))
    return answers
