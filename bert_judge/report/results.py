"""Load accuracies of models on tasks, from the standings of a run or from a scored file, and export them.

The formats of other evaluation programs and of model hubs: a document summarises one model and leaves out tasks without a valid
verdict; lines are one answer each and leave out invalid verdicts, because these formats require a score.
"""

import json
import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from huggingface_hub import EvalResult, EvalResultEntry, eval_result_entries_to_yaml
from huggingface_hub.repocard_data import eval_results_to_model_index

from bert_judge import tables
from bert_judge.importers import column_names
from bert_judge.judges.protocol import NOT_ATTEMPTED
from bert_judge.labels.score_file import hash_text
from bert_judge.report.format import estimate_cell, format_table, pivot_models
from bert_judge.runtime.errors import InputError
from bert_judge.runtime.program import program
from bert_judge.statistics.intervals import proportion
from bert_judge.statistics.metrics import attempt_metrics
from bert_judge.tables.readers.rows import open_rows

DEFAULT_TASK = "answers"


@dataclass(frozen=True, kw_only=True)
class AccuracyResult:
    """The accuracy of a model on a task under a judge.

    Attributes:
        accuracy: share of answers judged correct; an invalid verdict counts as incorrect.
        low, high: its 95% interval, clustered by question.
        invalid: share of invalid verdicts.
        n, questions: number of answers, and of distinct questions.
        attempted, accuracy_attempted, f_score: see `statistics.metrics.AttemptMetrics`.
    """

    model: str
    task: str
    judge: str
    accuracy: float
    low: float
    high: float
    invalid: float
    n: int
    questions: int
    attempted: float
    accuracy_attempted: float
    f_score: float

    @property
    def has_verdict(self) -> bool:
        """A judge that decided no answer at all says nothing about the model."""
        return self.invalid < 1


def load_results(path: Path, judge: str | None = None) -> list[AccuracyResult]:
    """Return the accuracies under one judge, by model and task.

    Args:
        path: `standings.parquet` of a run, or a file that `bert-judge score` wrote.

    Raises:
        InputError: the file is neither of these, lacks the judge, or has several and none is named.
    """
    if path.suffix == ".parquet" and path.is_file() and tables.provenance(path).get("schema") == "standings":
        return _load_standings(path, judge)
    return _load_scored_file(path, judge)


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


def _load_standings(path: Path, judge: str | None) -> list[AccuracyResult]:
    standings = tables.read(path, tables.STANDINGS)
    gold = json.loads(tables.provenance(path)["spec"]).get("gold")
    judges = [str(name) for name in standings["judge"].unique()]
    selected = _select_judge(path, judge, judges, [name for name in judges if name != gold])
    rows = standings[(standings["level"] == "task") & (standings["judge"] == selected)].to_dict("records")
    return [AccuracyResult(**{name: row[name] for name in AccuracyResult.__dataclass_fields__}) for row in rows]


def _select_judge(path: Path, judge: str | None, judges: list[str], defaults: list[str]) -> str:
    if judge is not None:
        if judge not in judges:
            raise InputError(f"{path}: no judge {judge!r}; available: {', '.join(judges)}")
        return judge
    if len(defaults) == 1:
        return defaults[0]
    raise InputError(f"{path}: has verdicts of several judges ({', '.join(judges)}); choose one with --judge NAME")


def _load_scored_file(path: Path, judge: str | None) -> list[AccuracyResult]:
    # Ten bytes per row, so that files of any length fit in memory.
    correct: dict[tuple[str, str], bytearray] = defaultdict(bytearray)
    attempted: dict[tuple[str, str], bytearray] = defaultdict(bytearray)
    question_hashes: dict[tuple[str, str], array[int]] = defaultdict(lambda: array("Q"))
    num_invalid: dict[tuple[str, str], int] = defaultdict(int)
    for row in scored_rows(path, judge):
        key = (row["model"], row["task"])
        num_invalid[key] += row["verdict"] == "invalid"
        correct[key].append(row["verdict"] == "correct")
        attempted[key].append(row["outcome"] != NOT_ATTEMPTED)
        question_hashes[key].append(hash_text(row["question"]))
    results = []
    for key in sorted(correct):
        questions = np.frombuffer(question_hashes[key], np.uint64)
        hits = np.frombuffer(correct[key], bool)
        n, accuracy, attempts = len(questions), proportion(hits, questions), np.frombuffer(attempted[key], bool)
        result = AccuracyResult(
            model=key[0],
            task=key[1],
            judge=judge or "judge",
            accuracy=accuracy.value,
            low=accuracy.low,
            high=accuracy.high,
            invalid=num_invalid[key] / n,
            n=n,
            questions=len(np.unique(questions)),
            **attempt_metrics(hits, attempts)._asdict(),
        )
        results.append(result)
    if not results:
        raise InputError(f"{path}: no verdict in it; score a file with answers")
    return results


def scored_rows(path: Path, judge: str | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows of a scored file that have a verdict, one at a time.

    Each has `question`, `references`, `candidate`, `model`, `task`, `id`, `attempt`, `verdict`, `outcome`, `score` and `reason`,
    with defaults for missing columns.

    Raises:
        InputError: the file has no verdict column, or several and none is named, or an unknown verdict.
    """
    source = open_rows(path)
    verdict_columns = [column for column in source.columns if column == "verdict" or column.endswith("_verdict")]
    if not verdict_columns:
        raise InputError(f"{path}: no column 'verdict'; name a file that bert-judge score wrote, or the standings of a run")
    judges = {column.removesuffix("verdict").removesuffix("_"): column for column in verdict_columns}
    verdict_column = judges[_select_judge(path, judge if "" not in judges else "", list(judges), list(judges))]
    columns = _column_by_field(path, source.columns)
    for chunk in source.chunks(1024):
        for location, record in zip(chunk.locations, chunk.records, strict=True):
            verdict = record.get(verdict_column)
            if verdict is None:
                continue
            if verdict not in tables.VERDICTS:
                raise InputError(f"{path}: {location}: unknown verdict {verdict!r}; expected one of {', '.join(tables.VERDICTS)}")
            yield _to_row(record, columns, verdict_column)


def _column_by_field(path: Path, columns: list[str]) -> Mapping[str, str]:
    """Return field → column, for the fields that the file has."""
    ids = next((name for name in column_names.IDS if name in columns), None)
    exact = {"attempt": "attempt"} if "attempt" in columns else {}
    return {**exact, **({"id": ids} if ids else {}), **column_names.detect_columns(path, columns, {}, required=())}


def _to_row(record: Mapping[str, Any], columns: Mapping[str, str], verdict_column: str) -> dict[str, Any]:
    def value_of(field: str, default: Any) -> Any:
        value = record.get(columns[field]) if field in columns else None
        # `import` writes empty texts for what a file lacks.
        return default if value is None or (isinstance(value, str) and not value) else value

    prefix = verdict_column.removesuffix("verdict")
    score, references = record.get(f"{prefix}score"), value_of("references", [])
    if score == "" or (isinstance(score, float) and math.isnan(score)):
        score = None
    return {
        "question": str(value_of("question", "")),
        "references": list(references) if isinstance(references, list | tuple) else [str(references)],
        "candidate": str(value_of("candidate", "")),
        "model": str(value_of("model", "model")),
        "task": str(value_of("task", DEFAULT_TASK)),
        "id": str(value_of("id", "")),
        "attempt": int(value_of("attempt", 0)),
        "verdict": record[verdict_column],
        "outcome": record.get(f"{prefix}outcome") or record[verdict_column],
        "score": None if score is None else float(score),
        "reason": record.get(f"{prefix}reason"),
    }


# --- formats of other programs ---

# Half the width of a 95% interval, in standard errors.
Z_95 = 1.959963984540054


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
