"""Implement `bert-judge export`: accuracies and verdicts in the formats of other programs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from bert_judge import tables
from bert_judge.cli.import_files import read_answers
from bert_judge.cli.options import Force
from bert_judge.report.exporters import formats, results
from bert_judge.report.exporters.results import AccuracyResult
from bert_judge.report.format import TABLE_FORMATS
from bert_judge.runtime.errors import InputError

# Table and line formats are a single file, the others a file per model in a folder.
LINE_FORMATS = ("inspect", "openai_batch", "every_eval_ever_instances")
MODEL_FORMATS = ("lm_eval", "every_eval_ever", "model_index", "eval_results")
FORMATS = (*TABLE_FORMATS, *MODEL_FORMATS, *LINE_FORMATS)


def export(
    file: Annotated[Path, typer.Argument(help="The standings of a run, or a file that `score` wrote; for openai_batch, answers.")],
    to: Annotated[
        str,
        typer.Option(
            help="csv, markdown, latex: a table of accuracies. lm_eval, every_eval_ever, model_index, eval_results: a file per "
            "model in a folder. inspect, every_eval_ever_instances, openai_batch: a line per answer."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Output file, or folder for one file per model.")],
    judge: Annotated[str | None, typer.Option("--judge", "-j", help="Judge to export, if there are several.")] = None,
    dataset: Annotated[list[str] | None, typer.Option(help="TASK=OWNER/NAME: dataset of a task on the hub. Repeatable.")] = None,
    teacher: Annotated[str | None, typer.Option(help="For openai_batch: name of the judging model on the server.")] = None,
    force: Force = False,
) -> None:
    """Export accuracies and verdicts in the formats of other programs."""
    if to not in FORMATS:
        raise InputError(f"--to {to}: unknown; choose one of {', '.join(FORMATS)}")
    if to in LINE_FORMATS:
        tables.check_output(output, file, force=force)
        count = _write_lines(output, _lines(file, to, judge, teacher))
        typer.echo(f"{output}: {count:,} lines")
        return
    accuracies = results.load_results(file, judge)
    if to in TABLE_FORMATS:
        documents = {output: results.accuracy_table(accuracies, to)}
    else:
        by_model = _model_documents(to, accuracies, _datasets(dataset or [], accuracies), formats.file_timestamp(file))
        documents = {output / path: content for path, content in by_model.items()}
    for path in documents:
        tables.check_output(path, file, force=force, parents=to in MODEL_FORMATS)
    for path, content in documents.items():
        with tables.atomic(path) as temporary:
            temporary.write_text(content, encoding="utf-8")
        typer.echo(str(path))


def _lines(file: Path, form: str, judge: str | None, teacher: str | None) -> Iterator[str]:
    if form == "openai_batch":
        if teacher is None:
            raise InputError("--teacher: required for --to openai_batch; set it to the teacher's name on the server")
        return formats.batch_request_lines(read_answers(file), teacher)
    rows = results.scored_rows(file, judge)
    if form == "inspect":
        return formats.inspect_lines(rows, str(file))
    return formats.eee_lines(rows, judge or "judge", formats.file_timestamp(file))


def _write_lines(output: Path, lines: Iterable[str]) -> int:
    count = 0
    with tables.atomic(output) as temporary, temporary.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(line + "\n")
            count += 1
        if not count:
            raise InputError(f"{output}: nothing to export; the input has no row with a verdict")
    return count


def _model_documents(
    form: str, accuracies: Sequence[AccuracyResult], datasets: Mapping[str, str], timestamp: str
) -> dict[Path, str]:
    """Return file in the output folder → content."""
    by_model: dict[str, list[AccuracyResult]] = {}
    for result in accuracies:
        by_model.setdefault(result.model, []).append(result)
    documents = {}
    for model, model_results in by_model.items():
        name, content = _model_document(form, model_results, datasets, timestamp)
        documents[Path(model.replace("/", "__"), name)] = content
    return documents


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
    from bert_judge.tasks.registry import published_sources

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
