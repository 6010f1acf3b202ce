"""Console of the commands: as wide as the terminal, or plain and wide in a pipe or log."""

from __future__ import annotations

from rich.console import Console

# Lines must not wrap in a pipe to `less -S` or `grep`.
PIPE_WIDTH = 1000


def console() -> Console:
    """Create a console for stdout."""
    stdout = Console(highlight=False, markup=False, emoji=False, soft_wrap=False)
    return stdout if stdout.is_terminal else Console(highlight=False, markup=False, emoji=False, width=PIPE_WIDTH)
