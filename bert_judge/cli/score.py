"""`bert-judge score`: append verdicts to a file of answers."""

import shlex
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from bert_judge.assets.prepare import GENERAL, GENERAL_FOLDER
from bert_judge.cli.import_files import convert_to_rows
from bert_judge.cli.options import Answers, Candidate, Force, Judges, Label, Model, Question, References, Threshold, without_none
from bert_judge.cli.terminal import console, echo, format_interval, format_number, format_percent, log, make_table, progress
from bert_judge.importers import column_names, frameworks
from bert_judge.importers.answers import NO_REFERENCE, RecordReader, SkippedRecord, make_column_reader
from bert_judge.importers.companion_files import CompanionFiles
from bert_judge.importers.suspicious_input import find_suspicious_input
from bert_judge.judges import registry
from bert_judge.judges.protocol import CORRECT, INVALID, Row
from bert_judge.labels import judge_loading
from bert_judge.labels.score_file.score_file import claim_output, output_columns, score_file, to_row, work_folder
from bert_judge.labels.score_file.tally import Tally
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import disable_progress_bars
from bert_judge.tables.readers import values
from bert_judge.tables.readers.containers import Container
from bert_judge.tables.readers.rows import Record, RowFile, open_rows
from bert_judge.text.answer_kinds import answer_kind

MAX_MODELS, MAX_REASONS = 40, 3
# A judge that reached less on the answers of other sources cannot be trusted with them.
MIN_AUROC = 0.75
# Of the new columns, if the file has columns with their names.
PREFIX = "bert_judge_"


def score(
    file: Answers,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Output file. Default: FILE.scored.SUFFIX.")] = None,
    judge: Judges = None,
    threshold: Threshold = None,
    question: Question = None,
    references: References = None,
    candidate: Candidate = None,
    model: Model = None,
    label: Label = None,
    prefix: Annotated[str, typer.Option(help="Prefix of the new columns.")] = "",
    force: Force = False,
) -> None:
    """Score a file of answers: write the same file with verdict, score and reason columns appended.

    If the file has labels, the agreement with them is printed. Files may be of any size; an interrupted call resumes when repeated.
    """
    judge_file(
        file,
        output,
        lambda: load_judges(judge or [], threshold),
        columns=without_none(question=question, references=references, candidate=candidate, model=model, label=label),
        prefix=prefix,
        force=force,
    )


def judge_file(
    file: Path,
    output: Path | None,
    load: Callable[[], Sequence[judge_loading.NamedJudge]],
    *,
    columns: Mapping[str, str],
    prefix: str,
    force: bool,
    suffix: str = ".scored",
) -> Tally:
    """Append the verdicts of judges to a file, and print a summary.

    Args:
        output: by default the file's name with `suffix`.
        load: loads the judges, called after the file has been checked.
        columns: role → column, as named by the user.
        prefix: of the new columns.

    Raises:
        InputError: the file, its columns, the judge or the output is invalid; nothing was written.
    """
    # Columns of the user mean that the file is read as plain rows, not as a framework's file.
    framework = None if columns else frameworks.detect(file)
    if framework is None or frameworks.FRAMEWORKS[framework].is_annotatable:
        source = open_rows(file)
        output = output or source.container.name.with_suffix(f"{suffix}{source.container.output_suffix}")
    else:
        output = output or file.with_suffix(f"{suffix}.jsonl")
        source = RowFile(Container(work_folder(output) / "source" / "rows.jsonl", "jsonl"), [])
    # Fail early, before a judge is loaded.
    with claim_output(source, output, force):
        if framework is not None and not frameworks.FRAMEWORKS[framework].is_annotatable:
            source = _convert(file, framework, source.path, work_folder(output))
        sample = source.sample()
        reader, labels = _make_reader(file, source, framework, columns, sample)
        _check_rows(file, source, reader)
        for line in find_suspicious_input(sample, reader):
            log(f"warning: {line}")
        judges = load()
        for named in judges:
            _warn_about_kinds(file, named, sample, reader)
        prefix = prefix or _choose_prefix(source, judges)
        with progress("rows judged") as on_progress:
            tally = score_file(source, reader, output, judges, prefix=prefix, force=force, on_progress=on_progress)
    _report(tally, output, labels)
    if framework is None:
        _offer_training(tally, judges, file, columns)
    return tally


def _convert(file: Path, framework: str, rows: Path, work: Path) -> RowFile:
    """Convert a framework's document to a row file in the work folder, which is deleted when scoring is finished."""
    work_exists = work.exists()
    try:
        convert_to_rows(file, framework, rows)
        source = open_rows(rows)
    except InputError:
        if not work_exists:
            resume.clear(work)
        raise
    return source


def _choose_prefix(source: RowFile, judges: Sequence[judge_loading.NamedJudge]) -> str:
    """Return a prefix for the new columns if the file has one of their names, e.g. a reward called `score`."""
    existing = [name for name in output_columns(judges) if name in source.columns]
    if existing:
        log(f"{source.path}: has a column {existing[0]!r}; the new columns start with {PREFIX!r}; choose another with --prefix")
    return PREFIX if existing else ""


def _make_reader(
    file: Path, source: RowFile, framework: str | None, columns: Mapping[str, str], sample: Sequence[Record]
) -> tuple[RecordReader, str]:
    """Return the reader of the rows and a name for their labels; log the detected format or columns."""
    if framework is not None:
        kind = frameworks.FRAMEWORKS[framework]
        log(f"{file}: {kind.description}")
        plain = make_column_reader(frameworks.PLAIN_COLUMNS)
        return kind.make_reader(source.path, CompanionFiles()) if kind.is_annotatable else plain, "the file's own verdicts"
    _check_reference_file(file, source, columns.get("references", ""))

    def remedy(role: str) -> str:
        second_file = f", or import a second file of them: bert-judge import {file} --references FILE -o answers.jsonl"
        return f"set --{role} COLUMN{second_file if role == 'references' else ''}"

    detected = column_names.detect_columns(source.path, source.columns, columns, sample=sample, remedy=remedy)
    if labels := column_names.verdict_columns(source.columns, detected, sample):
        detected.setdefault("label", labels[0])
    roles = [f"{role}: {column!r}" for role, column in detected.items()]
    log("; ".join(roles if "model" in detected else [*roles, "model: no column"]))
    for column, cell in column_names.unread_labels(source.columns, detected, sample):
        log(f"{file}: the column {column!r} is not read as labels, because {str(cell)!r} is no verdict")
    labels_name = (
        f"the column {detected['label']!r}" if "label" in detected else f"the marks in the column {detected['candidate']!r}"
    )
    return make_column_reader(detected, source.holds_texts, sample), labels_name


def _check_rows(file: Path, source: RowFile, reader: RecordReader) -> None:
    """Refuse a file in which no row can be judged."""
    reasons: dict[str, None] = {}
    for _, record in source.records():
        try:
            reader(record)
        except SkippedRecord:
            return
        except values.UnreadableCell as error:
            reasons.setdefault(str(error))
        else:
            return
    if (reason := next(iter(reasons))) == NO_REFERENCE:
        raise InputError(f"{file}: no reference in any row; fill their column, or name another with --references")
    raise InputError(f"{file}: no row can be judged: {reason}")


def _check_reference_file(file: Path, source: RowFile, references: str) -> None:
    """Refuse a file in place of the column of references."""
    if references and references not in source.columns and Path(references).is_file():
        raise InputError(
            f"--references names a column, and {references} is a file; import the answers first: "
            f"bert-judge import {file} --references {references} -o answers.jsonl"
        )


def load_judges(names: Sequence[str], threshold: float | None) -> list[judge_loading.NamedJudge]:
    """Load judges by name; without names, load the general judge and log its version."""
    if not names:
        version = registry.read_card(GENERAL_FOLDER).get("version", "")
        log(f"judge: {GENERAL} {version} (comes with bert-judge; --judge takes another)")
        names = [GENERAL]
    disable_progress_bars()
    return judge_loading.load_judges(names, threshold)


def _warn_about_kinds(file: Path, judge: judge_loading.NamedJudge, sample: Sequence[Record], reader: RecordReader) -> None:
    """Warn if most of the first rows are of kinds on which the judge was measured to be weak."""
    from bert_judge.encoder.judge_folder import read_unseen_auroc

    measured = {} if judge.folder is None else read_unseen_auroc(judge.folder)
    weak = {kind: auroc for kind, auroc in measured.items() if auroc < MIN_AUROC}
    if not weak:
        return
    rows = [row for record in sample if isinstance(row := to_row(reader, record), Row)]
    counts = Counter(answer_kind(row.question, row.references, row.candidate) for row in rows)
    share = sum(counts[kind] for kind in weak) / max(len(rows), 1)
    if share > 0.5:
        kinds = ", ".join(f"{kind} (AUROC {weak[kind]:.2f})" for kind, _ in counts.most_common() if kind in weak)
        log(
            f"warning: {format_percent(share)}% of {file.name} are of a kind on which {judge.name} is weak on sources that it has "
            f"not seen: {kinds}; label 20 answers for bert-judge train, test it with bert-judge certify, or use an LLM judge"
        )


def _offer_training(tally: Tally, judges: Sequence[judge_loading.NamedJudge], file: Path, columns: Mapping[str, str]) -> None:
    """Say that the labels of a file can adapt a judge to it."""
    labelled = {judge: (truth, questions) for judge, _, truth, questions in tally.labelled()}
    for judge in judges:
        card = {} if judge.folder is None else registry.read_card(judge.folder)
        if judge.name not in labelled or not card.get("stacker") or card.get("spec", {}).get("recalibrate"):
            continue
        truth, questions = labelled[judge.name]
        if len(set(truth)) < 2 or len(set(questions)) < 2:
            continue
        start = {} if judge.folder == GENERAL_FOLDER else {"from": str(judge.folder)}
        options = " ".join(f"--{name} {shlex.quote(value)}" for name, value in {**start, **columns}.items())
        command = f"bert-judge train {shlex.quote(str(file))} -o my-judge {options}".rstrip()
        log(f"{len(truth):,} answers have a label; 20 adapt {judge.name} to answers like these, in seconds: {command}")
        return


def _report(tally: Tally, output: Path, labels: str) -> None:
    """Print the accuracy per judge and model, the agreement with labels, and the reasons of invalid verdicts.

    If there are answers that attempt nothing, the table has their metrics too.
    """
    # Lazy import: it loads scipy, which `--help` does not need.
    from bert_judge.statistics.attempts import attempt_metrics
    from bert_judge.statistics.intervals import proportion
    from bert_judge.statistics.metrics import cohen_kappa

    lines = list(tally.by_model())
    all_attempted = all(answers.attempted.all() for _, _, answers in lines)
    attempt_headings = () if all_attempted else ("attempted, %", "accuracy of attempted, %", "F-score, %")
    headings = ("answers", "accuracy, %", "invalid, %", "accuracy without invalid, %", *attempt_headings)
    table = make_table("judge", "model", numbers=headings)
    for judge, model, (verdicts, attempted, questions) in lines[:MAX_MODELS]:
        correct, valid = verdicts == CORRECT, verdicts != INVALID
        decided = format_percent(correct[valid].mean()) if valid.any() else "–"
        accuracy = proportion(correct, questions)
        interval = f"{format_percent(accuracy.value)} {format_interval(accuracy.low, accuracy.high)}"
        attempts = [] if all_attempted else map(format_percent, attempt_metrics(correct, attempted))
        table.add_row(judge, model or "–", f"{len(verdicts):,}", interval, format_percent(1 - valid.mean()), decided, *attempts)
    console().print(table)
    if len(lines) > MAX_MODELS:
        echo(f"and {len(lines) - MAX_MODELS} more")
    for judge, verdicts, truth, questions in tally.labelled():
        agreement, share = proportion(verdicts == truth, questions), float((truth == CORRECT).mean())
        echo(
            f"{judge}: agreement with {labels} {format_percent(agreement.value)}% "
            f"{format_interval(agreement.low, agreement.high)} on {len(truth):,} answers, "
            f"kappa {format_number(cohen_kappa(truth, verdicts), 2)}; the constant verdict "
            f"{'correct' if share >= 0.5 else 'incorrect'} agrees on {format_percent(max(share, 1 - share))}%"
        )
    for reason, count in tally.reasons.most_common(MAX_REASONS):
        echo(f"invalid: {count:,} × {reason}")
    for reason, count in tally.unfamiliar.items():
        log(
            f"warning: {count:,} of {tally.rows * len(tally.judges):,} verdicts are on text {reason}; bring labels or another judge"
        )
    skipped = f", {tally.skipped:,} of them without an answer to judge" if tally.skipped else ""
    echo(f"{output}: {tally.rows:,} rows{skipped}")
    sys.stdout.flush()
