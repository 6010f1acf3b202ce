"""Export results for a model's page on the hub: the `model-index` of its card, or a file for its `.eval_results` folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import yaml
from huggingface_hub import EvalResult, EvalResultEntry, eval_result_entries_to_yaml
from huggingface_hub.repocard_data import eval_results_to_model_index

from bert_judge.report.exporters.results import AccuracyResult


def model_index(results: Sequence[AccuracyResult], datasets: Mapping[str, str]) -> str:
    """Return the front matter of a model card with accuracies in percent.

    Args:
        results: results of one model.
        datasets: task → dataset on the hub; a task without one is listed by its own name.
    """
    entries = [
        EvalResult(
            task_type="text-generation",
            dataset_type=datasets.get(result.task, result.task),
            dataset_name=result.task,
            metric_type="accuracy",
            metric_name=f"accuracy ({result.judge})",
            metric_value=round(100 * result.accuracy, 2),
        )
        for result in results
        if result.has_verdict
    ]
    index = eval_results_to_model_index(results[0].model, entries)
    return yaml.safe_dump({"model-index": index}, sort_keys=False, allow_unicode=True)


def eval_results(results: Sequence[AccuracyResult], datasets: Mapping[str, str]) -> str:
    """Return the content of an `.eval_results` file: accuracies in percent on tasks that are datasets on the hub.

    Args:
        datasets: task → dataset on the hub; tasks without one are left out, because the format requires it.
    """
    today = datetime.now(UTC).date().isoformat()
    entries = [
        EvalResultEntry(
            dataset_id=datasets[result.task],
            task_id=result.task,
            value=round(100 * result.accuracy, 2),
            date=today,
            notes=f"judged by {result.judge}; 95% interval {100 * result.low:.1f} to {100 * result.high:.1f}; "
            f"{100 * result.invalid:.1f}% of the verdicts invalid",
        )
        for result in results
        if result.task in datasets and result.has_verdict
    ]
    return yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True)
