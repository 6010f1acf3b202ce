"""The program `bert-judge`.

Commands import what they need when they run, so `--help` and bad input respond at once.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from bert_judge import __version__
from bert_judge.cli import commands
from bert_judge.runtime.errors import InputError


class _Group(TyperGroup):
    """Print bad input as lines on stderr and exit with code 1, instead of a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except InputError as error:
            for line in str(error).splitlines():
                typer.echo(f"error: {line}", err=True)
            raise typer.Exit(1) from error


app = typer.Typer(
    cls=_Group,
    help="Score the answers of language models with a small trained judge. Whole runs are started with Snakemake.",
    epilog="Start with: bert-judge score answers.csv",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


app.command()(commands.score)
app.command(cls=commands.PredictCommand)(commands.predict)
app.command("import")(commands.import_)
app.command()(commands.export)
app.command()(commands.push)
app.command()(commands.generate)
app.command()(commands.label)
app.command()(commands.train)
app.command()(commands.serve)

tasks_app = typer.Typer(cls=_Group, help="List and check tasks.", no_args_is_help=True)
app.add_typer(tasks_app, name="tasks")


class GeneratedFile(StrEnum):
    """Files generated from the configuration model."""

    default = "default"
    schema = "schema"
    docs = "docs"


def _version(show_version: bool) -> None:
    if show_version:
        typer.echo(f"bert-judge {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)] = False,
) -> None:
    pass


@app.command()
def show(
    file: Annotated[
        Path, typer.Argument(help="Table, file of answers (CSV, JSON lines), summary (.json) or folder of a trained judge.")
    ],
    rows: Annotated[int, typer.Option("--rows", "-n", min=0, help="Number of rows to print.")] = 5,
) -> None:
    """Print what a file of a run is, the settings that produced it, its columns and its first rows."""
    from bert_judge.cli.show_file import show as print_it

    print_it(file, rows)


@app.command()
def standings(
    file: Annotated[Path, typer.Argument(help="Standings of a run.")] = Path("results/standings.parquet"),
    task: Annotated[str | None, typer.Option("--task", "-t", help="Show this task only.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Plot to this .png, .svg or .pdf file instead.")] = None,
    form: Annotated[str | None, typer.Option("--format", "-f", help="Print as markdown, csv or latex instead.")] = None,
) -> None:
    """Print the accuracy of every model under every judge, and each judge's agreement with the gold labels."""
    if plot is not None:
        from bert_judge.report.plot import save_standings_plot

        save_standings_plot(file, plot)
    elif form is not None:
        from bert_judge.report.exports import export_standings

        typer.echo(export_standings(file, form, task), nl=False)
    else:
        from bert_judge.cli.show_standings import show as print_it

        print_it(file, task)


@app.command()
def check(
    files: Annotated[list[Path], typer.Argument(help="Configuration files; later ones override earlier ones.")],
    data: Annotated[Path | None, typer.Option(help="Folder of imported files, as with --config data=FOLDER.")] = None,
) -> None:
    """Validate a configuration; report every error, or count what a run would produce."""
    from bert_judge.cli.check_config import check as check_it

    typer.echo(check_it(files, data))


@app.command()
def cost(
    labels: Annotated[list[Path], typer.Argument(help="Label tables, or folders of them such as results/labels/teacher.")],
    config: Annotated[list[Path] | None, typer.Option("--config", "-c", help="Configuration with the prices.")] = None,
) -> None:
    """Print tokens, cost and seconds per 1,000 verdicts of each judge."""
    from bert_judge.cli.show_cost import show as print_it

    print_it(labels, config or [])


@app.command()
def attack(
    judge: Annotated[str, typer.Option(help="Folder of a trained judge, or name of a judge in the configuration.")],
    task: Annotated[str, typer.Option("--task", "-t", help="Task to take questions from: a name, or the path of its table.")],
    rows: Annotated[int, typer.Option(min=1, help="Number of questions.")] = 150,
    seed: Annotated[int, typer.Option(help="Seed of the question sample and of the attacks.")] = 0,
    configfile: Annotated[list[Path], typer.Option("--configfile", "-c", help="The configuration.")] = [Path("config.yaml")],  # noqa: B006
    output: Annotated[Path | None, typer.Option(help="Output folder.")] = None,
) -> None:
    """Attack a judge with incorrect answers that claim to be correct, and with correct answers in unusual formats."""
    from bert_judge.cli.attack import show as print_it

    print_it(judge, task, rows, seed, configfile, output)


@app.command()
def plan(
    targets: Annotated[list[str] | None, typer.Argument(help="Snakemake targets; default: everything.")] = None,
    configfile: Annotated[list[Path] | None, typer.Option("--configfile", "-c", help="The configuration.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of imported files, as with --config data=FOLDER.")] = None,
) -> None:
    """Print what a run would do: jobs per rule, and the remaining rows, tokens and GPU hours per model and judge."""
    from bert_judge.cli.show_plan import show as print_it

    print_it(configfile or [], targets or [], data)


@app.command()
def doctor(
    profile: Annotated[Path, typer.Option(help="Profile whose partitions are checked.")] = Path("profiles/slurm"),
) -> None:
    """Check that this machine has what a run needs: versions, GPUs, disk, hub, vLLM, SLURM and its partitions."""
    from bert_judge.cli.check_machine import show as print_it

    if not print_it(profile):
        raise typer.Exit(1)


@app.command()
def config(
    file: Annotated[GeneratedFile, typer.Argument(help="The commented config.yaml, the JSON schema, or the reference in docs/.")],
    write: Annotated[bool, typer.Option("--write", help="Write the file in this repository instead of printing it.")] = False,
) -> None:
    """Print or write a file generated from the configuration model."""
    from bert_judge.config import docs as config_docs

    if write:
        typer.echo(f"wrote {config_docs.write(file.value)}")
    else:
        typer.echo(config_docs.generate(file.value), nl=False)


@app.command()
def requests(
    model: Annotated[str, typer.Argument(help="Model behind a server.")],
    task: Annotated[str, typer.Argument(help="Task whose table is in results/tasks.")],
    configfile: Annotated[list[Path], typer.Option(help="The configuration.")] = [Path("config.yaml")],  # noqa: B006
) -> None:
    """Print requests for missing answers, one per line, in the format of batch APIs."""
    from bert_judge.cli.batch_files import requests as lines

    for line in lines(configfile, model, task):
        typer.echo(line)


@app.command()
def responses(
    model: Annotated[str, typer.Argument(help="Model behind a server.")],
    task: Annotated[str, typer.Argument(help="Task of the requests.")],
    file: Annotated[Path, typer.Argument(help="Responses, one per line.")],
    configfile: Annotated[list[Path], typer.Option(help="The configuration.")] = [Path("config.yaml")],  # noqa: B006
) -> None:
    """Import responses; the next run uses them and generates only what is missing."""
    from bert_judge.cli.batch_files import responses as take

    typer.echo(take(configfile, model, task, file))


@tasks_app.command("list")
def list_tasks() -> None:
    """List all named tasks with their family and source."""
    from bert_judge.cli.tasks import list_tasks as task_lines

    for line in task_lines():
        typer.echo(line)


@tasks_app.command("check")
def check_tasks(
    names: Annotated[list[str] | None, typer.Argument(help="Task names; default: all that have a dataset.")] = None,
    configfile: Annotated[list[Path] | None, typer.Option(help="Configuration whose sources are checked too.")] = None,
    rows: Annotated[int, typer.Option(min=1, help="Number of rows to map per dataset.")] = 100,
) -> None:
    """Download datasets, as `prepare` does, and check that their first rows give questions. Needs a network or copies."""
    from bert_judge.cli.tasks import check_tasks as check_results

    all_valid = True
    for valid, line in check_results(names or [], configfile or [], rows):
        all_valid = all_valid and valid
        typer.echo(line, err=not valid)
    if not all_valid:
        raise typer.Exit(1)
