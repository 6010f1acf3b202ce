"""Errors in the user's input, as opposed to bugs: programs print the message without a traceback."""

from __future__ import annotations


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
