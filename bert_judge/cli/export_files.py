"""`bert-judge export` and `push`: accuracies and verdicts in the formats of other programs, and a judge as a folder for the hub."""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from bert_judge import tables
from bert_judge.assets.prepare import GENERAL, GENERAL_FOLDER
from bert_judge.cli.options import Force
from bert_judge.cli.terminal import echo
from bert_judge.labels.judge_loading import JUDGES, trained_judges
from bert_judge.report import program_formats, results
from bert_judge.report.format import TABLE_FORMATS
from bert_judge.report.results import AccuracyResult
from bert_judge.runtime.errors import InputError, suggest
from bert_judge.runtime.logs import disable_progress_bars

# A file per model in a folder; the other formats are a single file.
MODEL_FORMATS = ("lm_eval", "model_index", "eval_results")
FORMATS = (*TABLE_FORMATS, *MODEL_FORMATS, "inspect")


def export(
    file: Annotated[Path, typer.Argument(help="The standings of a run, or a file that `score` wrote.")],
    to: Annotated[
        str,
        typer.Option(
            help="csv, markdown, latex: a table of accuracies. lm_eval, model_index, eval_results: a file per model in a "
            "folder. inspect: a line per answer."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Output file, or folder for one file per model.")],
    judge: Annotated[str | None, typer.Option("--judge", "-j", help="Judge to export, if there are several.")] = None,
    dataset: Annotated[list[str] | None, typer.Option(help="TASK=OWNER/NAME: dataset of a task on the hub. Repeatable.")] = None,
    force: Force = False,
) -> None:
    """Export accuracies and verdicts in the formats of other programs."""
    if to not in FORMATS:
        raise InputError(f"--to {to}: unknown; choose one of {', '.join(FORMATS)}")
    if to == "inspect":
        with tables.claim_output(output, file, force=force):
            count = _write_lines(output, program_formats.inspect_lines(results.scored_rows(file, judge), str(file)))
        echo(f"{output}: {count:,} lines")
        return
    accuracies = results.load_results(file, judge)
    if to in TABLE_FORMATS:
        documents = {output: program_formats.accuracy_table(accuracies, to)}
    else:
        by_model = _model_documents(to, accuracies, _datasets(dataset or [], accuracies), f"{file.stat().st_mtime:.0f}")
        documents = {output / path: content for path, content in by_model.items()}
    with ExitStack() as claims:
        for path in documents:
            claims.enter_context(tables.claim_output(path, file, force=force, parents=to in MODEL_FORMATS))
        for path, content in documents.items():
            with tables.atomic(path) as temporary:
                temporary.write_text(content, encoding="utf-8")
            echo(str(path))


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
        folder = Path(model.replace("/", "__"))
        match form:
            case "lm_eval":
                document = json.dumps(program_formats.lm_eval_document(model_results), indent=2, ensure_ascii=False) + "\n"
                documents[folder / f"results_{timestamp}.json"] = document
            case "model_index":
                documents[folder / "model-index.yaml"] = program_formats.model_index(model_results, datasets)
            case _:
                documents[folder / ".eval_results" / "bert_judge.yaml"] = program_formats.eval_results(model_results, datasets)
    return documents


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


def push(
    judge: Annotated[str, typer.Argument(help="general, name of a trained judge in results/judges, or its folder.")],
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Output folder. Default: results/hub/JUDGE.")] = None,
    to: Annotated[str | None, typer.Option(help="Repository on the hub, OWNER/NAME. Without it, nothing is uploaded.")] = None,
    private: Annotated[bool, typer.Option("--private", help="Create a private repository.")] = False,
    attacks: Annotated[
        Path | None,
        typer.Option(help="Table of attack rates for the model card. Default: the run's own, if newer than the judge."),
    ] = None,
) -> None:
    """Write a judge as a folder for the hub that transformers and sentence-transformers load with the same scores."""
    if to is not None and to.count("/") != 1:
        raise InputError(f"--to {to}: expected OWNER/NAME")
    source = JUDGES / judge if (JUDGES / judge).is_dir() else Path(judge).expanduser()
    if judge == GENERAL:
        source = GENERAL_FOLDER
    if not source.is_dir():
        known_names = [GENERAL, *trained_judges(JUDGES)]
        raise InputError(f"{judge}: no such folder, and no trained judge of that name in {JUDGES}; {suggest(judge, known_names)}")
    folder = output or Path("results/hub") / source.resolve().name
    disable_progress_bars()
    from bert_judge.report import hub_folder

    name, table = source.resolve().name, attacks or _run_attack_rates(source)
    rates = None if table is None else hub_folder.read_attack_rates(table, name)
    if attacks is not None and rates is not None and rates.empty:
        raise InputError(f"{attacks}: no attack rates of {name}; run bert-judge attack, or omit --attacks")
    difference = hub_folder.write(source, folder, to, None if rates is None or rates.empty else rates)
    echo(f"{folder}: {sum(file.stat().st_size for file in folder.rglob('*') if file.is_file()) / 1e6:.1f} MB")
    echo(f"verified: transformers alone gives the judge's raw scores (largest difference {difference:.1e})")
    if to is not None:
        echo(_upload(folder, to, private))


def _run_attack_rates(source: Path) -> Path | None:
    """Return the attack rates of the run that trained a judge, if they are newer than the judge."""
    rates, card = source.parent.parent / "attacks" / "rates.parquet", source / "judge.json"
    is_current = rates.is_file() and card.is_file() and rates.stat().st_mtime >= card.stat().st_mtime
    return rates if is_current else None


def _upload(folder: Path, to: str, private: bool) -> str:
    import huggingface_hub
    from huggingface_hub import errors

    from bert_judge.assets import hub

    api = huggingface_hub.HfApi()
    try:
        api.create_repo(to, private=private, exist_ok=True)
        return str(api.upload_folder(repo_id=to, folder_path=folder, commit_message="Upload judge trained with bert-judge"))
    except (OSError, errors.HTTPError, errors.HFValidationError) as error:
        raise InputError(f"{hub.describe_error(error, to, None)}; {folder} is complete and can be uploaded manually") from error
