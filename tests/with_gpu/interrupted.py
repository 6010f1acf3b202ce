"""A training that is killed in the middle of a step, as tests of going on need it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from transformers import Trainer


def before_step(number: int, end: Callable[[], None]) -> Callable[..., Any]:
    """`Trainer.training_step`, but for a call of `end` when the step of this number, from 1 on, begins."""
    step, begun = Trainer.training_step, 0

    def counted(self: Trainer, *arguments: Any, **options: Any) -> Any:
        nonlocal begun
        begun += 1
        if begun == number:
            end()
        return step(self, *arguments, **options)

    return counted
