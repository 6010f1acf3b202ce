"""Selections: answers that are not one model's to one task, but that judges label like any other table.

They live where answers live, under a name that no model can have:

* `results/candidates/{model}@{cascade}@{judge}/{task}.parquet`: the answers of a model that a cascade leaves to one of its judges;
* `results/candidates/@{dataset}/validation.parquet`: the validation rows of a dataset, on which a cascade learns whom to trust.
"""

from __future__ import annotations

from dataclasses import dataclass

# What stands in the place of a task for the validation rows of a dataset.
VALIDATION = "validation"


@dataclass(frozen=True)
class Left:
    """The answers of a model that a cascade leaves to one of its judges."""

    model: str
    cascade: str
    judge: str

    @property
    def name(self) -> str:
        return f"{self.model}@{self.cascade}@{self.judge}"


@dataclass(frozen=True)
class HeldOut:
    """The validation rows of a dataset."""

    dataset: str

    @property
    def name(self) -> str:
        return f"@{self.dataset}"


def parse(name: str) -> Left | HeldOut | None:
    """What a name in a model's place stands for; None for a model."""
    match name.split("@"):
        case ["", dataset]:
            return HeldOut(dataset)
        case [model, cascade, judge]:
            return Left(model, cascade, judge)
        case _:
            return None
