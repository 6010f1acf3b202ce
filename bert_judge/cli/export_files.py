"""Implement `bert-judge export`: accuracies and verdicts in the formats of other programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from bert_judge import tables
from bert_judge.cli.import_files import read_answers
from bert_judge.report.exporters import formats, results
from bert_judge.report.exporters.results import AccuracyResult
from bert_judge.report.format import TABLE_FORMATS
from bert_judge.runtime.errors import InputError

# Table and line formats are a single file, the others a file per model in a folder.
LINE_FORMATS = ("inspect", "openai_batch", "every_eval_ever_instances")
MODEL_FORMATS = ("lm_eval", "every_eval_ever", "model_index", "eval_results")
FORMATS = (*TABLE_FORMATS, *MODEL_FORMATS, *LINE_FORMATS)


@dataclass(frozen=True)
class ExportOptions:
    """Options of the command line."""

    file: Path
    form: str
    output: Path
    judge: str | None = None
    datasets: Sequence[str] = ()
    teacher: str | None = None
    force: bool = False


def export(options: ExportOptions) -> None:
    """Write the export and print its files.

    Raises:
        InputError: the source or the format is invalid, or an output exists; nothing is written then.
    """
    if options.form not in FORMATS:
        raise InputError(f"--to {options.form}: unknown; choose one of {', '.join(FORMATS)}")
    if options.form in LINE_FORMATS:
        _check_output(options, options.output)
        count = _write_lines(options.output, _lines(options))
        typer.echo(f"{options.output}: {count:,} lines")
        return
    files = _documents(options, results.load_results(options.file, options.judge))
    for path in files:
        _check_output(options, path)
    for path, content in files.items():
        with tables.atomic(path) as temporary:
            temporary.write_text(content, encoding="utf-8")
        typer.echo(str(path))


def _check_output(options: ExportOptions, path: Path) -> None:
    if path.resolve() == options.file.resolve():
        raise InputError(f"{path}: is the input file; choose another output with -o")
    if path.exists() and not options.force:
        raise InputError(f"{path}: already exists; add --force to overwrite it, or choose another output with -o")


def _lines(options: ExportOptions) -> Iterator[str]:
    if options.form == "openai_batch":
        if options.teacher is None:
            raise InputError("--teacher: required for --to openai_batch; set it to the teacher's name on the server")
        return formats.batch_request_lines(read_answers(options.file), options.teacher)
    rows = results.scored_rows(options.file, options.judge)
    if options.form == "inspect":
        return formats.inspect_lines(rows, str(options.file))
    return formats.eee_lines(rows, options.judge or "judge", formats.file_timestamp(options.file))


def _write_lines(output: Path, lines: Iterable[str]) -> int:
    count = 0
    with tables.atomic(output) as temporary, temporary.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(line + "\n")
            count += 1
        if not count:
            raise InputError(f"{output}: nothing to export; the input has no row with a verdict")
    return count


def _documents(options: ExportOptions, accuracies: Sequence[AccuracyResult]) -> dict[Path, str]:
    """Return file → content."""
    if options.form in TABLE_FORMATS:
        return {options.output: results.accuracy_table(accuracies, options.form)}
    datasets = _datasets(options.datasets, accuracies)
    by_model: dict[str, list[AccuracyResult]] = {}
    for result in accuracies:
        by_model.setdefault(result.model, []).append(result)
    timestamp = formats.file_timestamp(options.file)
    files = {}
    for model, model_results in by_model.items():
        name, content = _model_document(options.form, model_results, datasets, timestamp)
        files[options.output / model.replace("/", "__") / name] = content
    return files


def _model_document(
    form: str, model_results: Sequence[AccuracyResult], datasets: Mapping[str, str], timestamp: str
) -> tuple[str, str]:
    """Return the file name and the content of one model's document."""
    match form:
        case "lm_eval":
            return f"results_{timestamp}.json", _to_json(formats.lm_eval_document(model_results))
        case "every_eval_ever":
            return f"{timestamp}.json", _to_json(formats.eee_document(model_results, datasets, timestamp))
        case "model_index":
            return "model-index.yaml", formats.model_index(model_results, datasets)
        case _:
            if not any(result.task in datasets for result in model_results):
                tasks = ", ".join(result.task for result in model_results)
                raise InputError(f"{model_results[0].model}: no hub dataset known for {tasks}; add --dataset TASK=OWNER/NAME")
            return ".eval_results/bert_judge.yaml", formats.eval_results(model_results, datasets)


def _to_json(document: Mapping[str, object]) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _datasets(options: Sequence[str], accuracies: Sequence[AccuracyResult]) -> dict[str, str]:
    """Return task → dataset on the hub, for built-in tasks and `TASK=OWNER/NAME` options."""
    from bert_judge.tasks.sources import published_sources

    tasks = {result.task for result in accuracies}
    datasets: dict[str, str] = {
        task: source.repository for task, source in published_sources().items() if source.repository and task in tasks
    }
    for option in options:
        task, separator, name = option.partition("=")
        if not separator or name.count("/") != 1:
            raise InputError(f"--dataset {option}: expected TASK=OWNER/NAME")
        datasets[task] = name
    return datasets
