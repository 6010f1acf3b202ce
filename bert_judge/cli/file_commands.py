"""The commands that take files of other programs and give verdicts back."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Judges = Annotated[
    list[str] | None,
    typer.Option(
        "--judge",
        "-j",
        help="A judge's folder, a trained judge of results/judges, one of a configuration (FILE.yaml:NAME), a checkpoint "
        "of the hub (owner/name), or a rule: exact_match, contains, token_f1, rouge_l_recall, rouge_l_f, math_verify. "
        "Several allowed. Left out: the only trained judge, or a rule.",
    ),
]
Threshold = Annotated[float | None, typer.Option(min=0, max=1, help="Lowest score that counts as correct; the judge's own.")]
Question = Annotated[str | None, typer.Option("--question", help="The column of the question, where its name does not tell.")]
References = Annotated[str | None, typer.Option("--references", help="The column of the right answer or answers.")]
Candidate = Annotated[str | None, typer.Option("--candidate", help="The column of the model's answer.")]
Model = Annotated[str | None, typer.Option("--model", help="The column of the model's name.")]
Force = Annotated[bool, typer.Option("--force", help="Write over an output that is there.")]


def score(
    file: Annotated[Path, typer.Argument(help="Answers with their right answers: CSV, JSONL or parquet.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to; FILE.scored.ENDING when left out.")] = None,
    judge: Judges = None,
    threshold: Threshold = None,
    question: Question = None,
    references: References = None,
    candidate: Candidate = None,
    model: Model = None,
    adapt: Annotated[
        bool,
        typer.Option(
            "--adapt", help="Move the scores to the share of right answers that they tell: for files unlike those of training."
        ),
    ] = False,
    prefix: Annotated[str, typer.Option(help="Put before the new columns' names.")] = "",
    force: Force = False,
) -> None:
    """Judge a file of answers: the same file with a verdict, a score and a reason behind every row.

    Any length of file; a call that was killed goes on where it was when it is repeated.
    """
    from bert_judge.cli.score import Request
    from bert_judge.cli.score import score as score_it

    told = {"question": question, "references": references, "candidate": candidate, "model": model}
    columns = {part: column for part, column in told.items() if column is not None}
    score_it(Request(file, output, judge or [], threshold, columns, prefix, force, adapt=adapt))


def predict(
    candidate: Annotated[str | None, typer.Argument(help="The answer to judge; left out: lines of JSON on stdin.")] = None,
    reference: Annotated[list[str] | None, typer.Option("--reference", "-r", help="A right answer; several allowed.")] = None,
    question: Annotated[str, typer.Option("--question", "-q", help="The question.")] = "",
    judge: Judges = None,
    threshold: Threshold = None,
) -> None:
    """Judge one answer, or a pipe of them.

    In a pipe, each line is an object with the keys question, references and candidate, or names like these; the same line comes out
    with verdict, score and reason.
    """
    from bert_judge.cli.predict import one, pipe

    if candidate is None:
        pipe(judge or [], threshold)
    else:
        one(candidate, reference or [], question, judge or [], threshold)


def import_(
    files: Annotated[
        list[str], typer.Argument(help="Files of one framework, or plain rows; several are joined. Or hf:OWNER/NAME, of the hub.")
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Where to: .jsonl, .csv or .parquet.")],
    format: Annotated[
        str | None,
        typer.Option(
            help="lm_eval, lighteval, inspect, helm, openai_batch, judgelm, mm_vet, representation_judge, bert_as_a_judge, or "
            "rows; left out: told by what is in the file."
        ),
    ] = None,
    references: Annotated[Path | None, typer.Option(help="File of right answers, where the framework's has none.")] = None,
    requests: Annotated[Path | None, typer.Option(help="The requests of a batch, for its questions.")] = None,
    scores: Annotated[Path | None, typer.Option(help="A judge's scores.json, for the column label.")] = None,
    model: Annotated[str | None, typer.Option(help="The model's name, in place of what the file says.")] = None,
    task: Annotated[str | None, typer.Option(help="The task's name, in place of what the file says.")] = None,
    pairs: Annotated[bool, typer.Option("--pairs", help="JudgeLM: a row per two answers, for a set of pairs.")] = False,
    config: Annotated[str | None, typer.Option(help="Of a data set of the hub: its configuration.")] = None,
    split: Annotated[str | None, typer.Option(help="Of a data set of the hub: its split; train when left out.")] = None,
    force: Force = False,
) -> None:
    """Other frameworks' outputs as plain rows: question, references, candidate, model, task, label, id, attempt."""
    from bert_judge.assets.prepare import resolve_files
    from bert_judge.cli.import_files import Request, import_files
    from bert_judge.cli.import_pairs import import_pairs

    paths = [path for name in files for path in resolve_files(name, config, split)]
    asked = Request(paths, output, format, references, requests, scores, model, task, force)
    (import_pairs if pairs else import_files)(asked)


def export(
    file: Annotated[Path, typer.Argument(help="The standings of a run, or a file that `score` wrote; for openai_batch, answers.")],
    to: Annotated[
        str,
        typer.Option(
            help="csv, markdown, latex: a table of accuracies. lm_eval, every_eval_ever, model_index, eval_results: a file per "
            "model in a folder. inspect, every_eval_ever_instances, openai_batch: a line per answer."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The file, or the folder of a file per model.")],
    judge: Annotated[str | None, typer.Option("--judge", "-j", help="Whose verdicts, where there are several judges.")] = None,
    dataset: Annotated[list[str] | None, typer.Option(help="TASK=OWNER/NAME: a task's data set on the hub.")] = None,
    teacher: Annotated[str | None, typer.Option(help="For openai_batch: what the server calls the model that is to judge.")] = None,
    force: Force = False,
) -> None:
    """Accuracies and verdicts in the forms of other programs."""
    from bert_judge.cli.export_files import ExportOptions
    from bert_judge.cli.export_files import export as export_it

    export_it(ExportOptions(file, to, output, judge, dataset or [], teacher, force))


def push(
    judge: Annotated[str, typer.Argument(help="A trained judge of results/judges, or its folder.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="The folder; results/hub/JUDGE when left out.")] = None,
    to: Annotated[str | None, typer.Option(help="Repository on the hub, OWNER/NAME; nothing is uploaded without one.")] = None,
    private: Annotated[bool, typer.Option("--private", help="Make the repository a private one.")] = False,
    attacks: Annotated[Path | None, typer.Option(help="How often it is fooled, for the card; the run's own when left out.")] = None,
) -> None:
    """A judge as a folder for the hub, which transformers and sentence-transformers load with the same scores."""
    from bert_judge.cli.push import push as push_it

    push_it(judge, output, to, private, attacks)
