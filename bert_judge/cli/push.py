"""Implement `bert-judge push`: export a trained judge as a hub folder and optionally upload it."""

from pathlib import Path
from typing import Annotated

import typer

from bert_judge.assets.prepare import GENERAL, GENERAL_FOLDER
from bert_judge.cli.terminal import echo
from bert_judge.labels.judge_loading import JUDGES
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import disable_progress_bars


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
    folder = output or Path("results/hub") / source.resolve().name
    disable_progress_bars()
    from bert_judge.report.exporters import hub_folder

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
