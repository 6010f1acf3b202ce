"""Errors in the user's input, as opposed to bugs: programs print the message without a traceback."""

import difflib
import importlib.metadata
import shlex
from collections.abc import Iterable
from pathlib import Path

from packaging.requirements import Requirement


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
    **{"datasets": "hub", "openai": "api", "snakemake_executor_plugin_slurm": "slurm"},
}


def describe_missing(module: str | None) -> str | None:
    """Return the line for a module that is not installed; None if no extra brings it."""
    package = (module or "").partition(".")[0]
    if (extra := EXTRA_OF.get(package)) is None:
        return None
    return f"this needs {package}, which the plain installation does not have; add the extra {extra}: {pip_install(extra)}"


def pip_install(extra: str) -> str:
    """Return the command that installs what is missing of an extra, wherever bert-judge itself was installed from."""
    try:
        lines = importlib.metadata.requires("bert-judge") or []
    except importlib.metadata.PackageNotFoundError:
        # A checkout on the path that was never installed.
        return shlex.join(["pip", "install", f"{Path(__file__).parents[2]}[{extra}]"])
    requirements = [Requirement(line) for line in lines if "extra ==" in line]
    needed = [requirement for requirement in requirements if requirement.marker and requirement.marker.evaluate({"extra": extra})]
    needed = [requirement for requirement in needed if not _is_installed(requirement)] or needed
    return shlex.join(["pip", "install", *(f"{requirement.name}{requirement.specifier}" for requirement in needed)])


def _is_installed(requirement: Requirement) -> bool:
    try:
        return requirement.specifier.contains(importlib.metadata.version(requirement.name), prereleases=True)
    except importlib.metadata.PackageNotFoundError:
        return False
