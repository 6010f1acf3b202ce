"""A judge as a metric of evaluate, which loads a file that has the name of its folder; needs `pip install evaluate`."""

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate

from bert_judge import integrations

TEXT = datasets.Value("string")


class JudgeMetric(evaluate.Metric):
    """Accuracy by a judge; the name of the configuration is that of the judge, as for `bert-judge score --judge`."""

    def _info(self) -> evaluate.MetricInfo:
        forms = [datasets.Sequence(TEXT), TEXT]
        features = [datasets.Features({"predictions": TEXT, "references": form}) for form in forms]
        return evaluate.MetricInfo(description=str(JudgeMetric.__doc__), citation="", features=features)

    def _compute(
        self, predictions: Sequence[str], references: Sequence[Any], questions: Sequence[str] | None = None
    ) -> dict[str, Any]:
        """Return `accuracy`, in which invalid verdicts count as incorrect, `invalid`, their share, and `verdicts`, one per answer.

        Args:
            references: per answer one, or a list any of which is correct.
            questions: one per answer; the judge is better with them.
        """
        labels = integrations.label_texts(
            integrations.load_judge(None if self.config_name == "default" else self.config_name),
            questions=questions or [""] * len(predictions),
            references=references,
            candidates=predictions,
        )
        verdicts = [label.verdict for label in labels]
        accuracy = integrations.accuracy([integrations.to_number(label) for label in labels])
        return {"accuracy": accuracy, "invalid": verdicts.count("invalid") / len(verdicts), "verdicts": verdicts}
