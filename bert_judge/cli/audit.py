"""`bert-judge audit`: one round of human labels, for the answers in a file or for a run of a configuration."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import yaml

from bert_judge import tables
from bert_judge.assets.prepare import GENERAL
from bert_judge.cli import options
from bert_judge.cli.terminal import log
from bert_judge.config import files as config_files
from bert_judge.importers.column_names import IDS, column_option
from bert_judge.labels.judge_loading import JudgeReference, find_judge
from bert_judge.labels.server_judges import is_server_name
from bert_judge.runtime.errors import InputError

if TYPE_CHECKING:
    from bert_judge.plan import Plan

# Documents of answers, beside tables; configurations are YAML.
DOCUMENT_ENDINGS = (".json", ".eval")
RUN_FOLDER = Path("results/audit")
# Folder of the verdicts on a file in that of its audit: the next call judges only new answers.
VERDICTS = ".verdicts"


def audit(
    source: Annotated[
        Path,
        typer.Argument(metavar="FILE|CONFIG", help="Answers in a file that score reads, or a configuration with an audit block."),
    ],
    labels: Annotated[
        list[str] | None,
        typer.Option(
            "--labels",
            help="Filled sheet. Repeatable: rounds and annotators. Of FILE also a language model, whose verdicts are the labels: "
            "http://HOST/v1#MODEL or openai:MODEL.",
        ),
    ] = None,
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
    is_file = config_files.is_table(source) or source.suffix.lower() in DOCUMENT_ENDINGS
    if foreign := of_config if is_file else of_file:
        kind = "configurations" if is_file else "files of answers"
        raise InputError(f"{column_option(next(iter(foreign)))}: is for {kind}, and {source} is none; leave it out")
    sheets = [Path(name) for name in labels or [] if not is_server_name(name)]
    servers = [name for name in labels or [] if is_server_name(name)]
    if len(servers) + bool(sheets) > 1 or (servers and not is_file):
        raise InputError(
            f"--labels {servers[0]}: a language model labels the answers of a file, and nobody else does; leave out the rest"
        )
    annotator = find_judge(servers[0]) if servers else None
    labelled_by = "human labels" if annotator is None else f"the verdicts of {annotator.name}"
    if is_file:
        columns = options.without_none(question=question, references=references, candidate=candidate, model=model)
        folder = output or source.with_suffix(".audit")
        _audit_file(source, columns, judge or GENERAL, sheets, size, folder, annotator)
    else:
        folder = RUN_FOLDER
        _audit_run(source, sheets, cores, settings or [], data)
    from bert_judge.cli.model_labels import label_file
    from bert_judge.cli.standings_tables import print_audit

    is_settled = (folder / "corrected_accuracy.parquet").is_file() and print_audit(folder, labels=labelled_by)
    if annotator is not None:
        log(f"labels: {labelled_by} in {label_file(source, annotator)}; the intervals are about agreement with it, not with people")
        return
    sheet = f"{folder / 'sheet.html'} (or sheet.csv); then repeat with --labels FILE added to the earlier ones"
    if not _has_rows(folder / "sheet.csv"):
        log("every answer has a label, so there is no further sheet")
    elif is_settled:
        log(f"the ranking needs no more labels; for narrower intervals of the accuracies: {sheet}")
    else:
        log(f"next answers to label: {sheet}")


def _has_rows(sheet: Path) -> bool:
    return sheet.is_file() and len(sheet.read_text(encoding="utf-8").splitlines()) > 1


def _check_folder(folder: Path) -> None:
    """Refuse a folder that cannot be written, before anything is judged."""
    existing = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise InputError(f"{existing}: is a file; choose another folder with -o")
    if not os.access(existing, os.W_OK):
        raise InputError(f"{existing}: is read-only; choose another folder with -o")
    if (verdicts := folder / VERDICTS).exists() and not verdicts.is_dir():
        raise InputError(f"{verdicts}: is a file where the verdicts go; remove it")


def _audit_file(
    file: Path,
    named_columns: Mapping[str, str],
    judge_name: str,
    sheets: Sequence[Path],
    size: int | None,
    folder: Path,
    annotator: JudgeReference | None,
) -> None:
    """Judge the answers of a file, draw a sheet, and correct the accuracies with the filled sheets, or with a model's verdicts."""
    for sheet in sheets:
        if not sheet.is_file():
            raise InputError(f"--labels {sheet}: no such file; fill {folder / 'sheet.html'} and save it there")
        if sheet.resolve().parent == folder.resolve():
            raise InputError(f"--labels {sheet}: every round overwrites files in that folder; keep labels in another")
    _check_folder(folder)
    # Only now: they load most of the program.
    from bert_judge.evaluation.audit.sampling import refuse_filled

    refuse_filled(folder / "sheet.csv")
    from bert_judge.cli import configurations
    from bert_judge.cli.model_labels import fill_sheet, label_file
    from bert_judge.cli.standings_tables import print_uncorrected
    from bert_judge.evaluation.audit.corrected import SCHEMAS, build_corrected
    from bert_judge.importers.frameworks import open_answers
    from bert_judge.labels.score_file import work_folder
    from bert_judge.plan import build_plan
    from bert_judge.report.audit_sheet import sample_rows, write_sheet
    from bert_judge.runtime import resume

    answers = open_answers(file, is_plain=bool(named_columns))
    columns = options.find_columns(answers, named_columns, ("question", "references", "candidate"), optional=("model",))
    options.drop_ambiguous_models(answers, columns)
    log("; ".join(f"{role}: {column!r}" for role, column in columns.items()))
    judge = find_judge(judge_name)
    log(f"judge: {judge.name}")

    def plan_audit(sheets: Sequence[Path]) -> "Plan":
        return build_plan(configurations.audit(file, columns, judge.name, judge.context.block, sheets, size))

    if annotator is not None and (filled := label_file(file, annotator)).is_file():
        sheets = [filled]
    planned = plan_audit(sheets)
    task, work = configurations.FILE, work_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with tables.exclusive(folder):
        run = configurations.FileRun(planned, work)
        run.build_answers(task)
        # A server's replies are stored where every command finds them.
        store = None if judge.is_served else folder / VERDICTS
        with closing(judge.load()) as loaded:
            run.apply_judge(loaded.judge, judge.name, task, store)
        run.build_scores(task)
        scores = run.paths("scores", task)
        if annotator is not None:
            fill_sheet(sample_rows(planned.audit_spec(), scores, sheets), annotator, filled := label_file(file, annotator))
            sheets = [filled]
            planned = plan_audit(sheets)
        if sheets:
            num_seen = run.count_seen(task, judge.folder)
            build_corrected(planned.corrected_spec(), scores=scores, sheets=sheets, folder=folder, num_seen={judge.name: num_seen})
        else:
            print_uncorrected(scores, judge.name)
            # Tables of an earlier audit with labels.
            for name in SCHEMAS:
                (folder / f"{name}.parquet").unlink(missing_ok=True)
        names = answers.source.columns if answers.source is not None and answers.framework is None else []
        ids = next((name for name in IDS if name in names and name not in columns.values()), None)
        sheet, page = folder / "sheet.csv", folder / "sheet.html"
        size = write_sheet(
            planned.audit_spec(),
            scores=scores,
            labels=sheets,
            sheet=sheet,
            page=page,
            find_ids=lambda keys: {} if ids is None else run.find_ids(task, ids, set(keys)),
        )
        for path in () if size else (sheet, page):
            path.unlink()
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
