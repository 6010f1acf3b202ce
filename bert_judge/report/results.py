"""Load accuracies of models on tasks, from the standings of a run or from a scored file."""

import json
import math
from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bert_judge import tables
from bert_judge.importers import column_names
from bert_judge.judges.protocol import NOT_ATTEMPTED
from bert_judge.labels.score_file import hash_text
from bert_judge.runtime.errors import InputError
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
