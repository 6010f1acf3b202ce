"""`bert-judge audit`: one round of an audit: read the labels, update the estimates, draw the next answers."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer
import yaml

from bert_judge.cli.options import DataFolder, Settings, parse_settings, read_config
from bert_judge.cli.run import snakemake_command
from bert_judge.cli.terminal import log
from bert_judge.runtime.errors import InputError

FOLDER = Path("results/audit")


def audit(
    config: Annotated[Path, typer.Argument(help="A configuration with an audit block.")],
    labels: Annotated[
        list[Path] | None,
        typer.Option("--labels", help="Filled sheet; the same as audit.labels. Repeatable: rounds and annotators."),
    ] = None,
    cores: Annotated[int | None, typer.Option(min=1, help="CPU cores to use; default: all of this machine.")] = None,
    settings: Settings = None,
    data: DataFolder = None,
) -> None:
    """Do one round of an audit: read the filled sheets, print who is better and what to label next, and draw the next sheet.

    The same as bert-judge run CONFIG audit, with the results printed.
    """
    overrides = list(settings or [])
    if labels:
        block = {**(parse_settings(settings, None).get("audit") or {}), "labels": [str(path) for path in labels]}
        overrides.append(f"audit={yaml.safe_dump(block, default_flow_style=True, width=10**6).strip()}")
    command = snakemake_command(config, ["audit"], cores=cores, settings=overrides, data=data)
    if not read_config([config], overrides)[1].get("audit"):
        raise InputError(f"{config}: no audit block; add audit: {{judge: NAME}}, with a judge of scorers")
    sys.stdout.flush()
    # Snakemake's own lines go to stderr.
    if code := subprocess.run(command, stdout=sys.stderr, check=False).returncode:
        raise typer.Exit(code)
    from bert_judge.cli.show_standings import show_audit

    if (FOLDER / "corrected_accuracy.parquet").is_file():
        show_audit(FOLDER)
    log(f"next answers to label: {FOLDER / 'sheet.html'} (or sheet.csv); then repeat with --labels FILE added to the earlier ones")
