"""Accuracies and verdicts as tables, and in the formats of other evaluation programs and of model hubs.

A document summarises one model and leaves out tasks without a valid verdict; lines are one answer each and leave out invalid
verdicts, because these formats require a score.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import pandas as pd
import yaml
from huggingface_hub import EvalResult, EvalResultEntry, eval_result_entries_to_yaml
from huggingface_hub.repocard_data import eval_results_to_model_index

from bert_judge.judges.protocol import NOT_ATTEMPTED
from bert_judge.report.format import estimate_cell, format_table, pivot_models
from bert_judge.report.results import AccuracyResult
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.program import program


def accuracy_table(results: Sequence[AccuracyResult], form: str) -> str:
    """Return results as a table in one of `format.TABLE_FORMATS`.

    CSV has plain numbers, one row per model and task. The other formats have one row per model, best mean accuracy first, and one
    column per task, in percent with the 95% interval.
    """
    rows = pd.DataFrame([asdict(result) for result in results])
    if form == "csv":
        return format_table(rows, form)
    models = rows.groupby("model")["accuracy"].mean().sort_values(ascending=False, kind="stable").index
    tasks = list(dict.fromkeys(rows["task"]))
    table = pivot_models(
        rows, models=list(models), column="task", names=tasks, cell=lambda row: estimate_cell(row.accuracy, row.low, row.high)
    )
    return format_table(table, form)


# --- lm-evaluation-harness ---

# Half the width of a 95% interval, in standard errors.
Z_95 = 1.959963984540054


def lm_eval_document(results: Sequence[AccuracyResult]) -> dict[str, Any]:
    """Return the document of one model.

    The metric is named `acc,{judge}`, with the judge in place of the harness's filter. Its standard error is derived from the
    interval, which respects clusters. A task without a valid verdict has no metric.
    """
    return {
        "results": {result.task: _lm_eval_scores(result) for result in results},
        "group_subtasks": {},
        "configs": {result.task: {"task": result.task, "metadata": {"judge": result.judge}} for result in results},
        "versions": {result.task: 0 for result in results},
        "n-shot": {result.task: 0 for result in results},
        "higher_is_better": {result.task: {"acc": True} for result in results},
        "n-samples": {result.task: {"original": result.n, "effective": result.n} for result in results},
        "config": {"model": results[0].model, "model_args": "", "program": program()},
        "date": datetime.now(UTC).timestamp(),
        "model_source": "bert-judge",
        "model_name": results[0].model,
        "model_name_sanitized": results[0].model.replace("/", "__"),
    }


def _lm_eval_scores(result: AccuracyResult) -> dict[str, Any]:
    scores: dict[str, Any] = {"name": result.task, "alias": result.task, "sample_len": result.n}
    if result.has_verdict:
        scores[f"acc,{result.judge}"] = result.accuracy
        scores[f"acc_stderr,{result.judge}"] = (result.high - result.low) / (2 * Z_95)
        scores[f"f_score,{result.judge}"] = result.f_score
        if result.attempted:
            scores[f"acc_attempted,{result.judge}"] = result.accuracy_attempted
    return scores | {f"attempted,{result.judge}": result.attempted, f"invalid,{result.judge}": result.invalid}


# --- model hubs ---


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
        results: results of one model.
        datasets: task → dataset on the hub; tasks without one are left out, because the format requires it.

    Raises:
        InputError: no task has one.
    """
    if not any(result.task in datasets for result in results):
        tasks = ", ".join(result.task for result in results)
        raise InputError(f"{results[0].model}: no hub dataset known for {tasks}; add --dataset TASK=OWNER/NAME")
    today = datetime.now(UTC).date().isoformat()
    entries = [
        EvalResultEntry(
            dataset_id=datasets[result.task],
            task_id=result.task,
            value=round(100 * result.accuracy, 2),
            date=today,
            notes=f"judged by {result.judge}; 95% interval {100 * result.low:.1f} to {100 * result.high:.1f}; "
            f"{100 * result.invalid:.1f}% of the verdicts invalid; {_attempts_text(result)}",
        )
        for result in results
        if result.task in datasets and result.has_verdict
    ]
    return yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True)


def _attempts_text(result: AccuracyResult) -> str:
    shares = (result.attempted, result.accuracy_attempted, result.f_score)
    attempted, accuracy, f_score = ("–" if math.isnan(share) else f"{100 * share:.1f}%" for share in shares)
    return f"{attempted} of the answers attempted, {accuracy} of these correct, F-score {f_score}"


# --- inspect_ai ---


def inspect_lines(rows: Iterable[Mapping[str, Any]], source: str) -> Iterator[str]:
    """Yield a line of JSON per sample and epoch with a valid verdict; the other samples stay unscored in inspect_ai.

    inspect score logs/x.eval --scorer inspect_ai/precomputed_scores -S scores=scores.jsonl

    Args:
        rows: from `results.scored_rows`.

    Raises:
        InputError: a row has no sample id.
    """
    for row in rows:
        if not row["id"]:
            raise InputError(f"{source}: no column 'id' with sample ids; score the log itself: bert-judge score LOG.eval")
        if row["verdict"] != "invalid":
            record = {
                "id": row["id"],
                "epoch": row["attempt"] + 1,
                # Its own letters; N (no answer) counts as incorrect in its accuracy.
                "value": {"correct": "C", NOT_ATTEMPTED: "N"}.get(row["outcome"], "I"),
                "explanation": row["reason"],
                "metadata": {"score": row["score"]},
            }
            yield json.dumps(record, ensure_ascii=False)
