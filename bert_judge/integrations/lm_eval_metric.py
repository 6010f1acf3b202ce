"""A judge as a metric of lm-evaluation-harness: every document records its answer, and all are judged together at the end.

A task's file names two functions of a module in its folder (see `examples/lm_eval`):

    process_results: !function judge.process_results
    metric_list:
      - {metric: bert_judge, aggregation: !function judge.accuracy, higher_is_better: true}
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from bert_judge import integrations

METRIC = "bert_judge"


class JudgedDoc(NamedTuple):
    """The part of a document that the judge needs."""

    question: str
    references: list[str]
    candidate: str


def record_answer(question: str, references: str | Sequence[str], results: Sequence[Any]) -> dict[str, JudgedDoc]:
    """Return the value of `process_results`. `results`: as the harness passes them; of several generations the first is judged."""
    result = results[0]
    candidate = str(result[0] if isinstance(result, list | tuple) else result)
    return {METRIC: JudgedDoc(question, [references] if isinstance(references, str) else list(references), candidate)}


def accuracy(items: Sequence[JudgedDoc], judge: str | None = None) -> float:
    """Return the share of correct answers, with invalid verdicts counted as incorrect; NaN for no answers.

    Args:
        items: of all documents.
        judge: name as for `bert-judge score --judge`.
    """
    if not items:
        return math.nan
    questions, references, candidates = map(list, zip(*items, strict=True))
    labels = integrations.label_texts(
        integrations.load_judge(judge), questions=questions, references=references, candidates=candidates
    )
    return integrations.accuracy([integrations.to_number(label) for label in labels])
