"""`bert-judge label`: a teacher's verdicts on a file of answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bert_judge.cli.score import Request, score
from bert_judge.labels import judge_loading
from bert_judge.labels.judge_loading import NamedJudge
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import disable_progress_bars

# Before the names of the new columns: `train` knows its labels by it.
PREFIX = "label_"
NAME = "teacher"


@dataclass(frozen=True)
class Teacher:
    """Who labels.

    Attributes:
        judge: a judge of a configuration; or
        model: a language model, on this machine or, with a
        server: behind an address.
        reasoning: as of a judge of kind llm.
    """

    judge: str | None
    model: str | None
    server: str | None
    reasoning: bool


def label(file: Path, output: Path | None, teacher: Teacher, columns: Mapping[str, str], force: bool) -> None:
    """Label a file: like `score`, with the column prefix `label_`.

    Raises:
        InputError: as `score`; or no teacher, or two.
    """
    if (teacher.judge is None) == (teacher.model is None):
        raise InputError("who labels? Give --teacher MODEL, with --server or without, or --judge FILE.yaml:NAME")
    if teacher.judge is not None and teacher.server is not None:
        raise InputError("--server belongs to --teacher; a judge of a configuration has its server there")
    score(Request(file, output, columns=columns, prefix=PREFIX, force=force, suffix=".labelled"), lambda: [_chosen(teacher)])


def _chosen(teacher: Teacher) -> NamedJudge:
    disable_progress_bars()
    if teacher.judge is not None:
        [chosen] = judge_loading.load_judges([teacher.judge])
        return chosen
    block = {"kind": "llm", "model": model_block(teacher.model or "", teacher.server, "hf"), "reasoning": teacher.reasoning}
    return judge_loading.from_config({"judges": {NAME: block}}, NAME).load()


def model_block(model: str, server: str | None, backend: str) -> dict[str, Any]:
    """A language model's block of a configuration."""
    return {"generator": backend, "model": model} if server is None else {"generator": "openai", "model": model, "base_url": server}
