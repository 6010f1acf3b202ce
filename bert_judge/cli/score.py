"""`bert-judge score` and `label`: append the verdicts of judges, or of a teacher, to a file of answers."""

import math
import shlex
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer

from bert_judge import tables
from bert_judge.assets.prepare import GENERAL_FOLDER
from bert_judge.cli import options
from bert_judge.cli.answer_reader import make_reader
from bert_judge.cli.remote_files import use_copies
from bert_judge.cli.second_judge import (
    Check,
    CheckError,
    DryRun,
    MaxCost,
    MaxRows,
    Price,
    RequestLimits,
    prepare_requests,
    report_second_judge,
)
from bert_judge.cli.terminal import (
    console,
    echo,
    format_interval,
    format_number,
    format_percent,
    log,
    make_table,
    progress,
    shorten,
)
from bert_judge.cli.uncertainty import describe_label_order, describe_uncertainty, format_range, needs_ranges
from bert_judge.importers.answers import NO_REFERENCE, RecordReader, find_suspicious_input
from bert_judge.importers.column_names import column_option
from bert_judge.importers.companion_files import CompanionFiles, JoiningReader
from bert_judge.importers.frameworks import NEEDS_REFERENCES, AnswerFile, convert_to_rows, open_answers
from bert_judge.judges import registry
from bert_judge.judges.protocol import CORRECT, INVALID, Row
from bert_judge.labels import judge_loading
from bert_judge.labels.judging import judge_rows, parse_record
from bert_judge.labels.score_file import GroupReader, ModelVerdicts, Tally, output_columns, score_file, work_folder
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import count_causes, disable_progress_bars
from bert_judge.statistics.accuracy_range import AccuracyRange
from bert_judge.tables.readers import values
from bert_judge.tables.readers.rows import Record, RowFile, open_rows
from bert_judge.text.answer_kinds import KINDS, answer_kind

MAX_LINES, MAX_REASONS, MAX_PAIRS = 40, 3, 10
# Characters of a question or an answer in a table.
MAX_CHARACTERS = 60
# A judge that reached less on the answers of other sources cannot be trusted with them.
MIN_AUROC = 0.75
# Prefix of the new columns, if the file has columns with their names.
PREFIX = "bert_judge_"
# Prefix of the columns of `label`; `train` finds its labels by it.
LABEL_PREFIX = "label_"
TEACHER = "teacher"
# Rows that a framework's document is converted to.
ROWS_NAME = "rows.jsonl"
EXAMPLE = "example.csv"


def score(
    file: options.ScoredAnswers = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Output file. Default: FILE.scored.SUFFIX.")] = None,
    judge: options.Judges = None,
    threshold: options.Threshold = None,
    policy: options.Policy = None,
    question: options.Question = None,
    references: options.References = None,
    candidate: options.Candidate = None,
    model: options.ModelColumn = None,
    label: options.Label = None,
    by: Annotated[str | None, typer.Option(help="Column of a category: prints the accuracy in each of its values too.")] = None,
    conversation: options.Conversation = False,
    top_share: Annotated[
        float | None, typer.Option(help="Write only this share of the rows, those with the highest scores: 0.2 for a fifth.")
    ] = None,
    prefix: Annotated[str, typer.Option(help="Prefix of the new columns.")] = "",
    known_wrong: Annotated[
        Path | None, typer.Option(help="Answers known to be wrong: a judge that accepts too many voids the call (exit code 3).")
    ] = None,
    max_accepted: Annotated[float, typer.Option(min=0, max=1, help="Highest share of these that a judge may accept.")] = 0.1,
    price: Price = None,
    max_cost: MaxCost = None,
    max_rows: MaxRows = None,
    check_rows: Check = 0,
    check_error: CheckError = 0.0,
    dry_run: DryRun = False,
    example: Annotated[bool, typer.Option("--example", help=f"Write a small file of answers, {EXAMPLE}, and score it.")] = False,
    force: options.Force = False,
) -> None:
    """Score a file of answers: write the same file with verdict, score and reason columns appended.

    If the file has labels, the agreement with them is printed. Files may be of any size; an interrupted call resumes when repeated.
    """
    if example:
        file = write_example(file or Path(EXAMPLE))
    elif file is None:
        raise InputError("score needs a file of answers; bert-judge score --example writes a small one and scores it")
    columns = options.without_none(question=question, references=references, candidate=candidate, model=model, label=label)
    limits = RequestLimits(price, max_cost, max_rows, check_rows, check_error, dry_run)
    if top_share is not None and not 0 < top_share <= 1:
        raise InputError(f"--top-share {top_share:g}: is outside 0 to 1; give a share, such as 0.2 for the best fifth")
    if top_share is not None and len(judge or []) > 1:
        raise InputError("--top-share selects by the scores of one judge; name only one")

    def check(judges: Sequence[judge_loading.NamedJudge]) -> None:
        if known_wrong is not None:
            _check_known_wrong(known_wrong, judges, columns, max_accepted)

    def run(file: Path, output: Path | None) -> None:
        judge_file(
            file,
            output,
            lambda: options.find_judges(judge or [], threshold, policy),
            columns=columns,
            by=by,
            prefix=prefix,
            force=force,
            check=check,
            is_conversation=conversation,
            top_share=top_share,
            limits=limits,
        )

    judging = (judge, threshold, policy, conversation, limits)
    choices = (*judging, sorted(columns.items()), by, top_share, prefix, known_wrong, max_accepted)
    use_copies(file, output, run, settings=choices, force=force or dry_run)


def write_example(path: Path) -> Path:
    """Write the answers of two imaginary models to five questions. Raises InputError: another file has that name."""
    text = Path(__file__).with_name(EXAMPLE).read_text("utf-8")
    if path.exists() and path.read_text("utf-8", errors="replace") != text:
        raise InputError(
            f"{path}: exists and is not the example; give the example another name: bert-judge score NAME.csv --example"
        )
    path.write_text(text, "utf-8")
    return path


def label(
    file: options.Answers,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Output file. Default: FILE.labelled.SUFFIX.")] = None,
    teacher: Annotated[
        str | None,
        typer.Option(help="Language model: hub id, folder, or name on the server; or a judge of a configuration, FILE.yaml:NAME."),
    ] = None,
    server: options.Server = None,
    reasoning: Annotated[bool, typer.Option(help="Let the model reason before its verdict.")] = True,
    question: options.Question = None,
    references: options.References = None,
    candidate: options.Candidate = None,
    model: options.ModelColumn = None,
    force: options.Force = False,
) -> None:
    """Label a file of answers with a teacher: append label_verdict, label_score and label_reason, for use by `train`."""
    if teacher is None:
        raise InputError("set --teacher MODEL, with or without --server, or --teacher FILE.yaml:NAME, a judge of a configuration")
    is_configured = teacher.rpartition(":")[0].endswith((".yaml", ".yml"))
    if is_configured and server is not None:
        raise InputError(f"--server: the judge {teacher} has its server in the configuration; leave it out")

    def find() -> list[judge_loading.JudgeReference]:
        disable_progress_bars()
        if is_configured:
            return judge_loading.find_judges([teacher])
        block = {"kind": "llm", "model": options.model_block(teacher, server, "hf"), "reasoning": reasoning}
        return [judge_loading.from_config({"judges": {TEACHER: block}}, TEACHER)]

    columns = options.without_none(question=question, references=references, candidate=candidate, model=model)
    tally = judge_file(file, output, find, columns=columns, prefix=LABEL_PREFIX, force=force, suffix=".labelled")
    if tally.reasons and not tally.decided:
        raise InputError(f"{file}: the teacher labelled no answer; fix what the reasons above name, and repeat with --force")


def judge_file(
    file: Path,
    output: Path | None,
    find: Callable[[], Sequence[judge_loading.JudgeReference]],
    *,
    columns: Mapping[str, str],
    by: str | None = None,
    prefix: str,
    force: bool,
    suffix: str = ".scored",
    check: Callable[[Sequence[judge_loading.NamedJudge]], None] = lambda judges: None,
    is_conversation: bool = False,
    top_share: float | None = None,
    limits: RequestLimits | None = None,
) -> Tally:
    """Append the verdicts of judges to a file, and print a summary.

    Args:
        output: by default the file's name with `suffix`.
        find: finds the judges, which are loaded after the file has been checked.
        columns: role → column, as named by the user; for `references` also a file of them.
        by: column of the groups of rows whose accuracies are printed too.
        prefix: of the new columns.
        check: raises for loaded judges that may not judge.
        is_conversation: the judges read whole conversations; see `make_column_reader`.
        top_share: of the rows that are written; see `score_file`.
        limits: of the requests to servers; None: all rows are asked about, without a plan.

    Raises:
        InputError: the file, its columns, the judge or the output is invalid; nothing was written.
        typer.Exit: of a dry run.
    """
    # Columns of the user mean that the file is read as plain rows, not as a framework's file; a file of references does not.
    answers = open_answers(file, is_plain=bool(columns.keys() - {"references"}))
    companion = Path(columns["references"]) if Path(columns.get("references", "")).is_file() else None
    companions = CompanionFiles(companion, is_conversation=is_conversation)
    if answers.framework is not None and columns and not (companions.references and answers.framework in NEEDS_REFERENCES):
        answers = open_answers(file, is_plain=True)
    if answers.rows is not None:
        container = answers.rows.container
        ending, name = container.output_suffix, file.name
        output = output or container.name.with_suffix(f"{suffix}{ending}")
    else:
        ending, name = ".jsonl", ROWS_NAME
        output = output or file.with_suffix(f"{suffix}{ending}")
    if output.suffix.lower() != ending.lower():
        raise InputError(f"{output}: is written in the format of {name}; let its name end in {ending}")
    is_dry_run = limits is not None and limits.dry_run
    # Fail early, before a judge is loaded.
    with tables.claim_output(output, file, force=force or is_dry_run):
        source = answers.rows or _convert(answers, work_folder(output), companions)
        references = find()
        if limits is not None:
            limits.check_use(references)
            references = [limits.set_price(reference) for reference in references]
        needs_references = any(reference.needs_references for reference in references)
        reader, labels = make_reader(
            answers, source, columns, by, needs_references=needs_references, is_conversation=is_conversation
        )
        group_of = _make_group_reader(source, reader, by)
        _check_rows(file, source, reader)
        for line in find_suspicious_input(source.sample, reader, is_framework=answers.framework is not None):
            log(f"warning: {line}")
        judges = [reference.load() for reference in references]
        if not is_dry_run:
            check(judges)
        for named in judges:
            _warn_about_kinds(file, named, source.sample, reader)
        if limits is not None:
            with progress("rows judged") as on_progress:
                judges = prepare_requests(judges, source, reader, work_folder(output), limits, on_progress)
        if is_dry_run:
            raise typer.Exit
        prefix = prefix or _choose_prefix(source, judges)
        with progress("rows judged") as on_progress:
            tally = score_file(
                source, reader, output, judges, prefix=prefix, group_of=group_of, on_progress=on_progress, top_share=top_share
            )
    _report(tally, judges, file, output, labels, by)
    report_second_judge(judges, limits.check_error if limits else 0.0)
    if answers.framework is None and tally.decided:
        if prefix == LABEL_PREFIX:
            log(f"next: bert-judge train {shlex.quote(str(output))} -o my-judge trains a judge on these labels")
        else:
            log(f"next: {_next_step(tally, judges, file, columns)}")
    return tally


def _convert(answers: AnswerFile, work: Path, companions: CompanionFiles) -> RowFile:
    """Convert a framework's document to a row file in the work folder, which is deleted when scoring is finished."""
    work_exists, rows = work.exists(), work / "source" / ROWS_NAME
    try:
        stats = convert_to_rows(answers.path, str(answers.framework), rows, companions)
    except InputError:
        if not work_exists:
            resume.clear(work)
        raise
    for line in stats.describe_losses():
        log(f"{answers.path}: {line}")
    return open_rows(rows)


def _choose_prefix(source: RowFile, judges: Sequence[judge_loading.NamedJudge]) -> str:
    """Return a prefix for the new columns if the file has one of their names, e.g. a reward called `score`."""
    existing = [name for name in output_columns(judges) if name in source.columns]
    if existing:
        log(f"{source.path}: has a column {existing[0]!r}; the new columns start with {PREFIX!r}; choose another with --prefix")
    return PREFIX if existing else ""


def _make_group_reader(source: RowFile, reader: RecordReader, by: str | None) -> GroupReader:
    """Return the function that reads the group of a row. Raises InputError: neither file has the column."""
    if by is None:
        return lambda record: ""
    companion = reader if isinstance(reader, JoiningReader) and by not in source.columns else None
    columns = companion.companion_columns if companion else source.columns
    if by.partition(".")[0] not in [column.partition(".")[0] for column in columns]:
        raise InputError(f"--by {by}: no such column; available: {', '.join(map(repr, columns[:40]))}")

    def group_of(record: Record) -> str:
        cell = (companion.find_companion(record) or {}).get(by) if companion else values.get_cell(record, by)
        return str(cell) if isinstance(cell, dict | list) else values.parse_text(cell)

    return group_of


def _check_rows(file: Path, source: RowFile, reader: RecordReader) -> None:
    """Refuse a file in which no row can be judged."""
    reasons: dict[str, None] = {}
    # The sample first, which is read already.
    for record in chain(source.sample, (record for _, record in source.records())):
        try:
            reader(record)
        except (values.SkippedRecord, values.UnreadableCell) as error:
            reasons.setdefault(str(error))
        else:
            return
    if (reason := next(iter(reasons))) == NO_REFERENCE:
        raise InputError(f"{file}: no reference in any row; fill their column, or name another with --references")
    raise InputError(f"{file}: no row can be judged: {reason}")


def _check_known_wrong(
    file: Path, judges: Sequence[judge_loading.NamedJudge], columns: Mapping[str, str], max_accepted: float
) -> None:
    """Print the share of known-wrong answers that each judge accepts; `columns` that the file lacks are detected.

    Raises:
        InputError: the file or its columns are invalid.
        typer.Exit: with code 3, a judge accepts more than `max_accepted`.
    """
    from bert_judge.statistics.intervals import proportion

    source = open_rows(file)
    named = {role: column for role, column in columns.items() if column in source.columns}
    needs_references = any(judge.needs_references for judge in judges)
    reader, _ = make_reader(AnswerFile(file, None, source), source, named, needs_references=needs_references)
    _check_rows(file, source, reader)
    records = [parse_record(reader, record) for _, record in source.records()]
    voided = False
    for judge in judges:
        labels = judge_rows(judge, [record.input for record in records])
        judged = [(label.verdict == "correct", record.question) for record, label in zip(records, labels, strict=True) if label]
        if not judged:
            raise InputError(f"--known-wrong {file}: no answer to judge")
        accepted = proportion(*zip(*judged, strict=True))
        share = f"{format_percent(accepted.value)}% {format_interval(accepted.low, accepted.high)}"
        echo(f"{judge.name}: accepts {share} of {len(judged):,} known-wrong answers")
        if accepted.value > max_accepted:
            log(f"error: {judge.name}: accepts {share} of {file}, and --max-accepted is {max_accepted:g}; nothing was scored")
            voided = True
    if voided:
        raise typer.Exit(3)


def _warn_about_kinds(file: Path, judge: judge_loading.NamedJudge, sample: Sequence[Record], reader: RecordReader) -> None:
    """Warn if most of the first rows are of kinds on which the judge was measured to be weak."""
    from bert_judge.encoder.judge_folder import read_unseen_auroc

    measured = {} if judge.folder is None else read_unseen_auroc(judge.folder)
    weak = {kind: auroc for kind, auroc in measured.items() if auroc < MIN_AUROC}
    if not weak:
        return
    rows = [row for record in sample if isinstance(row := parse_record(reader, record).input, Row)]
    counts = Counter(answer_kind(row.question, row.references, row.candidate) for row in rows)
    share = sum(counts[kind] for kind in weak) / max(len(rows), 1)
    if share > 0.5:
        kinds = ", ".join(f"{KINDS[kind]} (AUROC {weak[kind]:.2f})" for kind, _ in counts.most_common() if kind in weak)
        log(
            f"warning: {format_percent(share)}% of {file.name} are of a kind on which {judge.name} is weak on sources that it has "
            f"not seen: {kinds}; label 20 answers for bert-judge train, test it with bert-judge certify, or use an LLM judge"
        )


def _next_step(tally: Tally, judges: Sequence[judge_loading.NamedJudge], file: Path, columns: Mapping[str, str]) -> str:
    """Say what the labels of a file are good for or, without any, how to get some."""
    name, labelled = shlex.quote(str(file)), {judge: columns_of for judge, *columns_of in tally.labelled()}
    for judge in judges:
        card = {} if judge.folder is None else registry.read_card(judge.folder)
        if judge.name not in labelled or not card.get("stacker") or card.get("spec", {}).get("recalibrate"):
            continue
        verdicts, truth, questions = labelled[judge.name]
        if len(set(truth)) < 2 or len(set(questions)) < 2 or (verdicts == truth).all():
            continue
        start = {} if judge.folder == GENERAL_FOLDER else {"from": str(judge.folder)}
        named = " ".join(f"{column_option(role)} {shlex.quote(value)}" for role, value in {**start, **columns}.items())
        command = f"bert-judge train {name} -o my-judge {named}".rstrip()
        return (
            f"{len(truth):,} answers have a label; 20 can adapt {judge.name} to answers like these, in seconds, and a worse "
            f"judge is not kept: {command}"
        )
    if labelled:
        first = judges[0]
        judge_name = first.name if first.folder in (None, GENERAL_FOLDER) else shlex.quote(str(first.folder))
        return f"bert-judge certify {name} --judge {judge_name} tests on these labels whether the judge is good enough"
    return f"bert-judge audit {name} draws answers to label; a few labels correct these accuracies, and 20 adapt the judge"


def _report(
    tally: Tally, judges: Sequence[judge_loading.NamedJudge], file: Path, output: Path, labels: str, by: str | None
) -> None:
    """Print the accuracy per judge and model, and per group, the agreement with labels, and the reasons of invalid verdicts.

    If there are answers that attempt nothing, the tables have their metrics too.
    """
    # Lazy import: it loads scipy, which `--help` does not need.
    from bert_judge.statistics.intervals import proportion
    from bert_judge.statistics.metrics import cohen_kappa

    _print_accuracies(("judge", "model"), [(names, verdicts) for *names, verdicts in tally.by_model()])
    if by is not None:
        _print_accuracies(("judge", "model", by), [(names, verdicts) for *names, verdicts in tally.by_group()])
    for judge, num_seen, num_labels in tally.num_seen():
        log(f"{judge}: {num_seen:,} of {num_labels:,} labelled answers were used to train it, and are left out of its agreement")
    for judge, verdicts, truth, questions in tally.labelled():
        agreement, share = proportion(verdicts == truth, questions), float((truth == CORRECT).mean())
        echo(
            f"{judge}: agreement with {labels} {format_percent(agreement.value)}% "
            f"{format_interval(agreement.low, agreement.high)} on {len(truth):,} answers, "
            f"kappa {format_number(cohen_kappa(truth, verdicts), 2)}; the constant verdict "
            f"{'correct' if share >= 0.5 else 'incorrect'} agrees on {format_percent(max(share, 1 - share))}%"
        )
    for line in _describe_grades(tally, labels):
        log(line)
    for judge, accuracies in tally.label_accuracies():
        for line in describe_label_order(judge, accuracies, labels):
            log(line)
    for line in describe_uncertainty(tally, file, judges, by):
        log(line)
    _report_disagreements(tally)
    for reason, count in count_causes(tally.reasons.elements())[:MAX_REASONS]:
        echo(f"invalid: {count:,} × {reason}")
    for (judge, reason), count in tally.unfamiliar.items():
        log(f"warning: {judge}: {count:,} of {tally.rows:,} verdicts are on text {reason}; bring labels or another judge")
    skipped = f", {tally.skipped:,} of them without an answer to judge" if tally.skipped else ""
    written = f"{tally.rows:,}" if tally.written == tally.rows else f"{tally.written:,} of {tally.rows:,}"
    echo(f"{output}: {written} rows{skipped}")
    sys.stdout.flush()


def _describe_grades(tally: Tally, labels: str) -> Iterator[str]:
    """Say how the labels between 0 and 1 are counted."""
    if tally.undecided_labels:
        yield f"{labels}: {tally.undecided_labels:,} labels are 0.5, neither correct nor incorrect, and no agreement counts them"
    if tally.graded_labels:
        yield f"{labels}: {tally.graded_labels:,} labels are between 0 and 1; above 0.5 they count as correct, below as incorrect"


def _print_accuracies(headings: Sequence[str], lines: Sequence[tuple[Sequence[str], ModelVerdicts]]) -> None:
    """Print a table of accuracies with intervals: a line per judge and model, or per judge, model and group."""
    from bert_judge.statistics.intervals import proportion
    from bert_judge.statistics.metrics import attempt_metrics

    all_attempted = all(answers.attempted.all() for _, answers in lines)
    all_valid = all((answers.verdicts != INVALID).all() for _, answers in lines)
    ranges = [answers.range for _, answers in lines]
    models_compared: dict[tuple[str, ...], dict[str, AccuracyRange]] = {}
    for ((judge, model, *group), _), of_model in zip(lines, ranges, strict=True):
        models_compared.setdefault((judge, *group), {})[model] = of_model
    has_ranges = any(map(needs_ranges, models_compared.values()))
    numbers = ["answers", "accuracy, %"]
    numbers += ["range, %"] if has_ranges else []
    numbers += [] if all_valid else ["invalid, %", "of valid, %"]
    numbers += [] if all_attempted else ["attempted, %", "of attempted, %"]
    table = make_table(*headings, numbers=tuple(numbers))
    for (names, (verdicts, attempted, questions, _)), accuracy_range in zip(lines[:MAX_LINES], ranges, strict=False):
        correct, valid = verdicts == CORRECT, verdicts != INVALID
        accuracy, attempts = proportion(correct, questions), attempt_metrics(correct, attempted)
        of_valid = correct.sum() / valid.sum() if valid.any() else math.nan
        cells = [f"{len(verdicts):,}", f"{format_percent(accuracy.value)} {format_interval(accuracy.low, accuracy.high)}"]
        cells += [format_range(accuracy_range)] if has_ranges else []
        cells += [] if all_valid else [*map(format_percent, (1 - valid.mean(), of_valid))]
        cells += [] if all_attempted else [*map(format_percent, (attempts.attempted, attempts.accuracy_attempted))]
        table.add_row(*(name or "–" for name in names), *cells)
    console().print(table)
    if len(lines) > MAX_LINES:
        echo(f"and {len(lines) - MAX_LINES} more")


def _report_disagreements(tally: Tally) -> None:
    """Print on how many answers the judges disagree, and the rows on which they are surest."""
    pairs = sorted(tally.disagreements(), key=lambda pair: -(pair[2] + pair[3]))
    for judge, other, only_judge, only_other, decided in pairs[:MAX_PAIRS]:
        echo(
            f"{judge} and {other} disagree on {only_judge + only_other:,} of {decided:,} answers: "
            f"{only_judge:,} are correct for {judge} only, {only_other:,} for {other} only"
        )
    if not tally.surest:
        return
    table = make_table("row", "question", "answer", *tally.judges, numbers=(), title="Surest disagreements")
    for _, number, row, labels in tally.surest:
        texts = [shorten(text, MAX_CHARACTERS) for text in (row.question, row.candidate)]
        table.add_row(f"{number:,}", *texts, *(f"{label.verdict} {format_number(label.score, 2)}" for label in labels))
    console().print(table)
