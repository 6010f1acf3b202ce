"""Let DeepEval ask `bert-judge serve --judge general` instead of a vendor. DeepEval needs an environment of its own.

pip install deepeval typesafe-sdk
TYPESAFE_BASE_URL=http://127.0.0.1:8000 TYPESAFE_API_KEY=none python examples/deepeval_metric.py general
"""

from __future__ import annotations

import sys

from deepeval.metrics import JevEval
from deepeval.metrics.jev_eval import Choice
from deepeval.models import TypeSafeModel
from deepeval.test_case import LLMTestCase, SingleTurnParams


def main(judge: str) -> None:
    metric = JevEval(
        name="Correct",
        evaluation_params=[SingleTurnParams.INPUT, SingleTurnParams.ACTUAL_OUTPUT, SingleTurnParams.EXPECTED_OUTPUT],
        questions=[Choice(question="Does the answer agree with the expected one?", options={"correct": 1.0, "incorrect": 0.0})],
        system_one_model=TypeSafeModel(model=judge),
        async_mode=False,
    )
    for answer in ("Paris", "Lyon"):
        case = LLMTestCase(input="What is the capital of France?", actual_output=answer, expected_output="Paris")
        metric.measure(case, _show_indicator=False)
        print(answer, metric.score)


if __name__ == "__main__":
    main(sys.argv[1])
