"""Export results in the formats of other evaluation programs and of model hubs.

A document summarises one model and leaves out tasks without a valid verdict; lines are one answer each and leave out invalid
verdicts, because these formats require a score.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from huggingface_hub import EvalResult, EvalResultEntry, eval_result_entries_to_yaml
from huggingface_hub.repocard_data import eval_results_to_model_index

from bert_judge import __version__
from bert_judge.candidates.importers.answers import Answer
from bert_judge.judges.llm import prompting
from bert_judge.judges.protocol import Row
from bert_judge.report.exporters.results import AccuracyResult
from bert_judge.runtime.errors import InputError
from bert_judge.tables import sample_id

# Half the width of a 95% interval, in standard errors.
Z_95 = 1.959963984540054
EEE_VERSION = "0.2.2"
ENDPOINT = "/v1/chat/completions"
MAX_CANDIDATE_CHARACTERS = 20_000


# --- lm-evaluation-harness ---


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
        "config": {"model": results[0].model, "model_args": "", "program": f"bert-judge {__version__}"},
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
    return scores | {f"invalid,{result.judge}": result.invalid}


# --- Every Eval Ever ---


def _evaluation_id(model: str, timestamp: str) -> str:
    """Return the key that joins a model's document and its lines."""
    return f"bert-judge/{model}/{timestamp}"


def file_timestamp(source: Path) -> str:
    """Return the source's modification time in seconds since 1970; both exports of one file must use the same."""
    return f"{source.stat().st_mtime:.0f}"


def eee_document(results: Sequence[AccuracyResult], datasets: Mapping[str, str], timestamp: str) -> dict[str, Any]:
    """Return the aggregate document of one model; tasks without a valid verdict have no score and are left out.

    Args:
        datasets: task → dataset on the hub.
        timestamp: see `file_timestamp`.
    """
    model = results[0].model
    return {
        "schema_version": EEE_VERSION,
        "evaluation_id": _evaluation_id(model, timestamp),
        "retrieved_timestamp": timestamp,
        "source_metadata": {
            "source_name": "bert-judge",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "bert-judge", "version": __version__},
        "model_info": {"name": model, "id": model},
        "evaluation_results": [_eee_result(result, datasets) for result in results if result.has_verdict],
    }


def _eee_result(result: AccuracyResult, datasets: Mapping[str, str]) -> dict[str, Any]:
    hub_id = datasets.get(result.task)
    source = {"source_type": "hf_dataset", "hf_repo": hub_id} if hub_id else {"source_type": "other"}
    interval = {"lower": result.low, "upper": result.high, "confidence_level": 0.95, "method": "Wilson, clustered by question"}
    return {
        "evaluation_result_id": _result_id(result.task, result.judge),
        "evaluation_name": result.task,
        "source_data": {"dataset_name": result.task, **source},
        "metric_config": {
            "evaluation_description": f"share of answers judged correct by {result.judge}; an undecided answer counts as incorrect",
            "metric_id": "accuracy",
            "metric_name": "Accuracy",
            "metric_kind": "accuracy",
            "metric_unit": "proportion",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0,
            "additional_details": {"judge": result.judge},
        },
        "score_details": {
            "score": result.accuracy,
            "details": {"invalid": f"{result.invalid:.6f}", "questions": str(result.questions)},
            "uncertainty": {"confidence_interval": interval, "num_samples": result.n},
        },
    }


def eee_lines(rows: Iterable[Mapping[str, Any]], judge: str, timestamp: str) -> Iterator[str]:
    """Yield a line of JSON per answer with a valid verdict; the schema requires a score, which an invalid one lacks.

    Args:
        rows: from `results.scored_rows`.
        judge, timestamp: as in the documents.
    """
    for row in rows:
        if row["verdict"] == "invalid":
            continue
        sample_hash = hashlib.sha256(json.dumps([row["question"], row["references"]], ensure_ascii=False).encode()).hexdigest()
        is_correct = row["verdict"] == "correct"
        record = {
            "schema_version": f"instance_level_eval_{EEE_VERSION}",
            "evaluation_id": _evaluation_id(row["model"], timestamp),
            "model_id": row["model"],
            "evaluation_name": row["task"],
            "evaluation_result_id": _result_id(row["task"], judge),
            "sample_id": row["id"] or sample_hash[:16],
            "sample_hash": sample_hash,
            "interaction_type": "single_turn",
            "input": {"raw": row["question"], "reference": row["references"]},
            "output": {"raw": [row["candidate"]]},
            "messages": None,
            "answer_attribution": [
                {
                    "turn_idx": 0,
                    "source": "output.raw",
                    "extracted_value": row["candidate"],
                    "extraction_method": "custom",
                    "is_terminal": True,
                }
            ],
            "evaluation": {"score": float(is_correct) if row["score"] is None else row["score"], "is_correct": is_correct},
            "metadata": {"judge": judge, "attempt": str(row["attempt"])},
        }
        yield json.dumps(record, ensure_ascii=False)


def _result_id(task: str, judge: str) -> str:
    return f"{task}/accuracy/{judge}"


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


# --- inspect_ai ---


def inspect_lines(rows: Iterable[Mapping[str, Any]], source: str) -> Iterator[str]:
    """Yield a line of JSON per sample and epoch with a valid verdict; the other samples stay unscored in inspect_ai.

    inspect score logs/x.eval --scorer inspect_ai/precomputed_scores -S scores=scores.jsonl

    Args:
        rows: from `results.scored_rows`.
        source: the file, for messages.

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
                "value": "C" if row["verdict"] == "correct" else "I",
                "explanation": row["reason"],
                "metadata": {"score": row["score"]},
            }
            yield json.dumps(record, ensure_ascii=False)


# --- OpenAI batch API ---


def batch_request_lines(answers: Iterable[Answer], model: str, seed: int = 0) -> Iterator[str]:
    """Yield one request per answer for a one-word verdict; `custom_id` is `{sample_id}-{index of the answer}`.

    Args:
        model: name of the teacher on the server.
        seed: seed of the delimiters around the answers, see `judges.llm.prompting`.
    """
    for index, answer in enumerate(answers):
        identity = sample_id(answer.task, answer.question, answer.references)
        row = Row(identity, answer.attempt, answer.model, answer.question, answer.references, answer.candidate)
        candidate = prompting.render_candidate(row, seed, MAX_CANDIDATE_CHARACTERS)
        text = prompting.build_prompt(row, candidate, prompting.VERDICT_ONLY)
        body = {"model": model, "messages": [{"role": "user", "content": text}], "max_tokens": 16, "temperature": 0}
        request = {"custom_id": f"{identity}-{index}", "method": "POST", "url": ENDPOINT, "body": body}
        yield json.dumps(request, ensure_ascii=False)
