"""The logits of several aspects side by side: what is learnt from them, and what they tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from sklearn.metrics import f1_score
from torch.nn.functional import cross_entropy

# The target of a row without a label of an aspect, in PyTorch's cross-entropy.
IGNORED = -100


@dataclass(frozen=True)
class AspectHeads:
    """A range of logits for each aspect.

    Attributes:
        classes: aspect → its classes in the training rows, rising; one logit each.
    """

    classes: Mapping[str, np.ndarray]

    @property
    def width(self) -> int:
        """Logits of a row."""
        return sum(map(len, self.classes.values()))

    @cached_property
    def ranges(self) -> dict[str, slice]:
        """Where an aspect's logits stand."""
        ends = np.cumsum([len(known) for known in self.classes.values()]).tolist()
        return {name: slice(end - len(self.classes[name]), end) for name, end in zip(self.classes, ends, strict=True)}

    def targets(self, labelled: Mapping[str, tuple[np.ndarray, np.ndarray]], rows: int) -> np.ndarray:
        """What is to be learnt.

        Args:
            labelled: aspect → numbers of the rows that may be learnt from, and the classes of all rows.
            rows: how many there are.

        Returns:
            Shape (rows, aspects): place of the class among the aspect's classes, or `IGNORED`.
        """
        found = np.full((rows, len(self.classes)), IGNORED)
        for column, (name, known) in enumerate(self.classes.items()):
            of, classes = labelled[name]
            found[of, column] = np.searchsorted(known, classes[of])
        return found

    def weights(self, targets: np.ndarray) -> list[torch.Tensor]:
        """Per aspect a weight for each class, so that all count alike, however rare; the mean over the rows is 1."""
        found = []
        for column, known in enumerate(self.classes.values()):
            counts = np.bincount(targets[targets[:, column] != IGNORED, column], minlength=len(known))
            shares = counts.sum() / (np.count_nonzero(counts) * np.maximum(counts, 1))
            found.append(torch.tensor(np.where(counts, shares, 0.0), dtype=torch.float32))
        return found

    def loss(self, logits: torch.Tensor, targets: torch.Tensor, weights: Sequence[torch.Tensor]) -> torch.Tensor:
        """Mean over the aspects of the mean weighted cross-entropy of their labelled rows."""
        losses = []
        for column, (where, weight) in enumerate(zip(self.ranges.values(), weights, strict=True)):
            wanted = targets[:, column]
            summed = cross_entropy(logits[:, where], wanted, weight.to(logits.device), ignore_index=IGNORED, reduction="sum")
            losses.append(summed / (wanted != IGNORED).sum().clamp(min=1))
        return torch.stack(losses).mean()

    def macro_f1(self, logits: np.ndarray, targets: np.ndarray) -> float:
        """Mean over the aspects of the macro-F1 of their labelled rows: a head that always tells one class scores low."""
        scores = []
        for column, where in enumerate(self.ranges.values()):
            known = targets[:, column] != IGNORED
            if known.any():
                told = logits[known, where].argmax(1)
                scores.append(f1_score(targets[known, column], told, average="macro", zero_division=0))
        return float(np.mean(scores))

    def told(self, logits: np.ndarray) -> dict[str, np.ndarray]:
        """Aspect → the likeliest class of each row."""
        return {name: self.classes[name][logits[:, where].argmax(1)] for name, where in self.ranges.items()}
