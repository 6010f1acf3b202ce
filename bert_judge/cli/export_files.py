"""`bert-judge export`: accuracies and verdicts in the forms of other programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from bert_judge import tables
from bert_judge.cli.import_files import answers_of
from bert_judge.report.exporters import every_eval_ever, inspect_scores, label_requests, lm_eval, model_cards, results, text_tables
from bert_judge.report.exporters.results import Result
from bert_judge.runtime.errors import InputError

# Forms that are one file: of all accuracies, or of all rows. The others are a file per model in a folder.
LINES = ("inspect", "openai_batch", "every_eval_ever_instances")
PER_MODEL = ("lm_eval", "every_eval_ever", "model_index", "eval_results")
FORMS = (*text_tables.FORMS, *PER_MODEL, *LINES)


@dataclass(frozen=True)
class Request:
    """What the command line asked for; see `exchange.export`."""

    file: Path
    form: str
    output: Path
    judge: str | None = None
    datasets: Sequence[str] = ()
    teacher: str | None = None
    force: bool = False


def export(request: Request) -> None:
    """Write the export and say where.

    Raises:
        InputError: the source or the form makes no sense, or an output is there already; then nothing is written.
    """
    if request.form not in FORMS:
        raise InputError(f"--to {request.form}: unknown; there are {', '.join(FORMS)}")
    if request.form in LINES:
        _refuse(request, request.output)
        count = _write_lines(request.output, _lines(request))
        typer.echo(f"{request.output}: {count:,} lines")
        return
    found = results.load(request.file, request.judge)
    files = _documents(request, found)
    for path in files:
        _refuse(request, path)
    for path, content in files.items():
        with tables.atomic(path) as temporary:
            temporary.write_text(content, encoding="utf-8")
        typer.echo(str(path))


def _refuse(request: Request, path: Path) -> None:
    if path.resolve() == request.file.resolve():
        raise InputError(f"{path}: is the file that is read; name another with -o")
    if path.exists() and not request.force:
        raise InputError(f"{path}: is there already; add --force to write over it, or name another with -o")


def _lines(request: Request) -> Iterator[str]:
    if request.form == "openai_batch":
        if request.teacher is None:
            raise InputError("--teacher: none is named; say what the server calls the model that is to judge")
        return label_requests.lines(answers_of(request.file), request.teacher)
    rows = results.scored_rows(request.file, request.judge)
    if request.form == "inspect":
        return inspect_scores.lines(rows, str(request.file))
    return every_eval_ever.lines(rows, request.judge or "judge", every_eval_ever.moment_of(request.file))


def _write_lines(output: Path, lines: Iterable[str]) -> int:
    count = 0
    with tables.atomic(output) as temporary, temporary.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(line + "\n")
            count += 1
        if not count:
            raise InputError(f"{output}: there is nothing to export")
    return count


def _documents(request: Request, found: Sequence[Result]) -> dict[Path, str]:
    """File → content."""
    if request.form in text_tables.FORMS:
        return {request.output: text_tables.text(found, request.form)}
    datasets = _datasets(request.datasets, found)
    by_model: dict[str, list[Result]] = {}
    for result in found:
        by_model.setdefault(result.model, []).append(result)
    moment = every_eval_ever.moment_of(request.file)
    return {request.output / path: text for path, text in _per_model(request.form, by_model, datasets, moment)}


def _per_model(
    form: str, by_model: Mapping[str, Sequence[Result]], datasets: Mapping[str, str], moment: str
) -> Iterator[tuple[Path, str]]:
    for model, part in by_model.items():
        folder = Path(model.replace("/", "__"))
        match form:
            case "lm_eval":
                yield folder / f"results_{moment}.json", _json(lm_eval.document(part))
            case "every_eval_ever":
                yield folder / f"{moment}.json", _json(every_eval_ever.document(part, datasets, moment))
            case "model_index":
                yield folder / "model-index.yaml", model_cards.model_index(part, datasets)
            case _:
                if not any(result.task in datasets for result in part):
                    tasks = ", ".join(result.task for result in part)
                    raise InputError(f"{model}: no data set of the hub is known for {tasks}; say --dataset TASK=OWNER/NAME")
                yield folder / ".eval_results" / "bert_judge.yaml", model_cards.eval_results(part, datasets)


def _json(document: Mapping[str, object]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _datasets(told: Sequence[str], found: Sequence[Result]) -> dict[str, str]:
    """Task → data set of the hub: of published tasks, and as the user says."""
    from bert_judge.tasks.sources import published

    known = {task: source.repository for task, source in published().items() if source.repository}
    named: dict[str, str] = {task: name for task, name in known.items() if any(result.task == task for result in found)}
    for pair in told:
        task, sign, name = pair.partition("=")
        if not sign or name.count("/") != 1:
            raise InputError(f"--dataset {pair}: give TASK=OWNER/NAME")
        named[task] = name
    return named
