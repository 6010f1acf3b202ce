"""`bert-judge score` and `import`, and the options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

Judges = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        "-j",
        help="general (the judge in this package), folder of a judge, name of a trained judge in results/judges, judge of a "
        "configuration (FILE.yaml:NAME), checkpoint on the hub (owner/name), or rule: exact_match, contains, token_f1, "
        "rouge_l_recall, rouge_l_f, math_verify. Repeatable. Default: general.",
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
Server = Annotated[
    str | None,
    typer.Option(help="URL of an OpenAI-compatible server, such as http://localhost:8000/v1; the key is read from OPENAI_API_KEY."),
]
ShowConfig = Annotated[bool, typer.Option("--show-config", help="Print the equivalent configuration and exit.")]


def without_none(**values: Any) -> dict[str, Any]:
    """Return the options that are set."""
    return {name: value for name, value in values.items() if value is not None}


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

    columns = without_none(question=question, references=references, candidate=candidate, model=model)
    score_it(Request(file, output, judge or [], threshold, columns, prefix, force, prior_shift=prior_shift))


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
