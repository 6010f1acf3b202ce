"""The program `bert-judge`.

A command's module is imported when the command runs, so `--help` and bad input respond at once.
"""

import signal
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from bert_judge import __version__
from bert_judge.runtime.errors import InputError, describe_missing
from bert_judge.runtime.logs import escape_controls, limit_garbage_collection

# Heading in `bert-judge --help` → command → its function, or its group of commands, in this folder, and its line there.
GROUPS = {
    "Judge": {
        "score": ("score:score", "Score a file of answers: append verdict, score and reason columns."),
        "compare": ("compare:compare", "Compare the answers to each question, and rank them."),
        "predict": ("predict:app", "Judge a single answer, or JSON lines from a pipe."),
        "serve": ("serve:serve", "Serve judges over HTTP and on a web page."),
    },
    "Your own judge": {
        "generate": ("generate:generate", "Generate a language model's answers to a file of questions."),
        "label": ("score:label", "Label a file of answers with a teacher."),
        "train": ("train:train", "Train a judge on a file of labelled answers."),
        "certify": ("measure:certify", "Test whether a judge is good enough, on a labelled sample that it never saw."),
        "attack": ("measure:attack", "Attack a judge with incorrect answers that claim to be correct."),
        "push": ("export_files:push", "Write a judge as a folder for the hub, and upload it."),
    },
    "Grid of models and tasks": {
        "check": ("workflow:check", "Validate a configuration."),
        "plan": ("workflow:plan", "Print what a run would do, and what it would cost."),
        "run": ("workflow:run", "Run a configuration: models, tasks, judges, report."),
        "audit": ("audit:audit", "Draw answers to label, read the labels, and say who is better and what to label next."),
        "standings": ("standings:standings", "Print the accuracy of every model under every judge."),
        "show": ("show:show", "Print what a file of a run contains and the settings that produced it."),
    },
    "Files": {
        "import": ("import_files:import_", "Convert the output of other frameworks to rows."),
        "export": ("export_files:export", "Export accuracies and verdicts in the formats of other programs."),
    },
}
COMMANDS = {name: (function, line, group) for group, names in GROUPS.items() for name, (function, line) in names.items()}

# Commands that keep finished work when they are interrupted.
RESUMED = ("score", "label", "train", "generate", "run", "audit")


class _LazyCommand(TyperCommand):
    """A name and a help line; replaced by the command of its module when it runs."""

    def load(self) -> Any:
        module, name = COMMANDS[str(self.name)][0].split(":")
        command = getattr(import_module(f"{__name__}.{module}"), name)
        if isinstance(command, typer.Typer):
            return typer.main.get_command(command)
        single = typer.Typer(add_completion=False)
        single.command(self.name)(command)
        return typer.main.get_command(single)

    def make_context(self, *args: Any, **kwargs: Any) -> Any:
        return self.load().make_context(*args, **kwargs)


class _Group(TyperGroup):
    """Print bad input as lines on stderr and exit with code 1, instead of a traceback; Ctrl-C with code 130."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> _LazyCommand | None:
        if cmd_name not in COMMANDS:
            return None
        _, line, group = COMMANDS[cmd_name]
        return _LazyCommand(cmd_name, help=line, rich_help_panel=group)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        # typer suggests the nearest of `commands` for a misspelled one.
        self.commands = {name: _LazyCommand(name) for name in COMMANDS}
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        code = 1
        try:
            return super().invoke(ctx)
        except InputError as error:
            lines: list[str] = str(error).splitlines()
            cause: BaseException = error
        except ModuleNotFoundError as error:
            if (line := describe_missing(error.name)) is None:
                raise
            lines, cause = [line], error
        except KeyboardInterrupt as error:
            remedy = "; repeat the command to continue" if ctx.invoked_subcommand in RESUMED else ""
            lines, cause, code = [f"interrupted{remedy}"], error, 128 + signal.SIGINT
        except OSError as error:
            # A full disk or a folder without permission is no bug; a broken pipe has no file name.
            if error.filename is None:
                raise
            lines, cause = [f"{error.filename}: {error.strerror}"], error
        for line in lines:
            typer.echo(f"error: {escape_controls(line)}", err=True)
        raise typer.Exit(code) from cause


app = typer.Typer(
    cls=_Group,
    help="Score the answers of language models with a small trained judge, or run a grid of models and tasks.",
    epilog="Start with: bert-judge score --example",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(show_version: bool) -> None:
    if show_version:
        typer.echo(f"bert-judge {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)] = False,
) -> None:
    limit_garbage_collection()
