"""What a rule module returns."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Decision:
    """A verdict of a rule module.

    Attributes:
        correct: whether the answer is right; None if the comparison reached a limit, so that no judge may decide.
        module: the name of the module that decided.
        reason: one line for a person: "same number: 1,000 = 1000", "another unit: °F, °C".
    """

    correct: bool | None
    module: str
    reason: str

    @property
    def verdict(self) -> Literal["correct", "incorrect", "invalid"]:
        return "invalid" if self.correct is None else "correct" if self.correct else "incorrect"
