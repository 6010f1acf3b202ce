"""Selections: sets of answers that are not one model's answers to one task, but that judges label like any other table.

They are stored where answers are, under a name that no model can have:

* `results/candidates/{model}@{cascade}@{judge}/{task}.parquet`: the answers that a cascade escalates to one of its judges;
* `results/candidates/@{dataset}/validation.parquet`: the validation rows of a dataset, on which a cascade is fitted.
"""

from dataclasses import dataclass

# Takes the place of the task for the validation rows of a dataset.
VALIDATION = "validation"


@dataclass(frozen=True)
class Escalated:
    """The answers of a model that a cascade escalates to one of its judges."""

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


def parse(name: str) -> Escalated | HeldOut | None:
    """Parse the name of a selection; return None for the name of a model."""
    match name.split("@"):
        case ["", dataset]:
            return HeldOut(dataset)
        case [model, cascade, judge]:
            return Escalated(model, cascade, judge)
        case _:
            return None
