"""The program `bert-judge`: looks at what a run made, checks configurations, writes what is generated from their model.

Commands import what they need when they run, so that `--help` and bad input answer at once.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from bert_judge import __version__
from bert_judge.cli import file_commands, pipeline_commands
from bert_judge.cli.serve import serve as serve_command
from bert_judge.runtime.errors import InputError


class _Group(TyperGroup):
    """Bad input ends in its lines on stderr and exit code 1, not in a traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except InputError as error:
            for line in str(error).splitlines():
                typer.echo(f"error: {line}", err=True)
            raise typer.Exit(1) from error


app = typer.Typer(
    cls=_Group,
    help="Scores language models' answers with a small trained judge: files of them by this program, whole runs by Snakemake.",
    epilog="Begin with: bert-judge score answers.csv",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


app.command()(file_commands.score)
app.command()(file_commands.predict)
app.command("import")(file_commands.import_)
app.command()(file_commands.export)
app.command()(file_commands.push)
app.command()(pipeline_commands.generate)
app.command()(pipeline_commands.label)
app.command()(pipeline_commands.train)
app.command("serve")(serve_command)

tasks_app = typer.Typer(cls=_Group, help="The tasks that a configuration may name.", no_args_is_help=True)
app.add_typer(tasks_app, name="tasks")


class Part(StrEnum):
    """What is generated from the configuration model."""

    default = "default"
    schema = "schema"
    docs = "docs"


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bert-judge {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)] = False,
) -> None:
    pass


@app.command()
def show(
    file: Annotated[Path, typer.Argument(help="A table (.parquet), a summary (.json) or the folder of a trained judge.")],
    rows: Annotated[int, typer.Option("--rows", "-n", min=0, help="How many rows of a table to print.")] = 5,
) -> None:
    """What a file of a run is, where it came from, what its columns mean, and its first rows."""
    from bert_judge.cli.show_file import show as print_it

    print_it(file, rows)


@app.command()
def standings(
    file: Annotated[Path, typer.Argument(help="The standings of a run.")] = Path("results/standings.parquet"),
    task: Annotated[str | None, typer.Option("--task", "-t", help="Only the accuracies on this task.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw them into this .png, .svg or .pdf instead.")] = None,
    form: Annotated[str | None, typer.Option("--format", "-f", help="Print them as markdown, csv or latex instead.")] = None,
) -> None:
    """Accuracy per model under each judge, and how far each judge agrees with the gold labels."""
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
    files: Annotated[list[Path], typer.Argument(help="Configuration files; a later one's keys go over an earlier one's.")],
    data: Annotated[Path | None, typer.Option(help="Folder of the imported files, as with --config data=FOLDER.")] = None,
) -> None:
    """Say everything that is wrong with a configuration, or what a run of it makes."""
    from bert_judge.cli.check_config import check as check_it

    typer.echo(check_it(files, data))


@app.command()
def cost(
    labels: Annotated[list[Path], typer.Argument(help="Label tables, or folders of them, such as results/labels/teacher.")],
    config: Annotated[list[Path] | None, typer.Option("--config", "-c", help="Configuration file with the prices.")] = None,
) -> None:
    """Tokens, money and seconds per 1,000 verdicts of each judge."""
    from bert_judge.cli.show_cost import show as print_it

    print_it(labels, config or [])


@app.command()
def attack(
    judge: Annotated[str, typer.Option(help="Folder of a trained judge, or name of a judge of the configuration.")],
    task: Annotated[str, typer.Option("--task", "-t", help="Task whose questions are used: its name, or the path of its table.")],
    rows: Annotated[int, typer.Option(min=1, help="How many of its questions.")] = 150,
    seed: Annotated[int, typer.Option(help="Another seed, other questions and other draws.")] = 0,
    configfile: Annotated[list[Path], typer.Option("--configfile", "-c", help="The configuration.")] = [Path("config.yaml")],  # noqa: B006
    output: Annotated[Path | None, typer.Option(help="Folder for the tables it makes.")] = None,
) -> None:
    """Try to fool a judge: wrong answers that claim to be right, right ones in unusual dress."""
    from bert_judge.cli.attack import show as print_it

    print_it(judge, task, rows, seed, configfile, output)


@app.command()
def plan(
    targets: Annotated[list[str] | None, typer.Argument(help="Targets, as for Snakemake; everything when left out.")] = None,
    configfile: Annotated[list[Path] | None, typer.Option("--configfile", "-c", help="The configuration.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder of the imported files, as with --config data=FOLDER.")] = None,
) -> None:
    """What a run would do: jobs per rule, what is up to date, what each model and judge has left to do and what that costs."""
    from bert_judge.cli.show_plan import show as print_it

    print_it(configfile or [], targets or [], data)


@app.command()
def doctor(
    profile: Annotated[Path, typer.Option(help="Folder of the profile whose partitions are looked for.")] = Path("profiles/slurm"),
) -> None:
    """Whether this machine has what a run needs: versions, GPUs, disk, hub, vLLM, SLURM and the profile's partitions."""
    from bert_judge.cli.check_machine import show as print_it

    if not print_it(profile):
        raise typer.Exit(1)


@app.command()
def config(
    part: Annotated[Part, typer.Argument(help="The commented config.yaml, the JSON schema, or the reference in docs/.")],
    write: Annotated[bool, typer.Option("--write", help="Write the file of this repository instead of printing it.")] = False,
) -> None:
    """Print or write what is generated from the configuration model."""
    from bert_judge.config import docs as config_docs

    if write:
        typer.echo(f"wrote {config_docs.write(part.value)}")
    else:
        typer.echo(config_docs.made(part.value), nl=False)


@app.command()
def requests(
    model: Annotated[str, typer.Argument(help="A model of a server.")],
    task: Annotated[str, typer.Argument(help="A task whose table is in results/tasks.")],
    configfile: Annotated[list[Path], typer.Option(help="The configuration.")] = [Path("config.yaml")],  # noqa: B006
) -> None:
    """Print the requests for answers that are missing, one per line, as batch interfaces take them."""
    from bert_judge.cli.batch_files import requests as lines

    for line in lines(configfile, model, task):
        typer.echo(line)


@app.command()
def responses(
    model: Annotated[str, typer.Argument(help="A model of a server.")],
    task: Annotated[str, typer.Argument(help="The task of the requests.")],
    file: Annotated[Path, typer.Argument(help="The responses, one per line.")],
    configfile: Annotated[list[Path], typer.Option(help="The configuration.")] = [Path("config.yaml")],  # noqa: B006
) -> None:
    """Take in the responses to requests; the next run finds them and asks only for what is missing."""
    from bert_judge.cli.batch_files import responses as take

    typer.echo(take(configfile, model, task, file))


@tasks_app.command("list")
def list_tasks() -> None:
    """All tasks that are known by name, with their family and where their questions come from."""
    from bert_judge.cli.tasks import listed

    for line in listed():
        typer.echo(line)


@tasks_app.command("check")
def check_tasks(
    names: Annotated[list[str] | None, typer.Argument(help="Names of tasks; all that have a data set when left out.")] = None,
    configfile: Annotated[list[Path] | None, typer.Option(help="A configuration whose own sources are checked too.")] = None,
    rows: Annotated[int, typer.Option(min=1, help="How many rows of each data set to map.")] = 100,
) -> None:
    """Fetch data sets of the hub, as `prepare` does, and see whether their first rows give questions. Needs a network or copies."""
    from bert_judge.cli.tasks import checked

    sound = True
    for good, line in checked(names or [], configfile or [], rows):
        sound = sound and good
        typer.echo(line, err=not good)
    if not sound:
        raise typer.Exit(1)
