"""Records of the shared schema Every Eval Ever (version 0.2.2): an aggregate document per model, and a line per answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bert_judge import __version__
from bert_judge.report.exporters.results import Result

VERSION = "0.2.2"


def evaluation_id(model: str, moment: str) -> str:
    """The key that joins a model's document and its lines."""
    return f"bert-judge/{model}/{moment}"


def moment_of(source: Path) -> str:
    """When the source was written, in seconds since 1970, as the schema wants times. It is part of the key that joins a document
    and its lines, so both exports of one file must have the same."""
    return f"{source.stat().st_mtime:.0f}"


def document(results: Sequence[Result], datasets: Mapping[str, str], moment: str) -> dict[str, Any]:
    """The aggregate document of one model; tasks without a valid verdict have no score and are left out.

    Args:
        datasets: task → data set on the hub.
        moment: see `moment_of`.
    """
    model = results[0].model
    return {
        "schema_version": VERSION,
        "evaluation_id": evaluation_id(model, moment),
        "retrieved_timestamp": moment,
        "source_metadata": {
            "source_name": "bert-judge",
            "source_type": "evaluation_run",
            "source_organization_name": "unknown",
            "evaluator_relationship": "other",
        },
        "eval_library": {"name": "bert-judge", "version": __version__},
        "model_info": {"name": model, "id": model},
        "evaluation_results": [_result(result, datasets) for result in results if result.accuracy == result.accuracy],
    }


def _result(result: Result, datasets: Mapping[str, str]) -> dict[str, Any]:
    hub = datasets.get(result.task)
    data = {"source_type": "hf_dataset", "hf_repo": hub} if hub else {"source_type": "other"}
    interval = {"lower": result.low, "upper": result.high, "confidence_level": 0.95, "method": "Wilson, clustered by question"}
    return {
        "evaluation_result_id": _result_id(result.task, result.judge),
        "evaluation_name": result.task,
        "source_data": {"dataset_name": result.task, **data},
        "metric_config": {
            "evaluation_description": f"share of answers that the judge {result.judge} calls correct, among its valid verdicts",
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


def lines(rows: Iterable[Mapping[str, Any]], judge: str, moment: str) -> Iterator[str]:
    """A line of JSON per answer with a valid verdict; an invalid one has no score, which the schema asks for.

    Args:
        rows: as `results.scored_rows` gives them.
        judge: as in the documents.
        moment: as in the documents.
    """
    for row in rows:
        if row["verdict"] == "invalid":
            continue
        identity = hashlib.sha256(json.dumps([row["question"], row["references"]], ensure_ascii=False).encode()).hexdigest()
        right = row["verdict"] == "correct"
        record = {
            "schema_version": f"instance_level_eval_{VERSION}",
            "evaluation_id": evaluation_id(row["model"], moment),
            "model_id": row["model"],
            "evaluation_name": row["task"],
            "evaluation_result_id": _result_id(row["task"], judge),
            "sample_id": row["id"] or identity[:16],
            "sample_hash": identity,
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
            "evaluation": {"score": float(right) if row["score"] is None else row["score"], "is_correct": right},
            "metadata": {"judge": judge, "attempt": str(row["attempt"])},
        }
        yield json.dumps(record, ensure_ascii=False)


def _result_id(task: str, judge: str) -> str:
    return f"{task}/accuracy/{judge}"
