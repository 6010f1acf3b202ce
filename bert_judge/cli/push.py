"""`bert-judge push`: a trained judge as a folder that a hub takes, and on the hub when that is asked for."""

from __future__ import annotations

from pathlib import Path

import typer

from bert_judge.labels.score_file.judge_loading import JUDGES
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.logs import disable_progress_bars


def push(judge: str, output: Path | None = None, to: str | None = None, private: bool = False, attacks: Path | None = None) -> None:
    """Write the folder, and upload it.

    Args:
        judge: a folder, or the name of a trained judge of this run.
        output: the folder to write; `results/hub/NAME` when left out.
        to: repository on the hub, `owner/name`; nothing is uploaded without one.
        private: of a repository that is made.
        attacks: how often the judge is fooled, a table of `snakemake attacks` or `bert-judge attack`; when left out that of this
            run, if it is there and younger than the judge.

    Raises:
        InputError: no such judge, a folder that is there already, or the hub refuses.
    """
    if to is not None and to.count("/") != 1:
        raise InputError(f"--to {to}: give OWNER/NAME")
    source = JUDGES / judge if (JUDGES / judge).is_dir() else Path(judge).expanduser()
    folder = output or Path("results/hub") / source.resolve().name
    disable_progress_bars()
    # Only now: it loads torch.
    from bert_judge.report.exporters import attack_table, hub_folder

    name, table = source.resolve().name, attacks or _rates_of_run(source)
    rates = None if table is None else attack_table.of_judge(table, name)
    if attacks is not None and rates is not None and rates.empty:
        raise InputError(f"{attacks}: no rates of {name}; try it with bert-judge attack, or leave out --attacks")
    difference = hub_folder.write(source, folder, to, None if rates is None or rates.empty else rates)
    typer.echo(f"{folder}: {sum(file.stat().st_size for file in folder.rglob('*') if file.is_file()) / 1e6:.1f} MB")
    typer.echo(f"transformers alone gives the judge's raw scores (largest difference {difference:.1e})")
    if to is not None:
        typer.echo(_upload(folder, to, private))


def _rates_of_run(source: Path) -> Path | None:
    """The attack rates of the run that trained a judge, if they are of this training."""
    rates, card = source.parent.parent / "attacks" / "rates.parquet", source / "judge.json"
    fresh = rates.is_file() and card.is_file() and rates.stat().st_mtime >= card.stat().st_mtime
    return rates if fresh else None


def _upload(folder: Path, to: str, private: bool) -> str:
    import huggingface_hub
    from huggingface_hub import errors

    from bert_judge.assets import hub

    api = huggingface_hub.HfApi()
    try:
        api.create_repo(to, private=private, exist_ok=True)
        return str(api.upload_folder(repo_id=to, folder_path=folder, commit_message="A judge of answers, by bert-judge"))
    except (OSError, errors.HTTPError, errors.HFValidationError) as error:
        raise InputError(f"{hub.fault(error, to, None)}; {folder} is whole and can be uploaded by hand") from error
