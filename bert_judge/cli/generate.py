"""`bert-judge generate`: generate a language model's answers to a file of questions."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.parquet as pq
import typer
import yaml

from bert_judge import tables
from bert_judge.cli.options import Force, Question, References, Server, ShowConfig, find_columns, model_block, without_none
from bert_judge.cli.terminal import echo, log, refuse_module
from bert_judge.importers import frameworks
from bert_judge.labels.score_file import work_folder
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import job_log

REQUIRED = ("question", "references")
BACKENDS = ("hf", "vllm")
# Columns of `tables.CANDIDATES`; its `reason` is called `failure`, because `score` adds a reason of its own.
SCHEMA = pa.schema(
    [
        *(frameworks.SCHEMA.field(name) for name in ("question", "references", "candidate", "model", "attempt")),
        *(pa.field(name, pa.string()) for name in ("status", "failure", "reasoning")),
        *(pa.field(name, pa.int32()) for name in ("prompt_tokens", "completion_tokens")),
    ]
)


def generate(
    file: Annotated[Path, typer.Argument(help="Questions and references: CSV, JSONL or parquet.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Output file: .csv, .jsonl or .parquet.")],
    model: Annotated[str, typer.Option("--model", "-m", help="Hub id, folder, GGUF file, or name on the server.")],
    server: Server = None,
    backend: Annotated[str, typer.Option(help="Backend of a local model: hf or vllm.")] = "hf",
    style: Annotated[
        str, typer.Option(help="Prompt style. free: question only; soft: conclude with Final answer; strict: nothing else.")
    ] = "free",
    family: Annotated[
        str, typer.Option(help="Family of the questions: short_answer, math, multiple_choice or reading.")
    ] = "short_answer",
    max_new_tokens: Annotated[int, typer.Option(min=1, help="Maximum number of generated tokens.")] = 2048,
    temperature: Annotated[float, typer.Option(min=0, help="Sampling temperature; 0 is greedy.")] = 0.0,
    attempts: Annotated[int, typer.Option(min=1, help="Answers per question.")] = 1,
    question: Question = None,
    references: References = None,
    show_config: ShowConfig = False,
    force: Force = False,
) -> None:
    """Generate a language model's answers to a file of questions. An interrupted call resumes when repeated."""
    if backend not in BACKENDS:
        raise InputError(f"--backend {backend}: unknown backend; available: {', '.join(BACKENDS)}; or set --server")
    columns = find_columns(
        frameworks.open_answers(file, is_plain=True), without_none(question=question, references=references), REQUIRED
    )
    from bert_judge.cli import configurations
    from bert_judge.judges.probe import short_name

    name = short_name(model)
    if name != model.rstrip("/").rpartition("/")[2]:
        log(f"the answers of {model!r} are those of {name!r} in the file, since this name is part of a path")
    sampling = {"max_new_tokens": max_new_tokens, "temperature": temperature, "attempts": attempts}
    raw = configurations.generation(file, columns, family, name, model_block(model, server, backend) | sampling, style)
    if show_config:
        echo(yaml.safe_dump(raw, sort_keys=False, allow_unicode=True), nl=False)
        return
    frameworks.open_row_writer(output, output)
    with tables.claim_output(output, file, force=force), job_log(None, offline=False):
        log("; ".join(f"{role}: {column!r}" for role, column in columns.items()))
        work = work_folder(output)
        answers = pq.read_table(_generate(raw, name, work)).to_pylist()
        rows = [{**row, "failure": row["reason"]} for row in answers]
        with tables.atomic(output) as temporary, frameworks.open_row_writer(output, temporary, SCHEMA) as write:
            write([{column: row[column] for column in SCHEMA.names} for row in rows])
        failed = sum(row["status"] == "error" for row in rows)
        if not failed:
            # After failures, the next call reuses the finished answers.
            resume.clear(work)
    failure_note = f"; {failed:,} failed, see the column failure; repeat with --force to retry them" if failed else ""
    echo(f"{output}: {len(rows):,} answers of {name}{failure_note}")
    if failed == len(rows):
        raise InputError(f"{name}: all requests failed; the first: {rows[0]['reason']}")


def _generate(raw: Mapping[str, Any], name: str, work: Path) -> Path:
    """Run the stages of a configuration from `configurations.generation`, and return the path of the table of answers.

    Args:
        work: folder that keeps every answer, so that an interrupted call resumes. Cleared by the caller.
    """
    # Lazy import: `--help` does not need the stages.
    from bert_judge import plan
    from bert_judge.assets.prepare import prepare
    from bert_judge.candidates.stage import generate_candidates, load_model
    from bert_judge.cli.configurations import FILE
    from bert_judge.tasks.build import build_task

    planned = plan.build_plan(raw)
    spec, questions, answers = planned.candidates_spec(name, FILE), work / "questions.parquet", work / "answers.parquet"
    build_task(planned.task_spec(FILE), questions, planned.import_path(FILE))
    manifest = None
    if asset := planned.assets.get(f"model-{name}"):
        manifest = work / "model.json"
        prepare(asset, manifest)
    generate_candidates(spec, questions, answers, load_model(spec, work / "store", raw["models"][name], manifest))
    return answers


if __name__ == "__main__":
    # The published program of this name.
    sys.exit(refuse_module("bert-judge generate QUESTIONS -m MODEL -o ANSWERS, or bert-judge run CONFIG"))
