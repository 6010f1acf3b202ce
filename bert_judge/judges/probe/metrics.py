"""How well classes are told: macro and weighted F1, with intervals over questions."""

from __future__ import annotations

from typing import Any

import numpy as np

RESAMPLES, CONFIDENCE = 1000, 0.95
FIGURES = ("accuracy", "macro_f1", "weighted_f1")


def measured(truth: np.ndarray, told: np.ndarray, groups: np.ndarray, seed: int = 0) -> dict[str, Any]:
    """Figures of predicted classes.

    Args:
        truth, told: classes, shape (n,).
        groups: the question of each row: answers to one question are drawn together.

    Returns:
        n, questions, accuracy, macro_f1 and weighted_f1 (over the classes that occur), each of the three as
        `[value, low, high]` with the ends of the 95% interval of a bootstrap over questions.
    """
    drawn = _drawn(truth, told, groups, seed)
    return {
        "n": len(truth),
        "questions": len(np.unique(groups)),
        **{name: _interval(values) for name, values in drawn.items()},
    }


def difference(truth: np.ndarray, told: np.ndarray, other: np.ndarray, groups: np.ndarray, seed: int = 0) -> dict[str, list[float]]:
    """By how much one way to tell the same rows is better than another: its figures minus the other's, as `measured`.

    Both ways are measured on the same draws of questions, so what is hard or easy for both does not widen the interval.
    """
    one, two = (_drawn(truth, said, groups, seed) for said in (told, other))
    return {name: _interval(one[name] - two[name]) for name in FIGURES}


def _drawn(truth: np.ndarray, told: np.ndarray, groups: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """Each figure of the rows as they are, and then of each draw of questions; shape (1 + RESAMPLES,)."""
    classes, encoded = np.unique(np.concatenate([truth, told]), return_inverse=True)
    questions, question = np.unique(groups, return_inverse=True)
    true, said = encoded[: len(truth)], encoded[len(truth) :]
    counts = np.zeros((len(questions), len(classes), len(classes)))
    np.add.at(counts, (question, true, said), 1)
    draws = np.random.default_rng(seed).multinomial(len(questions), np.full(len(questions), 1 / len(questions)), RESAMPLES)
    return _figures(np.tensordot(np.concatenate([np.ones((1, len(questions))), draws]), counts, axes=1))


def _interval(values: np.ndarray) -> list[float]:
    """The first value, and the ends of the interval that the others give."""
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(values[1:], [tail, 1 - tail])
    return [float(values[0]), float(min(low, values[0])), float(max(high, values[0]))]


def _figures(tables: np.ndarray) -> dict[str, np.ndarray]:
    """Of confusion tables, shape (tables, truth, told). A class that neither occurs nor is told in a table has no F1 there."""
    right = np.diagonal(tables, axis1=1, axis2=2)
    truth, told = tables.sum(axis=2), tables.sum(axis=1)
    f1 = np.divide(2 * right, truth + told, out=np.zeros_like(right), where=truth + told > 0)
    present = np.maximum((truth + told > 0).sum(axis=1), 1)
    total = truth.sum(axis=1)
    return {
        "accuracy": right.sum(axis=1) / total,
        "macro_f1": f1.sum(axis=1) / present,
        "weighted_f1": (f1 * truth).sum(axis=1) / total,
    }
