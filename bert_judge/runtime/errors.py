"""The one exception that stands for "your input, not our code": its text is one line that says what, where and what to do."""

from __future__ import annotations


class InputError(Exception):
    """Bad configuration, file, column, id or resource.

    The message names the file or the key, says what is wrong and how to mend it. Programs print it without a traceback.
    """


class ConfigError(InputError):
    """Everything that is wrong with a configuration, one line per fault.

    Attributes:
        faults: the lines, in the order of the configuration.
    """

    def __init__(self, faults: list[str]) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))
