"""`bert-judge audit`: one round of human labels, for the answers in a file or for a run of a configuration."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from bert_judge import tables
from bert_judge.assets.prepare import GENERAL
from bert_judge.cli import options
from bert_judge.cli.terminal import log
from bert_judge.config import files as config_files
from bert_judge.importers.column_names import column_option
from bert_judge.runtime.errors import InputError

RUN_FOLDER = Path("results/audit")


def audit(
    source: Annotated[
        Path,
        typer.Argument(metavar="FILE|CONFIG", help="Answers (CSV, JSON lines or parquet), or a configuration with an audit block."),
    ],
    labels: Annotated[list[Path] | None, typer.Option("--labels", help="Filled sheet. Repeatable: rounds and annotators.")] = None,
    judge: Annotated[
        str | None, typer.Option("--judge", "-j", help="Of FILE: judge to correct, as in score. Default: general.")
    ] = None,
    size: Annotated[int | None, typer.Option(min=10, help="Of FILE: answers per model on a sheet. Default: 40.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Of FILE: folder of sheet and tables. Default: FILE.audit.")
    ] = None,
    question: options.Question = None,
    references: options.References = None,
    candidate: options.Candidate = None,
    model: options.ModelColumn = None,
    cores: Annotated[int | None, typer.Option(min=1, help="Of CONFIG: CPU cores to use; default: all of this machine.")] = None,
    settings: options.Settings = None,
    data: options.DataFolder = None,
) -> None:
    """Do one round of an audit: read the filled sheets, print who is better and what to label next, and draw the next sheet.

    With CONFIG, the same as bert-judge run CONFIG audit, with the results printed.
    """
    of_file = options.without_none(
        judge=judge, size=size, output=output, question=question, references=references, candidate=candidate, model=model
    )
    of_config = options.without_none(cores=cores, set=settings, data=data)
    is_file = config_files.is_table(source)
    if foreign := of_config if is_file else of_file:
        kind = "configurations" if is_file else "files of answers"
        raise InputError(f"{column_option(next(iter(foreign)))}: is for {kind}, and {source} is none; leave it out")
    sheets = labels or []
    if is_file:
        columns = options.without_none(question=question, references=references, candidate=candidate, model=model)
        folder = output or source.with_suffix(".audit")
        _audit_file(source, columns, judge or GENERAL, sheets, size, folder)
    else:
        folder = RUN_FOLDER
        _audit_run(source, sheets, cores, settings or [], data)
    from bert_judge.cli.standings import print_audit

    sheet = f"{folder / 'sheet.html'} (or sheet.csv); then repeat with --labels FILE added to the earlier ones"
    if (folder / "corrected_accuracy.parquet").is_file() and print_audit(folder):
        log(f"the ranking needs no more labels; for narrower intervals of the accuracies: {sheet}")
    else:
        log(f"next answers to label: {sheet}")


def _audit_file(
    file: Path, named_columns: Mapping[str, str], judge_name: str, sheets: Sequence[Path], size: int | None, folder: Path
) -> None:
    """Judge the answers of a file, draw a sheet, and correct the accuracies with the filled sheets."""
    from bert_judge.cli import configurations
    from bert_judge.evaluation.audit.corrected import SCHEMAS, build_corrected
    from bert_judge.labels.judge_loading import find_judge
    from bert_judge.labels.score_file import work_folder
    from bert_judge.plan import build_plan
    from bert_judge.report.audit_sheet import write_sheet
    from bert_judge.runtime import resume
    from bert_judge.tables.readers.rows import open_rows

    for sheet in sheets:
        if not sheet.is_file():
            raise InputError(f"--labels {sheet}: no such file; fill {folder / 'sheet.html'} and save it there")
        if sheet.resolve().parent == folder.resolve():
            raise InputError(f"--labels {sheet}: every round overwrites files in that folder; keep labels in another")
    rows = open_rows(file)
    columns = options.find_columns(rows, named_columns, ("question", "references", "candidate"), optional=("model",))
    options.drop_ambiguous_models(rows, columns)
    log("; ".join(f"{role}: {column!r}" for role, column in columns.items()))
    judge = find_judge(judge_name)
    planned = build_plan(configurations.audit(file, columns, judge.name, judge.context.block, sheets, size))
    task, work = configurations.FILE, work_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tables.exclusive(folder):
        run = configurations.FileRun(planned, work)
        run.build_answers(task)
        with closing(judge.load()) as loaded:
            run.apply_judge(loaded.judge, judge.name, task)
        run.build_scores(task)
        scores = run.paths("scores", task)
        if sheets:
            build_corrected(planned.corrected_spec(), scores=scores, sheets=sheets, folder=folder)
        else:
            # Tables of an earlier audit with labels.
            for name in SCHEMAS:
                (folder / f"{name}.parquet").unlink(missing_ok=True)
        write_sheet(planned.audit_spec(), scores=scores, labels=sheets, sheet=folder / "sheet.csv", page=folder / "sheet.html")
        resume.clear(work)


def _audit_run(config: Path, sheets: Sequence[Path], cores: int | None, settings: Sequence[str], data: Path | None) -> None:
    """Run the target `audit` of a configuration."""
    from bert_judge.cli.snakemake_command import snakemake_command

    overrides = list(settings)
    if sheets:
        block: dict[str, Any] = {**(options.parse_settings(settings, None).get("audit") or {}), "labels": list(map(str, sheets))}
        overrides.append(f"audit={yaml.safe_dump(block, default_flow_style=True, width=10**6).strip()}")
    command = snakemake_command(config, ["audit"], cores=cores, settings=overrides, data=data)
    if not options.read_config([config], overrides)[1].get("audit"):
        raise InputError(f"{config}: no audit block; add audit: {{judge: NAME}}, with a judge of scorers")
    sys.stdout.flush()
    # The standings of the run are not what was asked for; its progress goes to stderr too.
    if code := subprocess.run(command, stdout=sys.stderr, check=False).returncode:
        raise typer.Exit(code)
