"""`bert-judge train`: train a judge on a file of labelled answers."""

import json
import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from bert_judge import tables
from bert_judge.assets.prepare import GENERAL, find_gguf, resolve_model
from bert_judge.cli.options import (
    Candidate,
    Label,
    ModelColumn,
    Question,
    References,
    ShowConfig,
    drop_ambiguous_models,
    find_columns,
    without_none,
)
from bert_judge.cli.terminal import echo, format_percent, log, progress, refuse_module
from bert_judge.importers.frameworks import open_answers
from bert_judge.runtime import resume
from bert_judge.runtime.errors import InputError, describe_missing
from bert_judge.runtime.hardware import has_torch
from bert_judge.runtime.logs import disable_progress_bars

# A judge that is trained further needs smaller steps than an encoder with a new head.
FINE_TUNING = {"learning_rate": 3e-5, "epochs": 3.0}
JUDGE_FILE = "judge.json"
REQUIRED = ("question", "references", "candidate", "label")


def train(
    file: Annotated[Path, typer.Argument(help="Labelled answers with references in a file that score reads, or pairs.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder of the judge; its name is the judge's name.")],
    start: Annotated[
        str,
        typer.Option(
            "--from",
            help="Judge, encoder or language model to start from: general, minilm, hub id, folder, .gguf file or package:NAME.",
        ),
    ] = GENERAL,
    epochs: Annotated[float | None, typer.Option(min=0.01, help="Number of epochs.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Peak learning rate.")] = None,
    batch_size: Annotated[int | None, typer.Option(min=1, help="Rows per step.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the new layers and of the row order.")] = None,
    test: Annotated[float, typer.Option(min=0.01, max=0.9, help="Share of the questions held out as test set.")] = 0.2,
    validation: Annotated[float, typer.Option(min=0.01, max=0.9, help="Share of the others used for calibration.")] = 0.2,
    recalibrate: Annotated[
        bool | None,
        typer.Option(help="Refit only slope and offset of the logit. Default: with fewer than 150 labels.", show_default=False),
    ] = None,
    label: Label = None,
    grades: Annotated[
        tuple[float, float] | None,
        typer.Option(metavar="LOW HIGH", help="Range of the labels, if these are grades, such as 1 10.", show_default=False),
    ] = None,
    question: Question = None,
    references: References = None,
    candidate: Candidate = None,
    model: ModelColumn = None,
    show_config: ShowConfig = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an existing judge, and keep one that is no better than a rule.")
    ] = False,
) -> None:
    """Train a judge on a file of labelled answers and measure it on held-out questions.

    With 20 to 149 labels, the judge that it starts from is recalibrated, in seconds. A trained judge that is not better than the
    best rule and the majority class, or worse than the judge that it starts from, is not kept. An interrupted call resumes when
    repeated. For other settings, use --show-config and Snakemake.
    """
    name = output.resolve().name
    settings = without_none(epochs=epochs, learning_rate=learning_rate, batch_size=batch_size, seed=seed)
    named_columns = without_none(question=question, references=references, candidate=candidate, model=model, label=label)
    answers = open_answers(file, is_plain=bool(named_columns))
    is_pairs = answers.source is not None and {"answer_a", "answer_b"} <= set(answers.source.columns)
    if is_pairs and start == GENERAL:
        # It judges single answers.
        start = "minilm"
    origin = "base" if is_language_model(start) else "backbone"
    from bert_judge.cli import configurations
    from bert_judge.cli import train_stages as stages

    if name in (configurations.LABELS, configurations.LONGER, configurations.START, *configurations.RULE_BLOCKS):
        raise InputError(f"{output}: {name!r} is the name of a baseline; choose another folder name")
    if grades and is_pairs:
        raise InputError("--grades is for single answers; pairs have their grades in the columns grade_a and grade_b")
    if recalibrate and settings:
        raise InputError(f"--recalibrate trains nothing; leave out --{next(iter(settings)).replace('_', '-')}")
    if is_pairs:
        columns = without_none(question=question, references=references, label=label)
        block = {origin: start, "validation_fraction": validation, **({"training": settings} if settings else {})}
        raw = configurations.pair_training(file, columns, name, test, block)
        recalibrate = False
    else:
        rationale = ("rationale",) if origin == "base" else ()
        columns = find_columns(answers, named_columns, REQUIRED, optional=("model", *rationale))
        drop_ambiguous_models(answers, columns)
        is_judge = start == GENERAL or (Path(start) / JUDGE_FILE).is_file()
        training = {**(FINE_TUNING if is_judge else {}), **settings}
        block = {origin: start, **({"training": training} if training else {})}
        raw = configurations.training(file, columns, name, test, block, validation, is_judge=is_judge, grades=grades)
        rows = stages.read_labelled_rows(raw)
        if recalibrate is None:
            # Who sets the learning rate wants to train.
            recalibrate = is_judge and not settings and len(rows) < stages.MIN_TRAINING_LABELS
        if recalibrate:
            block = {"backbone": start, "recalibrate": True}
            raw = configurations.training(file, columns, name, test, block, validation, grades=grades)
    if show_config:
        echo(yaml.safe_dump(raw, sort_keys=False, allow_unicode=True), nl=False)
        return
    if not recalibrate and not has_torch():
        raise InputError(describe_missing("torch") or "")
    log("; ".join(f"{role}: {column!r}" for role, column in columns.items()))
    if not is_pairs and (halves := int((rows["label"] == 0.5).sum())):
        log(f"{file}: {halves:,} of {len(rows):,} labels are 0.5, half correct: trained on as such, correct in every agreement")
    disable_progress_bars()
    from bert_judge.labels.score_file import work_folder

    work = work_folder(output)
    _check_folder(output, work, force)
    with tables.exclusive(output):
        if is_pairs:
            with _log_training():
                folder, table, problem = stages.train_on_pairs(raw, name, work)
            echo(table)
            _publish(folder, output, work, problem, force)
        elif recalibrate:
            is_seen = stages.is_seen(rows, start)
            if is_seen.any():
                log(f"{file}: {is_seen.sum():,} of {len(rows):,} labelled answers were used to train {start}, and are left out")
            folder, metrics = stages.recalibrate(raw, name, rows[~is_seen], work)
            echo(_describe_recalibration(metrics))
            if metrics["accuracy"] == metrics["accuracy_before"]:
                log(f"no better than before: {start} as it is agrees with the labels as often; only the scores have changed")
            _publish(folder, output, work, _describe_loss(metrics, start), force)
        else:
            _train(raw, name, output, work, start, force)
    command = f"bert-judge {'compare' if is_pairs else 'score'} FILE --judge {output}"
    echo(f"{output}: the judge, its card README.md and its metrics; {command}")


def _train(raw: Mapping[str, Any], name: str, output: Path, work: Path, start: str, force: bool) -> None:
    """Train, print the comparison on the held-out questions, and publish the judge."""
    from bert_judge.cli import configurations
    from bert_judge.cli import train_stages as stages
    from bert_judge.cli.standings_tables import print_standings

    with _log_training():
        trained = stages.train(raw, name, work, start, force)
    baseline = [configurations.START] if trained.gain else []
    print_standings(trained.standings, judges=[configurations.LABELS, trained.best_rule, *baseline, name])
    if trained.gain:
        echo(f"{name}: {trained.gain}")
    if trained.questions < stages.FEW_TEST_QUESTIONS:
        log(f"warning: only {trained.questions} held-out questions: differences of a few points are chance; see the intervals")
    _publish(trained.folder, output, work, trained.problem, force)


def _describe_recalibration(metrics: Mapping[str, float]) -> str:
    before, after = (format_percent(metrics[key]) for key in ("accuracy_before", "accuracy"))
    return (
        f"recalibrated: slope {metrics['slope']:.2f}, offset {metrics['offset']:+.2f}; agreement with the {metrics['n']:.0f} "
        f"labels {after}% by cross-validation, {before}% before"
    )


def _describe_loss(metrics: Mapping[str, float], start: str) -> str | None:
    """Say that a recalibrated judge agrees with the labels less often than before; None if it does not."""
    if metrics["accuracy"] >= metrics["accuracy_before"]:
        return None
    return f"it agrees with the labels less often than {start} as it is; use --judge {start}"


def _publish(folder: Path, output: Path, work: Path, problem: str | None, force: bool) -> None:
    """Copy a judge from the work folder to its own, and clear the work folder; one with a problem only with `force`."""
    if problem and not force:
        raise InputError(f"do not use this judge: {problem}; label more answers, or repeat with --force to keep it")
    output.mkdir(exist_ok=True)
    # A folder counts as a judge by judge.json, so it comes last. Copies, so that a call after a kill finds the judge again.
    (output / JUDGE_FILE).unlink(missing_ok=True)
    for path in sorted(folder.iterdir(), key=lambda path: path.name == JUDGE_FILE):
        with tables.atomic(output / path.name) as temporary:
            shutil.copy2(path, temporary)
    resume.clear(work)
    if problem:
        log(f"warning: do not use this judge: {problem}")


def is_language_model(name: str) -> bool:
    """Return whether a name stands for a causal language model; its configuration is downloaded if needed."""
    if name in (GENERAL, "minilm") or (Path(name) / JUDGE_FILE).is_file():
        return False
    if find_gguf(name):
        return True
    folder, *_ = resolve_model(name, None, remote_code=False)
    architectures = json.loads((folder / "config.json").read_text("utf-8")).get("architectures") or []
    return any(architecture.endswith(("ForCausalLM", "LMHeadModel")) for architecture in architectures)


@contextmanager
def _log_training() -> Iterator[None]:
    """Show the steps of a training as a progress bar, and print warnings and the lines of this command on stderr."""
    package = logging.getLogger("bert_judge")
    level = package.level
    with progress("steps") as advance:
        handler = _TrainingHandler(advance)
        package.addHandler(handler)
        package.setLevel(logging.INFO)
        try:
            yield
        finally:
            package.removeHandler(handler)
            package.setLevel(level)


class _TrainingHandler(logging.Handler):
    """Pass the steps in the log of the trainer on to a progress bar."""

    def __init__(self, advance: Callable[[float, int], None]) -> None:
        super().__init__()
        self.advance, self.steps = advance, 0

    def emit(self, record: logging.LogRecord) -> None:
        fields = vars(record)
        if "total_steps" in fields:
            self.advance(fields["step"] / fields["total_steps"], fields["step"] - self.steps)
            self.steps = fields["step"]
        elif record.levelno >= logging.WARNING or record.name.startswith("bert_judge.cli"):
            log(f"{'warning: ' if record.levelno >= logging.WARNING else ''}{record.getMessage()}")


def _check_folder(folder: Path, work: Path, force: bool) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; choose a folder with -o")
    if not folder.absolute().parent.is_dir():
        raise InputError(f"{folder}: its folder does not exist; create it, or choose another with -o")
    if not os.access(folder.absolute().parent, os.W_OK):
        raise InputError(f"{folder}: its folder is read-only; choose another with -o")
    if not folder.is_dir() or not any(folder.iterdir()):
        return
    # A call that was killed while it copied the judge has left the work folder.
    if not (folder / JUDGE_FILE).is_file() and not work.is_dir():
        raise InputError(f"{folder}: contains files that are not a judge; choose another folder with -o")
    if not force and (folder / JUDGE_FILE).is_file():
        raise InputError(f"{folder}: contains a judge already; add --force to replace it, or choose another with -o")


if __name__ == "__main__":
    # The published program of this name.
    sys.exit(refuse_module("bert-judge train LABELLED -o FOLDER, or bert-judge run CONFIG"))
