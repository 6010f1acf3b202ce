"""Where the commands print: the terminal at its width, a pipe or a log without colours and as wide as the content."""

from __future__ import annotations

from rich.console import Console

# Nothing wraps in a pipe: what reads it may be `less -S` or `grep`.
PIPE_WIDTH = 1000


def console() -> Console:
    """A console for stdout."""
    screen = Console(highlight=False, markup=False, emoji=False, soft_wrap=False)
    return screen if screen.is_terminal else Console(highlight=False, markup=False, emoji=False, width=PIPE_WIDTH)
