"""A judge as a metric of lm-evaluation-harness: every document keeps its answer, and all are judged together at the end.

A task's file names two functions of a module beside it (see `examples/lm_eval`):

    process_results: !function judge.process_results
    metric_list:
      - {metric: bert_judge, aggregation: !function judge.accuracy, higher_is_better: true}
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from bert_judge.integrations import judging

METRIC = "bert_judge"


class Kept(NamedTuple):
    """What a document leaves for the judge."""

    question: str
    references: list[str]
    candidate: str


def kept(question: str, references: str | Sequence[str], results: Sequence[Any]) -> dict[str, Kept]:
    """What `process_results` returns.

    Args:
        results: as the harness passes them; of several generations the first counts.
    """
    said = results[0]
    right = [references] if isinstance(references, str) else list(references)
    return {METRIC: Kept(question, right, str(said[0] if isinstance(said, list | tuple) else said))}


def accuracy(items: Sequence[Kept], judge: str | None = None) -> float:
    """Share of correct among the judge's valid verdicts; not a number without any.

    Args:
        items: of all documents.
        judge: a name as `bert-judge score --judge` takes it.
    """
    found = judging.labels(judging.named(judge), *map(list, zip(*items, strict=True))) if items else []
    valid = [label.verdict == "correct" for label in found if label.verdict != "invalid"]
    return sum(valid) / len(valid) if valid else math.nan
