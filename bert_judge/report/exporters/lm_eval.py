"""Export results in the format of lm-evaluation-harness: one JSON document per model, with metric and standard error per task."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from bert_judge import __version__
from bert_judge.report.exporters.results import AccuracyResult

# Half the width of a 95% interval, in standard errors.
Z_95 = 1.959963984540054


def document(results: Sequence[AccuracyResult]) -> dict[str, Any]:
    """Return the document of one model.

    The metric is named `acc,{judge}`, with the judge in place of the harness's filter. Its standard error is derived from the
    interval, which respects clusters. A task without a valid verdict has no metric.
    """
    return {
        "results": {result.task: _scores(result) for result in results},
        "group_subtasks": {},
        "configs": {result.task: {"task": result.task, "metadata": {"judge": result.judge}} for result in results},
        "versions": {result.task: 0 for result in results},
        "n-shot": {result.task: 0 for result in results},
        "higher_is_better": {result.task: {"acc": True} for result in results},
        "n-samples": {result.task: {"original": result.n, "effective": result.n} for result in results},
        "config": {"model": results[0].model, "model_args": "", "program": f"bert-judge {__version__}"},
        "date": datetime.now(UTC).timestamp(),
        "model_source": "bert-judge",
        "model_name": results[0].model,
        "model_name_sanitized": results[0].model.replace("/", "__"),
    }


def _scores(result: AccuracyResult) -> dict[str, Any]:
    scores: dict[str, Any] = {"name": result.task, "alias": result.task, "sample_len": result.n}
    if result.has_verdict:
        scores[f"acc,{result.judge}"] = result.accuracy
        scores[f"acc_stderr,{result.judge}"] = (result.high - result.low) / (2 * Z_95)
    return scores | {f"invalid,{result.judge}": result.invalid}
