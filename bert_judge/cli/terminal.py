"""Output of the commands: tables as wide as the terminal, or plain and wide in a pipe or log, and progress bars."""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from bert_judge.runtime.logs import ProgressLogger, escape_controls

# Lines must not wrap in a pipe to `less -S` or `grep`.
PIPE_WIDTH = 1000


class _EscapingConsole(Console):
    """Prints texts, and the cells of tables, without the control characters in them."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(escape_controls(text), **options)


def console() -> Console:
    """Create a console for stdout."""
    stdout = _EscapingConsole(highlight=False, markup=False, emoji=False, soft_wrap=False)
    return stdout if stdout.is_terminal else _EscapingConsole(highlight=False, markup=False, emoji=False, width=PIPE_WIDTH)


def make_table(*texts: str, numbers: tuple[str, ...], title: str | None = None) -> Table:
    """Return a table without rows: columns of texts, then columns of numbers."""
    table = Table(*texts, title=title, title_justify="left")
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def format_number(value: float | None, digits: int = 0) -> str:
    """Return a number with thousands separators; a dash for None and NaN."""
    return "–" if value is None or math.isnan(value) else f"{value:,.{digits}f}"


def format_percent(value: float) -> str:
    """Return a share in percent, with one decimal; a dash for NaN."""
    return format_number(100 * value, 1)


def format_interval(low: float, high: float, form: str = ".1f") -> str:
    """Return the bounds of a share in percent; nothing for NaN."""
    return "" if math.isnan(low) or math.isnan(high) else f"[{100 * low:{form}}, {100 * high:{form}}]"


def shorten(text: str, length: int) -> str:
    """Return a text in one line of at most `length` characters, cut between words where there is one in its second half."""
    text = " ".join(text.split())
    if len(text) <= length:
        return text
    start = text[:length]
    end = start.rfind(" ")
    return f"{start[: end if end > length // 2 else length - 1]}…"


def echo(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text without the control characters in it."""
    typer.echo(escape_controls(str(text)), err=err, nl=nl)


def log(text: str) -> None:
    """Print a line on stderr."""
    echo(text, err=True)


@contextmanager
def progress(unit: str) -> Iterator[Callable[[float, int], None]]:
    """Yield a function that records progress: the finished fraction of the work, and a number of newly finished items.

    It moves a bar on a terminal, and prints a line every ten seconds elsewhere.
    """
    screen, logger, finished = Console(stderr=True), ProgressLogger(unit, emit=log), 0
    count = TextColumn("{task.fields[finished]:,} " + unit)
    columns = (BarColumn(), count, TimeRemainingColumn())
    with Progress(*columns, console=screen, transient=True, disable=not screen.is_terminal) as bar:
        task = bar.add_task("", total=1.0, finished=0)

        def advance(fraction: float, items: int) -> None:
            nonlocal finished
            finished += items
            bar.update(task, completed=fraction, finished=finished)
            if not screen.is_terminal:
                logger.update(finished, fraction)

        yield advance


def refuse_module(command: str) -> int:
    """Say which command replaces a module that was run as a program, as published; return the exit status."""
    log(f"error: this is no program of its own; use {command}")
    return 2
