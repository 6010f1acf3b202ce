"""Commands that work without a workflow run: score, predict, import, export, push, generate, label, train, serve."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from bert_judge.runtime.errors import InputError

Judges = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        "-j",
        help="Folder of a judge, name of a trained judge in results/judges, judge of a configuration (FILE.yaml:NAME), checkpoint "
        "on the hub (owner/name), or rule: exact_match, contains, token_f1, rouge_l_recall, rouge_l_f, math_verify. "
        "Repeatable. Default: the only trained judge, or a rule.",
    ),
]
Threshold = Annotated[
    float | None, typer.Option(min=0, max=1, help="Lowest score that counts as correct. Default: the judge's own.")
]
Question = Annotated[str | None, typer.Option("--question", help="Name of the question column, if it is not auto-detected.")]
References = Annotated[str | None, typer.Option("--references", help="Name of the column with the reference or references.")]
Candidate = Annotated[str | None, typer.Option("--candidate", help="Name of the column with the model's answer.")]
Model = Annotated[str | None, typer.Option("--model", help="Name of the column with the model's name.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite an existing output file.")]


def score(
    file: Annotated[Path, typer.Argument(help="Answers and references: CSV, JSON or parquet, or the output of a framework.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Output file. Default: FILE.scored.SUFFIX.")] = None,
    judge: Judges = None,
    threshold: Threshold = None,
    question: Question = None,
    references: References = None,
    candidate: Candidate = None,
    model: Model = None,
    prior_shift: Annotated[
        bool,
        typer.Option(
            "--prior-shift",
            help="Adapt the scores to the estimated base rate of the file, which may differ from that of training.",
        ),
    ] = False,
    prefix: Annotated[str, typer.Option(help="Prefix of the new columns.")] = "",
    force: Force = False,
) -> None:
    """Score a file of answers: write the same file with verdict, score and reason columns appended.

    Files may be of any size; an interrupted call resumes when repeated.
    """
    from bert_judge.cli.score import Request
    from bert_judge.cli.score import score as score_it

    roles = {"question": question, "references": references, "candidate": candidate, "model": model}
    columns = {role: column for role, column in roles.items() if column is not None}
    score_it(Request(file, output, judge or [], threshold, columns, prefix, force, prior_shift=prior_shift))


class PredictCommand(TyperCommand):
    """Accept an answer that begins with a minus, such as -5, without `--` before it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        options = {name: parameter for parameter in self.get_params(ctx) for name in parameter.opts}
        position = 0
        while position < len(args) and args[position] != "--":
            argument = args[position]
            if argument in options:
                position += 1 if getattr(options[argument], "is_flag", False) else 2
                continue
            if re.match(r"-[^-]", argument) and argument[:2] not in options:
                args = [*args[:position], *args[position + 1 :], "--", argument]
                break
            position += 1
        return super().parse_args(ctx, args)


def predict(
    candidate: Annotated[str | None, typer.Argument(help="Answer to judge. Default: lines of JSON on stdin.")] = None,
    reference: Annotated[list[str] | None, typer.Option("--reference", "-r", help="Reference answer. Repeatable.")] = None,
    question: Annotated[str, typer.Option("--question", "-q", help="Question.")] = "",
    judge: Judges = None,
    threshold: Threshold = None,
) -> None:
    """Judge a single answer, or JSON lines from a pipe.

    Each line is an object with the keys question, references and candidate, or similar names; it is printed again with verdict,
    score and reason.
    """
    from bert_judge.cli.predict import predict_one, predict_stream

    if candidate is None:
        predict_stream(judge or [], threshold)
    else:
        predict_one(candidate, reference or [], question, judge or [], threshold)


def import_(
    files: Annotated[
        list[str], typer.Argument(help="Files of a framework, or tables; several are concatenated. Or hf:OWNER/NAME on the hub.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Output file: .jsonl, .csv or .parquet.")],
    format: Annotated[
        str | None,
        typer.Option(
            help="lm_eval, lighteval, inspect, helm, opencompass, evalscope, openai_evals, openai_batch, judgelm, mm_vet, "
            "representation_judge, bert_as_a_judge, or rows. Default: detected from the content."
        ),
    ] = None,
    references: Annotated[Path | None, typer.Option(help="File of references, if the framework's file has none.")] = None,
    requests: Annotated[Path | None, typer.Option(help="Requests of a batch, which hold its questions.")] = None,
    scores: Annotated[Path | None, typer.Option(help="scores.json of a judge, for the label column.")] = None,
    model: Annotated[str | None, typer.Option(help="Model name, overriding the file's.")] = None,
    task: Annotated[str | None, typer.Option(help="Task name, overriding the file's.")] = None,
    pairs: Annotated[bool, typer.Option("--pairs", help="JudgeLM: write one row per pair of answers.")] = False,
    config: Annotated[str | None, typer.Option(help="Configuration of a dataset on the hub.")] = None,
    split: Annotated[str | None, typer.Option(help="Split of a dataset on the hub. Default: train.")] = None,
    force: Force = False,
) -> None:
    """Convert the output of other frameworks to rows: question, references, candidate, model, task, label, id, attempt."""
    from bert_judge.assets.prepare import resolve_files
    from bert_judge.cli.import_files import Request, import_files
    from bert_judge.cli.import_pairs import import_pairs

    paths = [path for name in files for path in resolve_files(name, config, split)]
    request = Request(paths, output, format, references, requests, scores, model, task, force)
    (import_pairs if pairs else import_files)(request)


def export(
    file: Annotated[Path, typer.Argument(help="The standings of a run, or a file that `score` wrote; for openai_batch, answers.")],
    to: Annotated[
        str,
        typer.Option(
            help="csv, markdown, latex: a table of accuracies. lm_eval, every_eval_ever, model_index, eval_results: a file per "
            "model in a folder. inspect, every_eval_ever_instances, openai_batch: a line per answer."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Output file, or folder for one file per model.")],
    judge: Annotated[str | None, typer.Option("--judge", "-j", help="Judge to export, if there are several.")] = None,
    dataset: Annotated[list[str] | None, typer.Option(help="TASK=OWNER/NAME: dataset of a task on the hub. Repeatable.")] = None,
    teacher: Annotated[str | None, typer.Option(help="For openai_batch: name of the judging model on the server.")] = None,
    force: Force = False,
) -> None:
    """Export accuracies and verdicts in the formats of other programs."""
    from bert_judge.cli.export_files import ExportOptions
    from bert_judge.cli.export_files import export as export_it

    export_it(ExportOptions(file, to, output, judge, dataset or [], teacher, force))


def push(
    judge: Annotated[str, typer.Argument(help="Name of a trained judge in results/judges, or its folder.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Output folder. Default: results/hub/JUDGE.")] = None,
    to: Annotated[str | None, typer.Option(help="Repository on the hub, OWNER/NAME. Without it, nothing is uploaded.")] = None,
    private: Annotated[bool, typer.Option("--private", help="Create a private repository.")] = False,
    attacks: Annotated[Path | None, typer.Option(help="Table of attack rates for the model card. Default: the run's own.")] = None,
) -> None:
    """Write a judge as a folder for the hub that transformers and sentence-transformers load with the same scores."""
    from bert_judge.cli.push import push as push_it

    push_it(judge, output, to, private, attacks)


Server = Annotated[
    str | None,
    typer.Option(help="URL of an OpenAI-compatible server, such as http://localhost:8000/v1; the key is read from OPENAI_API_KEY."),
]
Tokens = Annotated[int, typer.Option("--max-new-tokens", min=1, help="Maximum number of generated tokens.")]
Show = Annotated[bool, typer.Option("--show-config", help="Print the equivalent configuration and exit.")]


def label(
    file: Annotated[Path, typer.Argument(help="Answers and references: CSV, JSON or parquet, or the output of a framework.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Output file. Default: FILE.labelled.SUFFIX.")] = None,
    teacher: Annotated[
        str | None, typer.Option("--judge", "-j", help="Teacher: a judge of a configuration, FILE.yaml:NAME.")
    ] = None,
    language_model: Annotated[
        str | None, typer.Option("--teacher", help="Or a language model: hub id, folder, or name on the server.")
    ] = None,
    server: Server = None,
    reasoning: Annotated[bool, typer.Option(help="Let the model reason before its verdict.")] = True,
    question: Question = None,
    references: References = None,
    candidate: Candidate = None,
    model: Model = None,
    force: Force = False,
) -> None:
    """Label a file of answers with a teacher: append label_verdict, label_score and label_reason, for use by `train`."""
    from bert_judge.cli.label import Teacher
    from bert_judge.cli.label import label as label_it

    columns = _without_none(question=question, references=references, candidate=candidate, model=model)
    label_it(file, output, Teacher(teacher, language_model, server, reasoning), columns, force)


def train(
    file: Annotated[Path, typer.Argument(help="Labelled answers with references: CSV, JSONL or parquet.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the judge; its name is the judge's name.")],
    backbone: Annotated[str, typer.Option(help="Encoder: minilm (offline), hub id or folder.")] = "minilm",
    epochs: Annotated[float | None, typer.Option(min=0.01, help="Number of epochs.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Peak learning rate.")] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Rows per step.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the new layers and of the row order.")] = None,
    test: Annotated[float, typer.Option(min=0.01, max=0.9, help="Share of the questions held out as test set.")] = 0.2,
    validation: Annotated[float, typer.Option(min=0.01, max=0.9, help="Share of the others used for calibration.")] = 0.1,
    label_column: Annotated[
        str | None, typer.Option("--label", help="Name of the label column, if it is not auto-detected.")
    ] = None,
    question: Question = None,
    references: References = None,
    candidate: Candidate = None,
    show_config: Show = False,
    force: Force = False,
) -> None:
    """Train a judge on a file of labelled answers and measure it on held-out questions.

    An interrupted call resumes when repeated. For other settings, use --show-config and Snakemake.
    """
    from bert_judge.cli.train import Request
    from bert_judge.cli.train import train as train_it

    training = _without_none(epochs=epochs, learning_rate=learning_rate, batch_size=batch_size, seed=seed)
    columns = _without_none(question=question, references=references, candidate=candidate, label=label_column)
    train_it(Request(file, output, backbone, training, test, validation, columns, show_config, force))


def generate(
    file: Annotated[Path, typer.Argument(help="Questions and references: CSV, JSONL or parquet.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Output file: .csv, .jsonl or .parquet.")],
    model: Annotated[str, typer.Option("--model", "-m", help="Hub id, folder, or name on the server.")],
    server: Server = None,
    backend: Annotated[str, typer.Option(help="Backend of a local model: hf or vllm.")] = "hf",
    style: Annotated[
        str, typer.Option(help="Prompt style. free: question only; soft: conclude with Final answer; strict: nothing else.")
    ] = "free",
    family: Annotated[
        str, typer.Option(help="Family of the questions: short_answer, math, multiple_choice or reading.")
    ] = "short_answer",
    max_new_tokens: Tokens = 2048,
    temperature: Annotated[float, typer.Option(min=0, help="Sampling temperature; 0 is greedy.")] = 0.0,
    attempts: Annotated[int, typer.Option(min=1, help="Answers per question.")] = 1,
    question: Question = None,
    references: References = None,
    show_config: Show = False,
    force: Force = False,
) -> None:
    """Generate a language model's answers to a file of questions. An interrupted call resumes when repeated."""
    from bert_judge.cli.generate import Request
    from bert_judge.cli.generate import generate as generate_it

    block = {"max_new_tokens": max_new_tokens, "temperature": temperature, "attempts": attempts}
    columns = _without_none(question=question, references=references)
    generate_it(Request(file, output, model, server, backend, style, family, block, columns, show_config, force))


def _without_none(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def serve(
    judge: Judges = None,
    configfile: Annotated[
        list[Path] | None, typer.Option("--configfile", "-c", help="Configuration whose judges are served.")
    ] = None,
    results: Annotated[Path, typer.Option(help="Results folder of a run.")] = Path("results"),
    host: Annotated[str, typer.Option(help="Address; any other than localhost needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 selects a free one.")] = 8000,
    token_file: Annotated[Path | None, typer.Option(help="File with the token. Default: the variable BERT_JUDGE_TOKEN.")] = None,
    labels: Annotated[
        Path | None, typer.Option(help="CSV file for audit labels. Default: audit.labels of the configuration, or labels.csv.")
    ] = None,
    page: Annotated[bool, typer.Option("--page/--no-page", help="Serve the web page.")] = True,
    max_rows: Annotated[int, typer.Option(min=1, help="Maximum rows per request.")] = 1000,
    queue_rows: Annotated[int, typer.Option(min=1, help="Maximum rows queued per judge.")] = 20_000,
    rate: Annotated[float, typer.Option(min=0, help="Maximum requests per second and client; 0: unlimited.")] = 100.0,
    seconds: Annotated[float, typer.Option(min=0.1, help="Maximum seconds per request.")] = 120.0,
) -> None:
    """Serve judges over HTTP (POST /v1/judge) and on a web page.

    On SIGTERM or Ctrl-C, accepted requests are answered before the server exits.
    """
    from bert_judge.runtime.logs import job_log

    with job_log(None, offline=False):
        try:
            from bert_judge.serve.limits import Limits
            from bert_judge.serve.server import ServeOptions
            from bert_judge.serve.server import serve as run
        except ModuleNotFoundError as error:
            raise InputError(f"serve: {error.name} is not installed; pip install 'bert-judge[serve]'") from error

        limits = Limits(rows=max_rows, queue_rows=queue_rows, rate=rate, answer_seconds=seconds)
        run(ServeOptions(host, port, judge or [], configfile or [], results, token_file, labels, page, limits))
