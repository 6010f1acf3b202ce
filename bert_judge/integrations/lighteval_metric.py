"""A judge as a metric of lighteval: all answers of a task are judged together.

Needs lighteval, which pins another release of latex2sympy2_extended than Math-Verify: see docs/ecosystem.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from lighteval.metrics.metrics_sample import SampleLevelComputation
from lighteval.metrics.utils.metric_utils import SampleLevelMetric
from lighteval.models.model_output import ModelResponse
from lighteval.tasks.requests import Doc, SamplingMethod

from bert_judge.integrations import judging


class _Verdicts(SampleLevelComputation):
    def __init__(self, judge: str | None) -> None:
        self.judge = judge

    def compute(self, docs: Sequence[Doc], responses: Sequence[ModelResponse], **_: object) -> list[float]:
        """Per document 1 for correct, 0 for incorrect, not a number where the judge could not decide."""
        questions = [doc.query for doc in docs]
        said = [response.final_text[0] for response in responses]
        found = judging.labels(judging.named(self.judge), questions, [doc.get_golds() for doc in docs], said)
        return [math.nan if label.verdict == "invalid" else float(label.verdict == "correct") for label in found]


def bert_judge(judge: str | None = None) -> SampleLevelMetric:
    """The metric for `LightevalTaskConfig(metrics=[...])`.

    Args:
        judge: a name as `bert-judge score --judge` takes it.
    """
    return SampleLevelMetric(
        "bert_judge", True, SamplingMethod.GENERATIVE, _Verdicts(judge), share_of_correct, batched_compute=True
    )


def share_of_correct(verdicts: Sequence[float]) -> float:
    """Over the valid verdicts; not a number without any."""
    valid = [verdict for verdict in verdicts if not math.isnan(verdict)]
    return sum(valid) / len(valid) if valid else math.nan
