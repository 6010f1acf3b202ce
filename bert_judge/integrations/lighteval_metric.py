"""A judge as a metric of lighteval: all answers of a task are judged together.

Needs lighteval, which pins another release of latex2sympy2_extended than Math-Verify: see docs/use_it_from.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from lighteval.metrics.metrics_sample import SampleLevelComputation
from lighteval.metrics.utils.metric_utils import SampleLevelMetric
from lighteval.models.model_output import ModelResponse
from lighteval.tasks.requests import Doc, SamplingMethod

from bert_judge import integrations


class _Verdicts(SampleLevelComputation):
    def __init__(self, judge: str | None) -> None:
        self.judge = judge

    def compute(self, docs: Sequence[Doc], responses: Sequence[ModelResponse], **_: object) -> list[float]:
        """Return per document 1 for correct, 0 for incorrect, NaN for invalid."""
        labels = integrations.label_texts(
            integrations.load_judge(self.judge),
            questions=[doc.query for doc in docs],
            references=[doc.get_golds() for doc in docs],
            candidates=[response.final_text[0] for response in responses],
        )
        return [integrations.to_number(label) for label in labels]


def bert_judge(judge: str | None = None) -> SampleLevelMetric:
    """Return the metric for `LightevalTaskConfig(metrics=[...])`. `judge`: name as for `bert-judge score --judge`."""
    return SampleLevelMetric(
        "bert_judge", True, SamplingMethod.GENERATIVE, _Verdicts(judge), integrations.accuracy, batched_compute=True
    )
