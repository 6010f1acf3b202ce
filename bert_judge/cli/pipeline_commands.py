"""The commands that make what `score` needs: a model's answers, a teacher's labels, a judge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from bert_judge.cli.file_commands import Candidate, Force, Model, Question, References

Server = Annotated[
    str | None,
    typer.Option(
        help="Address of a server that speaks OpenAI's protocol, such as http://localhost:8000/v1; the key is in OPENAI_API_KEY."
    ),
]
Tokens = Annotated[int, typer.Option("--max-new-tokens", min=1, help="Longest answer.")]
Show = Annotated[bool, typer.Option("--show-config", help="Print the configuration that this stands for, and do nothing.")]


def label(
    file: Annotated[Path, typer.Argument(help="Answers with their right answers: CSV, JSONL or parquet.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to; FILE.labelled.ENDING when left out.")] = None,
    teacher: Annotated[
        str | None, typer.Option("--judge", "-j", help="The teacher: a judge of a configuration, FILE.yaml:NAME.")
    ] = None,
    language_model: Annotated[
        str | None, typer.Option("--teacher", help="Or a language model: a hub id, a folder, or its name on the server.")
    ] = None,
    server: Server = None,
    reasoning: Annotated[bool, typer.Option(help="Have the model compare before it decides; without, the verdict alone.")] = True,
    question: Question = None,
    references: References = None,
    candidate: Candidate = None,
    model: Model = None,
    force: Force = False,
) -> None:
    """A teacher's verdicts on a file of answers, for `train`: the same file with label_verdict, label_score and label_reason."""
    from bert_judge.cli.label import Teacher
    from bert_judge.cli.label import label as label_it

    columns = _told(question=question, references=references, candidate=candidate, model=model)
    label_it(file, output, Teacher(teacher, language_model, server, reasoning), columns, force)


def train(
    file: Annotated[Path, typer.Argument(help="Answers with their right answers and labels: CSV, JSONL or parquet.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The judge's folder; its name is the judge's.")],
    backbone: Annotated[str, typer.Option(help="The encoder: minilm (offline), a hub id or a folder.")] = "minilm",
    epochs: Annotated[float | None, typer.Option(min=0.01, help="Passes over the rows.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Peak of the learning rate.")] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Rows per step.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the new layers and of the row order.")] = None,
    test: Annotated[float, typer.Option(min=0.01, max=0.9, help="Share of the questions to measure on; not learnt from.")] = 0.2,
    validation: Annotated[float, typer.Option(min=0.01, max=0.9, help="Share of the others that calibrates the judge.")] = 0.1,
    label_column: Annotated[
        str | None, typer.Option("--label", help="The column of the labels, where its name does not tell.")
    ] = None,
    question: Question = None,
    references: References = None,
    candidate: Candidate = None,
    show_config: Show = False,
    force: Force = False,
) -> None:
    """Train a judge on a file of labelled answers, and say how it does on questions that it never saw.

    A call that was killed goes on where it was when it is repeated. Other settings: --show-config, and Snakemake.
    """
    from bert_judge.cli.train import Request
    from bert_judge.cli.train import train as train_it

    training = _told(epochs=epochs, learning_rate=learning_rate, batch_size=batch_size, seed=seed)
    columns = _told(question=question, references=references, candidate=candidate, label=label_column)
    train_it(Request(file, output, backbone, training, test, validation, columns, show_config, force))


def generate(
    file: Annotated[Path, typer.Argument(help="Questions with their right answers: CSV, JSONL or parquet.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file of answers, for `score`: .csv, .jsonl or .parquet.")],
    model: Annotated[str, typer.Option("--model", "-m", help="A hub id, a folder, or the model's name on the server.")],
    server: Server = None,
    backend: Annotated[str, typer.Option(help="Without a server: hf or vllm.")] = "hf",
    style: Annotated[
        str, typer.Option(help="free: the question only; soft: conclude with Final answer; strict: nothing else.")
    ] = "free",
    family: Annotated[
        str, typer.Option(help="What the questions are: short_answer, math, multiple_choice or reading.")
    ] = "short_answer",
    max_new_tokens: Tokens = 2048,
    temperature: Annotated[float, typer.Option(min=0, help="0 is greedy.")] = 0.0,
    attempts: Annotated[int, typer.Option(min=1, help="Answers per question.")] = 1,
    question: Question = None,
    references: References = None,
    show_config: Show = False,
    force: Force = False,
) -> None:
    """A language model's answers to a file of questions. A call that was killed asks for what is missing when it is repeated."""
    from bert_judge.cli.generate import Request
    from bert_judge.cli.generate import generate as generate_it

    block = {"max_new_tokens": max_new_tokens, "temperature": temperature, "attempts": attempts}
    columns = _told(question=question, references=references)
    generate_it(Request(file, output, model, server, backend, style, family, block, columns, show_config, force))


def _told(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
