"""Errors in the user's input, as opposed to bugs: programs print the message without a traceback."""

import difflib
import importlib.metadata
import shlex
from collections.abc import Iterable
from pathlib import Path


class InputError(Exception):
    """Invalid configuration, file, column, id or resource. The message names the place, the problem and the fix in one line."""


class ConfigError(InputError):
    """All errors of a configuration.

    Attributes:
        errors: one line each, in the order of the configuration.
    """

    def __init__(self, errors: list[str]) -> None:
        self.errors = errors
        super().__init__("\n".join(errors))


def suggest(name: str, known_names: Iterable[str]) -> str:
    """Return the remedy for an unknown name: the most similar known one, or all of them."""
    known_names = list(known_names)
    if close := difflib.get_close_matches(name, known_names, n=1):
        return f"did you mean {close[0]!r}?"
    return f"choose one of: {', '.join(known_names)}" if known_names else "there are none"


# Package that only some commands need → the extra that brings it.
EXTRA_OF = {
    **dict.fromkeys(("accelerate", "lightgbm", "peft", "sklearn", "skops", "torch", "transformers"), "train"),
    **dict.fromkeys(("matplotlib", "snakemake"), "workflow"),
    **{"datasets": "hub", "openai": "api", "rouge_score": "rouge", "snakemake_executor_plugin_slurm": "slurm"},
}


def describe_missing(module: str | None) -> str | None:
    """Return the line for a module that is not installed; None if no extra brings it."""
    package = (module or "").partition(".")[0]
    if (extra := EXTRA_OF.get(package)) is None:
        return None
    return f"this needs {package}, which the plain installation does not have; add the extra {extra}: {pip_install(extra)}"


def pip_install(extra: str) -> str:
    """Return the command that installs an extra, wherever bert-judge itself was installed from.

    pip 23.2 takes an installed bert-judge for the requirement, also one that is on no index, and adds the packages that it lacks.
    """
    try:
        importlib.metadata.version("bert-judge")
    except importlib.metadata.PackageNotFoundError:
        # A checkout on the path that was never installed.
        return shlex.join(["pip", "install", f"{Path(__file__).parents[2]}[{extra}]"])
    return shlex.join(["pip", "install", f"bert-judge[{extra}]"])
