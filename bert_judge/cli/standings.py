"""`bert-judge standings`: print, plot or export the standings of a run."""

from pathlib import Path
from typing import Annotated

import typer

from bert_judge.cli.standings_tables import print_standings
from bert_judge.cli.terminal import echo


def standings(
    file: Annotated[Path, typer.Argument(help="Standings of a run.")] = Path("results/standings.parquet"),
    task: Annotated[str | None, typer.Option("--task", "-t", help="Show this task only.")] = None,
    judge: Annotated[list[str] | None, typer.Option("--judge", "-j", help="Show this judge only. Repeatable.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Plot to this .png, .svg or .pdf file instead.")] = None,
    form: Annotated[str | None, typer.Option("--format", "-f", help="Print as markdown, csv or latex instead.")] = None,
) -> None:
    """Print the accuracy of every model under every judge, and each judge's agreement with the gold labels."""
    if plot is not None:
        from bert_judge.report.exports import save_standings_plot

        save_standings_plot(file, plot)
    elif form is not None:
        from bert_judge.report.exports import export_standings

        echo(export_standings(file, form, task), nl=False)
    else:
        print_standings(file, task, judge or [])
