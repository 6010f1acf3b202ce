"""Export records in the Every Eval Ever schema (version 0.2.2): an aggregate document per model, and a line per answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bert_judge import __version__
from bert_judge.report.exporters.results import AccuracyResult

VERSION = "0.2.2"


def evaluation_id(model: str, timestamp: str) -> str:
    """Return the key that joins a model's document and its lines."""
    return f"bert-judge/{model}/{timestamp}"


def file_timestamp(source: Path) -> str:
    """Return the source's modification time in seconds since 1970; both exports of one file must use the same."""
    return f"{source.stat().st_mtime:.0f}"


def document(results: Sequence[AccuracyResult], datasets: Mapping[str, str], timestamp: str) -> dict[str, Any]:
    """Return the aggregate document of one model; tasks without a valid verdict have no score and are left out.

    Args:
        datasets: task → dataset on the hub.
        timestamp: see `file_timestamp`.
    """
    model = results[0].model
    return {
        "schema_version": VERSION,
        "evaluation_id": evaluation_id(model, timestamp),
        "retrieved_timestamp": timestamp,
        "source_metadata": {
            "source_name": "bert-judge",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "bert-judge", "version": __version__},
        "model_info": {"name": model, "id": model},
        "evaluation_results": [_result(result, datasets) for result in results if result.has_verdict],
    }


def _result(result: AccuracyResult, datasets: Mapping[str, str]) -> dict[str, Any]:
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


def lines(rows: Iterable[Mapping[str, Any]], judge: str, timestamp: str) -> Iterator[str]:
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
            "schema_version": f"instance_level_eval_{VERSION}",
            "evaluation_id": evaluation_id(row["model"], timestamp),
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
