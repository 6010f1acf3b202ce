"""What a rule module returns."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Decision:
    """A verdict of a rule module.

    Attributes:
        correct: whether the answer is right.
        module: the name of the module that decided.
        reason: one line for a person: "same number: 1,000 = 1000", "another unit: °F, °C".
    """

    correct: bool
    module: str
    reason: str
