"""Output of the commands: tables as wide as the terminal, or plain and wide in a pipe or log."""

from __future__ import annotations

import math
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bert_judge.runtime.errors import InputError

# Lines must not wrap in a pipe to `less -S` or `grep`.
PIPE_WIDTH = 1000


def console() -> Console:
    """Create a console for stdout."""
    stdout = Console(highlight=False, markup=False, emoji=False, soft_wrap=False)
    return stdout if stdout.is_terminal else Console(highlight=False, markup=False, emoji=False, width=PIPE_WIDTH)


def make_table(*texts: str, numbers: tuple[str, ...], title: str | None = None) -> Table:
    """Return a table without rows: columns of texts, then columns of numbers."""
    table = Table(*texts, title=title, title_justify="left")
    for name in numbers:
        table.add_column(name, justify="right")
    return table


def format_number(value: float | None, digits: int = 0) -> str:
    """Return a number with thousands separators; a dash for None and NaN."""
    return "–" if value is None or math.isnan(value) else f"{value:,.{digits}f}"


def check_output(output: Path, source: Path, force: bool) -> None:
    """Raise `InputError` if writing `output` would destroy the source or, unless forced, another file."""
    if output.resolve() == source.resolve():
        raise InputError(f"{output}: is the input file; choose another with -o")
    if output.exists() and not force:
        raise InputError(f"{output}: already exists; add --force to overwrite it, or choose another with -o")
