"""`bert-judge label`: label a file of answers with a teacher."""

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

# Prefix of the new columns; `train` finds its labels by it.
PREFIX = "label_"
NAME = "teacher"


@dataclass(frozen=True)
class Teacher:
    """The labelling judge or language model.

    Attributes:
        judge: judge of a configuration, or None.
        model: language model, or None.
        server: URL of the server of `model`; None to run it locally.
        reasoning: whether the model reasons before its verdict, as in a judge of kind llm.
    """

    judge: str | None
    model: str | None
    server: str | None
    reasoning: bool


def label(file: Path, output: Path | None, teacher: Teacher, columns: Mapping[str, str], force: bool) -> None:
    """Label a file: like `score`, with the column prefix `label_`.

    Raises:
        InputError: as in `score`, or not exactly one teacher is given.
    """
    if (teacher.judge is None) == (teacher.model is None):
        raise InputError("set either --teacher MODEL, with or without --server, or --judge FILE.yaml:NAME")
    if teacher.judge is not None and teacher.server is not None:
        raise InputError("--server belongs to --teacher; a judge of a configuration has its server there")
    score(Request(file, output, columns=columns, prefix=PREFIX, force=force, suffix=".labelled"), lambda: [_load_teacher(teacher)])


def _load_teacher(teacher: Teacher) -> NamedJudge:
    disable_progress_bars()
    if teacher.judge is not None:
        [judge] = judge_loading.load_judges([teacher.judge])
        return judge
    block = {"kind": "llm", "model": model_block(teacher.model or "", teacher.server, "hf"), "reasoning": teacher.reasoning}
    return judge_loading.from_config({"judges": {NAME: block}}, NAME).load()


def model_block(model: str, server: str | None, backend: str) -> dict[str, Any]:
    """Return the configuration section of a language model."""
    return {"generator": backend, "model": model} if server is None else {"generator": "openai", "model": model, "base_url": server}
