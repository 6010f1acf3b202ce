"""`bert-judge label`: label a file of answers with a teacher."""

from pathlib import Path
from typing import Annotated, Any

import typer

from bert_judge.cli.options import Answers, Candidate, Force, Model, Question, References, Server, without_none
from bert_judge.cli.score import judge_file
from bert_judge.labels import judge_loading
from bert_judge.labels.judge_loading import NamedJudge
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import disable_progress_bars

# Prefix of the new columns; `train` finds its labels by it.
PREFIX = "label_"
NAME = "teacher"


def label(
    file: Answers,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Output file. Default: FILE.labelled.SUFFIX.")] = None,
    judge: Annotated[str | None, typer.Option("--judge", "-j", help="Teacher: a judge of a configuration, FILE.yaml:NAME.")] = None,
    teacher: Annotated[str | None, typer.Option(help="Or a language model: hub id, folder, or name on the server.")] = None,
    server: Server = None,
    reasoning: Annotated[bool, typer.Option(help="Let the model reason before its verdict.")] = True,
    question: Question = None,
    references: References = None,
    candidate: Candidate = None,
    model: Model = None,
    force: Force = False,
) -> None:
    """Label a file of answers with a teacher: append label_verdict, label_score and label_reason, for use by `train`."""
    if (judge is None) == (teacher is None):
        raise InputError("set either --teacher MODEL, with or without --server, or --judge FILE.yaml:NAME")
    if judge is not None and server is not None:
        raise InputError("--server belongs to --teacher; a judge of a configuration has its server there")

    def load() -> list[NamedJudge]:
        disable_progress_bars()
        if judge is not None:
            return judge_loading.load_judges([judge])
        block = {"kind": "llm", "model": model_block(teacher or "", server, "hf"), "reasoning": reasoning}
        return [judge_loading.from_config({"judges": {NAME: block}}, NAME).load()]

    columns = without_none(question=question, references=references, candidate=candidate, model=model)
    tally = judge_file(file, output, load, columns=columns, prefix=PREFIX, force=force, suffix=".labelled")
    if tally.reasons and not tally.decided:
        raise InputError(f"{file}: the teacher labelled no answer; fix what the reasons above name, and repeat with --force")


def model_block(model: str, server: str | None, backend: str) -> dict[str, Any]:
    """Return the configuration section of a language model."""
    return {"generator": backend, "model": model} if server is None else {"generator": "openai", "model": model, "base_url": server}
